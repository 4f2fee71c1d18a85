/**
 * The client's module: times in the reader's zone, pages that renew themselves, and small comforts.
 * Without it every page works; it only stands still.
 *
 * @module
 */

import { CLIENT_FORMAT } from "./format.ts";

/** Puts new markup in the place of old markup and leaves alone whatever is the same. */
const MORPH = String.raw`
function keyOf(node) {
  return node.nodeType === 1 ? node.getAttribute("data-key") || node.id || null : null;
}

function isSame(one, other) {
  return one.nodeType === other.nodeType && one.nodeName === other.nodeName;
}

/** What somebody typed or opened stays, unless the server itself has changed its mind. */
function patchAttributes(from, to) {
  const isField = from.matches("input, textarea, select, option");
  for (const { name, value } of [...to.attributes]) {
    if (from.localName === "details" && name === "open") continue;
    if (from.getAttribute(name) === value) continue;
    from.setAttribute(name, value);
    if (isField && name === "value") from.value = value;
    if (isField && name === "checked") from.checked = true;
    if (isField && name === "selected") from.selected = true;
  }
  for (const { name } of [...from.attributes]) {
    if (to.hasAttribute(name) || (from.localName === "details" && name === "open")) continue;
    from.removeAttribute(name);
    if (isField && name === "value") from.value = "";
    if (isField && name === "checked") from.checked = false;
    if (isField && name === "selected") from.selected = false;
  }
}

function patch(from, to) {
  if (from.nodeType !== 1) {
    if (from.nodeValue !== to.nodeValue) from.nodeValue = to.nodeValue;
    return;
  }
  if (from.isEqualNode(to)) return;
  patchAttributes(from, to);
  patchChildren(from, to);
}

function patchChildren(from, to) {
  const keyed = new Map();
  for (const child of from.children) if (keyOf(child)) keyed.set(keyOf(child), child);
  let at = from.firstChild;
  for (const next of [...to.childNodes]) {
    const key = keyOf(next);
    let match = null;
    if (key !== null) {
      match = keyed.get(key) ?? null;
      keyed.delete(key);
    } else {
      let probe = at;
      while (probe !== null && keyOf(probe) !== null) probe = probe.nextSibling;
      if (probe !== null && isSame(probe, next)) match = probe;
    }
    if (match === null || !isSame(match, next)) {
      from.insertBefore(document.importNode(next, true), at);
      continue;
    }
    if (match === at) at = at.nextSibling;
    else from.insertBefore(match, at);
    patch(match, next);
  }
  while (at !== null) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}
`;

/** Times, tooltips and keys. */
const COMFORT = String.raw`
let aheadMs = Number(document.body.dataset.now) - Date.now();

function nowMs() {
  return Date.now() + aheadMs;
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function showTime(element) {
  const iso = element.getAttribute("datetime") || element.dataset.at;
  const form = FORMS[element.dataset.time];
  const date = new Date(iso);
  if (form === undefined || Number.isNaN(date.getTime())) return;
  setText(element, form(date, nowMs()));
  if (element.localName !== "time") return;
  const millis = "." + String(date.getMilliseconds()).padStart(3, "0");
  const title = FORMS.at(date) + millis + " (" + zone + ")\n" + iso;
  if (element.title !== title) element.title = title;
}

function showTimes(root) {
  for (const element of root.querySelectorAll("[data-time]")) showTime(element);
}

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "local time";
setText(document.getElementById("zone"), zone);
showTimes(document);
setInterval(() => {
  if (document.hidden) return;
  for (const element of document.querySelectorAll('[data-time="ago"], [data-time="for"]')) showTime(element);
}, 1000);

const tip = document.getElementById("tip");
function showTip(event) {
  const target = event.target instanceof Element ? event.target.closest("[data-tip]") : null;
  tip.hidden = target === null;
  if (target === null) return;
  setText(tip, tipText(target.getAttribute("data-tip"), nowMs()));
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.max(8, Math.min(event.clientX + 14, innerWidth - width - 8));
  const top = event.clientY + 18 + height > innerHeight ? event.clientY - height - 12 : event.clientY + 18;
  tip.style.left = left + "px";
  tip.style.top = top + "px";
}
document.addEventListener("pointermove", showTip);
document.addEventListener("pointerdown", showTip);
document.addEventListener("pointerleave", () => (tip.hidden = true));

document.addEventListener("keydown", (event) => {
  const typing = event.target.matches?.("input, textarea, select, [contenteditable]");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    document.getElementById("q")?.select();
  }
  if (event.key === "Escape") tip.hidden = true;
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  // Not at once: a button that is disabled now would not be sent.
  setTimeout(() => {
    for (const button of form.querySelectorAll("button")) button.disabled = true;
  });
});
addEventListener("pageshow", () => {
  for (const button of document.querySelectorAll("form button")) button.disabled = false;
});

const clean = new URL(location.href);
if (clean.searchParams.has("done")) {
  clean.searchParams.delete("done");
  history.replaceState(history.state, "", clean);
}
`;

