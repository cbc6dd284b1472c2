// What the pages can do beyond links and forms: times in the browser's zone, live updates, search while one types.
// Everything works without it. No text of a log becomes markup here: new pages come parsed from the server.
// @ts-check

// Of the page's language the browser's own kind: en-GB writes times otherwise than en-US.
const page_lang = document.documentElement.lang || "en";
const lang = navigator.languages.find((one) => one.split("-")[0] === page_lang) ?? page_lang;
const near = new Intl.DateTimeFormat(lang, { hour: "2-digit", minute: "2-digit" });
const far = new Intl.DateTimeFormat(lang, { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });

/**
 * Shows every time in the browser's zone; the exact instant stays in its title.
 * @param {ParentNode} where
 */
function localTimes(where) {
  const today = new Date().toDateString();
  for (const time of where.querySelectorAll("time")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    time.textContent = (at.toDateString() === today ? near : far).format(at);
  }
}

/** Tells the room where the person's days begin: the offset from UTC in minutes, and each change of it with the offset before. */
function tellDays() {
  const offset = (/** @type {number} */ at) => -new Date(at).getTimezoneOffset();
  let at = Date.now();
  const told = [offset(at)];
  const [step, last] = [5 * 86_400_000, at - 10 * 366 * 86_400_000];
  for (; at > last; at -= step) {
    if (offset(at - step) === offset(at)) continue;
    let [before, behind] = [at - step, at];
    while (behind - before > 1) {
      const between = Math.floor((before + behind) / 2);
      if (offset(between) === offset(at)) behind = between;
      else before = between;
    }
    told.push(Math.floor(behind / 1_000), offset(before));
  }
  const days = `days=${told.join("_")}`;
  if (document.cookie.split("; ").includes(days)) return;
  document.cookie = `${days}; SameSite=Strict; Path=${location.pathname.replace(/[^/]*$/, "")}`;
  // This page has days of another zone, or of the year before.
  void refresh();
}

/**
 * Asks for a page of this room.
 * @param {string} address
 * @returns {Promise<Document | null>}
 */
function page(address) {
  return new Promise((done) => {
    const request = new XMLHttpRequest();
    request.open("GET", address);
    request.responseType = "document";
    request.timeout = 10_000;
    request.onload = () => done(request.status === 200 ? request.responseXML : null);
    request.onerror = request.ontimeout = () => done(null);
    request.send();
  });
}

/**
 * Puts what a fresh page has in the place of what stands here.
 * @param {Document | null} fresh
 * @param {string} selector
 */
function replace(fresh, selector) {
  const there = fresh?.querySelector(selector);
  const here = document.querySelector(selector);
  if (!there || !here) return;
  const next = document.adoptNode(there);
  localTimes(next);
  here.replaceWith(next);
}

/** Whether a person is in the middle of something that a fresh page would take away. */
function isBusy() {
  const active = document.activeElement;
  const typed = active instanceof HTMLInputElement || active instanceof HTMLSelectElement;
  const chosen = getSelection();
  return (typed && active.closest("main") !== null) || (chosen !== null && !chosen.isCollapsed);
}

let stale = false;

/** Fetches this page again, unless somebody is busy with it. */
async function refresh() {
  if (isBusy() || document.hidden) {
    stale = true;
    return;
  }
  stale = false;
  const scroll = scrollY;
  const focused = document.activeElement?.closest("a[href]")?.getAttribute("href");
  const fresh = await page(location.href);
  if (!fresh || isBusy()) return;
  replace(fresh, "nav");
  replace(fresh, "main");
  scrollTo(0, scroll);
  // Whoever goes through the page by the keyboard stays where they were.
  if (focused) {
    for (const link of document.querySelectorAll("main a[href], nav a[href]")) {
      if (link instanceof HTMLElement && link.getAttribute("href") === focused) {
        link.focus({ preventScroll: true });
        break;
      }
    }
  }
}

/** @type {number | undefined} */
let soon;

function listen() {
  const sign = document.querySelector("#live");
  const events = new EventSource("live");
  events.onopen = () => sign?.setAttribute("data-state", "on");
  events.onerror = () => sign?.setAttribute("data-state", "off");
  events.addEventListener("change", () => {
    clearTimeout(soon);
    soon = setTimeout(refresh, 300);
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && stale) void refresh();
  });
  addEventListener("pagehide", () => events.close());
}

/** Answers while one types. */
function searchAsTyped() {
  /** @type {number | undefined} */
  let waiting;
  let asked = 0;
  document.addEventListener("input", (event) => {
    const field = event.target;
    if (!(field instanceof HTMLInputElement || field instanceof HTMLSelectElement)) return;
    const form = field.form;
    if (!form || form.getAttribute("action") !== "search") return;
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      const members = new URLSearchParams();
      for (const [name, value] of new FormData(form)) {
        if (typeof value === "string" && value !== "") members.set(name, value);
      }
      const turn = ++asked;
      const address = `search?${members}`;
      const fresh = await page(address);
      // An answer that comes later than that to what was typed since is none any more.
      if (turn !== asked || !fresh) return;
      const results = document.querySelector("#results") ? "#results" : "main";
      replace(fresh, results);
      history.replaceState(null, "", address);
    }, 150);
  });
}

localTimes(document);
tellDays();
listen();
searchAsTyped();
