// The page: the sentence and the verdict, the thread, and behind each message what was checked in it.

import type { Entry, Proof } from "../bundle.js";
import { hex } from "../bytes.js";
import { canonical, isObject, type Json } from "../json.js";
import type { Story, Told } from "../story.js";
import { element, folded, growing, quoted, visible } from "./elements.js";
import type { Texts } from "./texts.js";

/** What is shown. */
export interface Shown {
    readonly proofs: readonly Proof[];
    readonly story: Story;
    /** What whoever made the page opened of what is sealed, by the hash of its message. */
    readonly opened: ReadonlyMap<string, Json>;
    readonly engine: "webcrypto" | "noble";
    /** SHA-256 of the script, hex. */
    readonly script: string;
    readonly now: Date;
}

const LONGEST = 4_000;
const DEEPEST = 5;
const AT_ONCE = 100;

export class View {
    private readonly times: Intl.DateTimeFormat;

    constructor(private readonly texts: Texts) {
        this.times = new Intl.DateTimeFormat(texts.lang, { dateStyle: "medium", timeStyle: "medium" });
    }

    /** The whole page. */
    page(shown: Shown): HTMLElement {
        const { texts } = this;
        const { story, proofs } = shown;
        const parts = [element("h1", "", texts.title), this.verdict(shown)];
        const faults = proofs.flatMap((proof) => proof.faults.map((fault) => ({ ...fault, agent: proof.agent })));
        if (faults.length > 0) {
            const item = ({ agent, line, fault }: (typeof faults)[number]) => element("p", "fault", `${agent}, ${texts.line(line)}: ${visible(fault)}`);
            parts.push(element("section", "", element("h2", "", texts.findings), growing(faults, AT_ONCE, item, texts.more)));
        }
        const said = story.told.filter(({ application }) => application);
        const rest = story.told.filter(({ application }) => !application);
        const list = growing(said, AT_ONCE, (told) => this.message(told, shown), texts.more);
        parts.push(element("section", "", element("h2", "", texts.thread), list));
        if (rest.length > 0) {
            const lines = () => [growing(rest, AT_ONCE, (told) => this.message(told, shown), texts.more)];
            parts.push(folded(texts.protocol(rest.length), "protocol", lines));
        }
        parts.push(this.foot(shown));
        return element("div", "", ...parts);
    }

    private when(time: string | Date): string {
        return this.times.format(typeof time === "string" ? new Date(time) : time);
    }

    private instant(time: string): HTMLElement {
        const made = element("time", "", this.when(time));
        made.dateTime = time;
        made.title = time;
        return made;
    }

    private verdict(shown: Shown): HTMLElement {
        const { texts } = this;
        const { holds } = shown.story;
        const banner = element("p", "verdict", element("strong", "", holds ? texts.holds : texts.fails));
        banner.setAttribute("role", "status");
        const made = element("section", holds ? "holds" : "fails", banner, element("p", "sentence", this.sentence(shown)));
        if (!holds) return made;
        made.append(element("p", "limits", texts.limits), element("p", "", texts.compare));
        const words = element("dl", "words");
        for (const [agent, root] of new Map(shown.proofs.flatMap(({ roots }) => [...roots]))) {
            words.append(element("dt", "", texts.rootOf(agent)), element("dd", "", root));
        }
        made.append(words);
        return made;
    }

    /** Who said what to whom when, who approved it, whose logs witness it, and whether it holds. */
    private sentence({ story, proofs, now }: Shown): string {
        const { texts } = this;
        if (!story.holds) return texts.failsNow(this.when(now));
        const said = story.told.filter(({ application }) => application);
        const all = said.length > 0 ? said : story.told;
        const [first, last] = [all[0], all.at(-1)];
        if (first === undefined || last === undefined) return texts.broken;
        const parts = [this.begin(all, first, last)];
        const approved = new Map<string, number>();
        for (const { entry } of all) {
            if (entry.approval !== null) approved.set(entry.approval.person, (approved.get(entry.approval.person) ?? 0) + 1);
        }
        for (const [person, count] of approved) parts.push(texts.approved(person, count, all.length));
        parts.push(texts.logs([...new Set(proofs.map(({ agent }) => agent))]));
        for (const agent of new Set(all.map(({ to }) => to))) {
            const sent = all.filter(({ to }) => to === agent);
            const received = sent.filter((told) => told.received !== null).length;
            if (received > 0) parts.push(texts.received(agent, received, sent.length));
        }
        parts.push(texts.justNow(this.when(now)));
        return parts.join(" ");
    }