/** The stream of the page, and filters that change the page in place. */
const LIVE = String.raw`
const button = document.getElementById("live");
const word = document.getElementById("live-word");
const trouble = document.getElementById("trouble");
let source = null;
let again = null;
let isWanted = sessionStorage.getItem("pawl-live") !== "off";

function showState(state, text) {
  if (button === null) return;
  button.dataset.state = state;
  button.setAttribute("aria-pressed", String(isWanted));
  setText(word, text);
}

function showTrouble(message) {
  trouble.hidden = message === null;
  if (message !== null) setText(trouble, message);
}

function takeRegions(event) {
  const { now, regions } = JSON.parse(event.data);
  aheadMs = now - Date.now();
  for (const [id, text] of Object.entries(regions)) {
    const element = document.getElementById(id);
    if (element === null) continue;
    const fresh = new DOMParser().parseFromString("<body>" + text, "text/html").body;
    showTimes(fresh);
    patchChildren(element, fresh);
  }
  showTrouble(null);
  button.dataset.renewed = now;
}

function closeStream() {
  clearTimeout(again);
  source?.close();
  source = null;
}

function openStream() {
  closeStream();
  const path = document.body.dataset.live;
  if (!isWanted) return showState("off", "Paused");
  if (path === undefined || document.hidden) return;
  showState("connecting", "Live");
  source = new EventSource(path);
  source.addEventListener("open", () => showState("live", "Live"));
  source.addEventListener("regions", takeRegions);
  source.addEventListener("trouble", (event) => showTrouble(JSON.parse(event.data).message));
  source.addEventListener("gone", () => {
    showTrouble("This workflow is not there any more: it was deleted when its retention was over.");
  });
  source.addEventListener("error", () => {
    showState("lost", "Reconnecting");
    // A browser gives up when the server answers something else, such as a login.
    if (source?.readyState === EventSource.CLOSED) again = setTimeout(openStream, 5000);
  });
}

button?.addEventListener("click", () => {
  isWanted = !isWanted;
  sessionStorage.setItem("pawl-live", isWanted ? "on" : "off");
  openStream();
});
// A page that nobody sees holds no connection: browsers have only six per site.
document.addEventListener("visibilitychange", () => document.hidden ? closeStream() : openStream());
addEventListener("pagehide", closeStream);
addEventListener("pageshow", (event) => event.persisted && openStream());
openStream();

let visit = 0;
async function goTo(url, isNew) {
  const mine = ++visit;
  let fresh;
  try {
    const response = await fetch(url, { headers: { accept: "text/html" } });
    if (mine !== visit) return;
    if (!response.ok || response.redirected) return location.assign(url);
    fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  } catch {
    return location.assign(url);
  }
  if (mine !== visit) return;
  const main = fresh.getElementById("main");
  const live = fresh.body.dataset.live;
  // Pages that are changed in place all have a stream; others are loaded.
  if (main === null || live === undefined) return location.assign(url);
  if (isNew) history.pushState({ pawl: true }, "", url);
  document.title = fresh.title;
  document.body.dataset.live = live;
  aheadMs = Number(fresh.body.dataset.now) - Date.now();
  showTimes(main);
  patchChildren(document.getElementById("main"), main);
  openStream();
}

function addressOf(form) {
  const url = new URL(form.action);
  const params = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value !== "") params.append(name, value);
  url.search = params.toString();
  return url;
}

document.addEventListener("change", (event) => {
  const form = event.target.form;
  if (form?.matches("[data-auto]")) goTo(addressOf(form), true);
});
document.addEventListener("submit", (event) => {
  if (!event.target.matches("[data-auto]")) return;
  event.preventDefault();
  goTo(addressOf(event.target), true);
});
document.addEventListener("click", (event) => {
  const link = event.target.closest?.(".in-place");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  goTo(new URL(link.href), true).then(() => scrollTo(0, 0));
});
addEventListener("popstate", () => goTo(new URL(location.href), false));
`;

/** The whole module. */
export const CLIENT_TEXT: string = [CLIENT_FORMAT, MORPH, COMFORT, LIVE].join("");
