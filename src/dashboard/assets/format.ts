/**
 * The part of the client's module that turns instants into text. It says the same as `words.ts` says
 * on the server, or else every page would change under the eyes of its reader when the client takes
 * over; a test compares the two.
 *
 * @module
 */

/** Pure functions, as JavaScript for the browser. */
export const CLIENT_FORMAT: string = String.raw`
const UNITS = [[86400000, "d"], [3600000, "h"], [60000, "min"], [1000, "s"]];

function coarse(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000)) * 1000;
  for (let at = 0; at < UNITS.length; at++) {
    const [unitMs, unit] = UNITS[at];
    if (seconds < unitMs) continue;
    const whole = Math.floor(seconds / unitMs);
    const next = UNITS[at + 1];
    const rest = next === undefined ? 0 : Math.floor((seconds - whole * unitMs) / next[0]);
    return rest === 0 ? whole + " " + unit : whole + " " + unit + " " + rest + " " + next[1];
  }
  return "0 s";
}

function relative(atMs, nowMs) {
  const ms = atMs - nowMs;
  if (Math.abs(ms) < 1000) return "now";
  return ms > 0 ? "in " + coarse(ms) : coarse(-ms) + " ago";
}

function two(value) {
  return String(value).padStart(2, "0");
}

function dayOf(date) {
  return date.getFullYear() + "-" + two(date.getMonth() + 1) + "-" + two(date.getDate());
}

function clockOf(date) {
  return two(date.getHours()) + ":" + two(date.getMinutes());
}

function secondsOf(date) {
  return clockOf(date) + ":" + two(date.getSeconds());
}

const FORMS = {
  at: (date) => dayOf(date) + " " + secondsOf(date),
  ago: (date, nowMs) => relative(date.getTime(), nowMs),
  for: (date, nowMs) => coarse(nowMs - date.getTime()),
  clock: clockOf,
  seconds: secondsOf,
  millis: (date) => two(date.getSeconds()) + "." + String(date.getMilliseconds()).padStart(3, "0"),
  day: (date) => dayOf(date).slice(5),
  daytime: (date) => dayOf(date).slice(5) + " " + clockOf(date),
};

function tipText(text, nowMs) {
  const today = dayOf(new Date(nowMs));
  return text.replace(/\{(\d{4}-\d\d-\d\dT[\d:.]+Z)\}/g, (_, iso) => {
    const date = new Date(iso);
    return dayOf(date) === today ? secondsOf(date) : dayOf(date) + " " + secondsOf(date);
  });
}
`;
