import assert from "node:assert/strict";
import fc from "fast-check";
import { CLIENT_FORMAT } from "../../src/dashboard/assets/format.ts";
import { coarse, count, counted, cut, duration, relative } from "../../src/dashboard/words.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

Deno.test("lengths of time are written in at most two units", () => {
  const cases: [number, string][] = [
    [-5, "0 ms"],
    [340, "340 ms"],
    [2_540, "2.5 s"],
    [9_999, "9.9 s"],
    [12_900, "12 s"],
    [MINUTE, "1 min"],
    [3 * MINUTE + 20 * SECOND, "3 min 20 s"],
    [2 * HOUR + 59 * SECOND, "2 h"],
    [2 * DAY + 4 * HOUR + 59 * MINUTE, "2 d 4 h"],
    [400 * DAY, "400 d"],
  ];
  for (const [ms, text] of cases) assert.equal(duration(ms), text);
  assert.equal(coarse(999), "0 s");
  assert.equal(coarse(2_540), "2 s");
});

Deno.test("an instant is written by its distance from now", () => {
  assert.equal(relative(0, 500), "now");
  assert.equal(relative(0, 90 * SECOND), "1 min 30 s ago");
  assert.equal(relative(2 * DAY, 0), "in 2 d");
});

Deno.test("numbers and texts are written for people", () => {
  assert.equal(count(1_234_567), "1,234,567");
  assert.equal(counted(1, "workflow"), "1 workflow");
  assert.equal(counted(1_000, "workflow"), "1,000 workflows");
  assert.equal(cut("abcdef", 4), "abc…");
  assert.equal(cut("abcd", 4), "abcd");
});

/** The functions that the browser uses, loaded as the browser loads them. */
interface Client {
  coarse(ms: number): string;
  relative(atMs: number, nowMs: number): string;
  FORMS: Record<string, (date: Date, nowMs: number) => string>;
  tipText(text: string, nowMs: number): string;
}

async function loadClient(): Promise<Client> {
  const source = `${CLIENT_FORMAT}\nexport { coarse, FORMS, relative, tipText };`;
  return await import(`data:text/javascript,${encodeURIComponent(source)}`);
}

Deno.test("the client says of every instant what the server says", async () => {
  const client = await loadClient();
  fc.assert(fc.property(fc.integer({ min: -1e12, max: 1e12 }), (ms) => {
    assert.equal(client.coarse(ms), coarse(ms));
    assert.equal(client.relative(ms, 0), relative(ms, 0));
    assert.equal(client.FORMS.ago?.(new Date(ms), 5_000), relative(ms, 5_000));
    assert.equal(client.FORMS.for?.(new Date(ms), 5_000), coarse(5_000 - ms));
  }));
});

Deno.test("the client writes instants in the reader's zone, as wide as the server's in UTC", async () => {
  const client = await loadClient();
  const date = new Date(2026, 0, 2, 3, 4, 5, 67);
  assert.equal(client.FORMS.at?.(date, 0), "2026-01-02 03:04:05");
  assert.equal(client.FORMS.clock?.(date, 0), "03:04");
  assert.equal(client.FORMS.seconds?.(date, 0), "03:04:05");
  assert.equal(client.FORMS.millis?.(date, 0), "05.067");
  assert.equal(client.FORMS.day?.(date, 0), "01-02");
  assert.equal(client.FORMS.daytime?.(date, 0), "01-02 03:04");
});

Deno.test("the client puts times into tooltips, and nothing else", async () => {
  const client = await loadClient();
  const date = new Date(2026, 0, 2, 3, 4, 5);
  const text = `{${date.toISOString()}}: {not a time} {}`;
  assert.equal(client.tipText(text, date.getTime()), "03:04:05: {not a time} {}");
  const later = new Date(2026, 0, 3).getTime();
  assert.equal(client.tipText(text, later), "2026-01-02 03:04:05: {not a time} {}");
});
