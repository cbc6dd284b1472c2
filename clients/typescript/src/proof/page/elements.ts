// Elements of the page. What others wrote enters it as text alone, and no character of it hides or turns the direction.

const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\u{e0000}-\u{e007f}]/gu;
/** From the fifth combining mark in a row on, marks would cover the lines above and below. */
const TOWER = /(\p{M}{4})(\p{M}+)/gu;

/** A text in which everything can be seen; its line feeds and tabs stay where several lines are shown. */
export function visible(text: string, lines = false): string {
    const escaped = (found: string) => [...found].map((letter) => `\\u{${(letter.codePointAt(0) as number).toString(16)}}`).join("");
    const shown = text.replace(HIDDEN, (found) => (lines && (found === "\n" || found === "\t") ? found : escaped(found)));
    return shown.replace(TOWER, (_, kept: string, more: string) => kept + escaped(more));
}

type Content = Node | string | null;

/** An element with a class and what stands in it. */
export function element<K extends keyof HTMLElementTagNameMap>(name: K, kind: string, ...content: Content[]): HTMLElementTagNameMap[K] {
    const made = document.createElement(name);
    if (kind !== "") made.className = kind;
    for (const part of content) if (part !== null) made.append(part);
    return made;
}

/** What somebody else wrote. */
export function quoted(text: string, kind = "", lines = false): HTMLElement {
    const made = element("bdi", kind);
    made.textContent = visible(text, lines);
    return made;
}

/** A part that is filled when somebody opens it. */
export function folded(title: string, kind: string, fill: () => Content[]): HTMLDetailsElement {
    const made = element("details", kind, element("summary", "", title));
    const open = () => made.append(...fill().filter((part) => part !== null));
    made.addEventListener("toggle", open, { once: true });
    return made;
}

/** A list whose first members are shown, and more when somebody asks. */
export function growing<T>(all: readonly T[], step: number, show: (one: T) => Node, more: (count: number) => string): HTMLElement {
    const made = element("div", "list");
    let shown = 0;
    const button = element("button", "");
    button.type = "button";
    const grow = () => {
        button.remove();
        made.append(...all.slice(shown, shown + step).map(show));
        shown = Math.min(shown + step, all.length);
        if (shown === all.length) return;
        button.textContent = more(all.length - shown);
        made.append(button);
    };
    button.addEventListener("click", grow);
    grow();
    return made;
}