    private begin(all: readonly Told[], first: Told, last: Told): string {
        if (all.length > 1) {
            const { from: one, to: other } = first;
            return this.texts.many({ one, other, count: all.length, from: this.when(first.at), to: this.when(last.at) });
        }
        const { from, person, to, sealed } = first;
        const summary = first.summary === undefined ? null : visible(first.summary);
        return this.texts.one({ from, person, to, when: this.when(first.at), summary, sealed });
    }

    private message(told: Told, shown: Shown): HTMLElement {
        const { texts } = this;
        const { value } = told.entry.line;
        const head = element("header", "", element("span", "from", `${told.from} (${told.person}) → ${told.to}`), this.instant(told.at));
        const made = element("article", told.holds ? "message" : "message bad", head);
        if (told.refusal !== null) made.append(element("p", "refusal", texts.refused(told.refusal.reason), " ", quoted(told.refusal.words)));
        if (told.summary !== undefined) made.append(element("p", "said", quoted(told.summary)));
        if (told.sealed) made.append(...this.opened(told, shown));
        else if (told.body !== undefined && told.body !== null) made.append(this.body(told.body, told));
        else if (told.summary === undefined && told.refusal === null) made.append(element("p", "sealed", texts.none));
        const marks = [texts.tier(told.tier), texts.kept(value["verdict"] as string, value["reason"] as string | null)];
        if (told.entry.approval !== null) marks.push(texts.byPerson(told.entry.approval.person, this.when(told.entry.approval.at)));
        if (told.received !== null) marks.push(texts.hasIt(told.to, this.when(told.received)));
        made.append(element("p", "marks", marks.join(" · ")));
        made.append(folded(`${told.holds ? "✓" : "✗"} ${texts.summary}`, "checks", () => [this.checks(told.entry), this.whole(told)]));
        return made;
    }

    private opened(told: Told, { opened }: Shown): Node[] {
        const found = opened.get(hex(told.message.hash));
        if (!isObject(found)) return [element("p", "sealed", this.texts.sealed)];
        const parts: Node[] = [element("p", "sealed", this.texts.opened)];
        if (typeof found["summary"] === "string") parts.push(element("p", "said", quoted(found["summary"])));
        if (found["body"] !== undefined) parts.push(this.body(found["body"], told));
        return parts;
    }

    /** A body: an object as a table, a text as text, anything else as JSON. */
    private body(body: Json, told: Told, depth = 0): HTMLElement {
        if (isObject(body) && depth < DEEPEST && Object.keys(body).length <= 50) {
            const table = element("table", "body");
            for (const [name, value] of Object.entries(body)) {
                const head = element("th", "", quoted(name));
                head.scope = "row";
                table.append(element("tr", "", head, element("td", "", this.body(value, told, depth + 1))));
            }
            return table;
        }
        const text = typeof body === "string" ? body : canonical(body);
        const cut = text.length > LONGEST ? this.texts.cut(text.length - LONGEST, hex(told.message.hash)) : null;
        return element("div", "text", quoted(text.slice(0, LONGEST), "", true), cut === null ? null : element("p", "cut", cut));
    }

    private checks(entry: Entry): HTMLElement {
        const { texts } = this;
        const place = { what: texts.what.place, fault: entry.place };
        const rest = entry.checks.map(({ what, fault }) => ({ what: texts.what[what], fault }));
        const list = element("ul", "");
        list.setAttribute("aria-label", texts.checks);
        if (entry.under === null) list.append(element("li", "bad", `– ${texts.unproven}`));
        for (const { what, fault } of entry.under === null ? rest : [place, ...rest]) {
            list.append(element("li", fault === null ? "good" : "bad", fault === null ? `✓ ${what}` : `✗ ${what}: ${visible(fault)}`));
        }
        return list;
    }

    private whole(told: Told): HTMLElement {
        return folded(this.texts.whole, "whole", () => {
            const { text } = told.message;
            const cut = text.length > 10 * LONGEST ? this.texts.cut(text.length - 10 * LONGEST, hex(told.message.hash)) : null;
            return [element("pre", "", quoted(text.slice(0, 10 * LONGEST))), cut];
        });
    }

    private foot({ engine, script }: Shown): HTMLElement {
        const { texts } = this;
        const hash = element("p", "", `${texts.script} `, element("code", "hash", script));
        return element("footer", "", element("p", "", texts.engine[engine]), hash, element("p", "", texts.believe));
    }
}
