/**
 * A day of the shop: some thousand stories, most of them good.
 */

import type { StoredError } from "../../mod.ts";
import { CATALOGUE_ROWS } from "./shop.ts";
import type { Attempt, StepStory, Story } from "./writer.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Random numbers that are the same in every run, so that a picture of the demo can be made again. */
export type Dice = () => number;

/** Makes dice from a seed. */
export function diceFrom(seed: number): Dice {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The stories of the last 24 hours, in the order of their beginnings. */
export function storiesOfADay(count: number, nowMs: number, dice: Dice): Story[] {
  const stories = Array.from({ length: count }, (_, at) => {
    const startMs = nowMs - DAY + arrival(dice) * DAY;
    const kind = dice();
    if (kind < 0.62) return order(String(70_000 + at), startMs, dice);
    if (kind < 0.88) return welcome(String(12_000 + at), startMs, dice);
    if (kind < 0.97) return refund(String(30_000 + at), startMs, dice);
    return erasure(String(9_000 + at), startMs, dice);
  });
  const outage = Array.from({ length: Math.ceil(count / 90) }, (_, at) =>
    // For half an hour, some hours ago, the carrier's new address check was down.
    brokenParcel(String(110_000 + at), nowMs - 3.2 * HOUR + dice() * 30 * MINUTE, dice));
  return [...stories, ...outage, catalogueImport(nowMs), lastImport(nowMs)]
    .sort((a, b) => a.startMs - b.startMs);
}

/** Few people buy at night: two waves over the day. */
function arrival(dice: Dice): number {
  while (true) {
    const at = dice();
    const wave = 0.35 + 0.65 * (0.5 - 0.5 * Math.cos(at * Math.PI * 4 + 0.6));
    if (dice() < wave) return at;
  }
}

function worker(dice: Dice): string {
  return `shop-worker-${1 + Math.floor(dice() * 3)}`;
}

function good(runMs: number, dice: Dice): Attempt {
  return { runMs: runMs * (0.4 + dice() * 1.4), end: "success" };
}

function error(errorClass: string, message: string, frames: string, cause = ""): StoredError {
  const stack = `${errorClass}: ${message}\n${frames}${
    cause === "" ? "" : `\nCaused by: ${cause}`
  }`;
  return { errorClass, message, stack };
}

function timeout(id: string): StoredError {
  return error(
    "GatewayTimeout",
    `No answer within 2000 ms for order ${id}`,
    "    at chargeCard (file:///srv/shop/src/payment/gateway.ts:48:13)\n" +
      "    at Object.run (file:///srv/shop/src/workflows/order_fulfilment.ts:31:15)",
    "TypeError: error sending request for url (https://pay.example.com/v1/charges): connection " +
      "timed out\n    at async mainFetch (ext:deno_fetch/26_fetch.js:182:12)\n" +
      "    at async post (file:///srv/shop/src/payment/client.ts:22:20)",
  );
}

function noAddress(id: string): StoredError {
  return error(
    "AddressNotFound",
    `The carrier does not know "Hill Street ${id}"`,
    "    at bookParcel (file:///srv/shop/src/shipping/carrier.ts:77:11)\n" +
      "    at Object.run (file:///srv/shop/src/workflows/order_fulfilment.ts:44:9)",
  );
}

function bug(): StoredError {
  return error(
    "TypeError",
    "Cannot read properties of undefined (reading 'email')",
    "    at greetingFor (file:///srv/shop/src/mail/greeting.ts:12:31)\n" +
      "    at Object.run (file:///srv/shop/src/workflows/welcome.ts:9:22)",
  );
}

function charge(id: string, dice: Dice): Attempt[] {
  const attempts: Attempt[] = [];
  const luck = dice();
  const retries = luck < 0.88 ? 0 : luck < 0.97 ? 1 : luck < 0.992 ? 2 : 5;
  for (let at = 0; at < retries; at++) {
    attempts.push({ runMs: 2_000, end: "retry", error: timeout(id), waitMs: 2_000 * 2 ** at });
  }
  if (retries === 5) return [...attempts, { runMs: 2_000, end: "pause", error: timeout(id) }];
  if (dice() < 0.03) {
    const declined = error(
      "CardDeclined",
      `Card of order ${id} was declined`,
      "    at chargeCard (file:///srv/shop/src/payment/gateway.ts:61:11)",
    );
    return [...attempts, { runMs: 700, end: "cancel", error: declined }];
  }
  return [...attempts, good(800, dice)];
}

function order(id: string, startMs: number, dice: Dice): Story {
  const parcel: Attempt = dice() < 0.012
    ? { runMs: 600, end: "pause", error: noAddress(id) }
    : good(650, dice);
  const steps: StepStory[] = [
    { name: "reserve_stock", waitMs: 0, attempts: [good(60, dice)] },
    { name: "charge_card", waitMs: 0, attempts: charge(id, dice) },
    { name: "book_parcel", waitMs: 0, attempts: [parcel] },
    {
      name: "await_delivery",
      waitMs: 0,
      signal: {
        name: "delivered",
        afterMs: (2 + dice() * 26) * HOUR,
        payload: { carrier: "Swift", parcel: `SW${id}` },
      },
      attempts: [good(50, dice)],
    },
    {
      name: "ask_for_review",
      waitMs: dice() < 0.5 ? 2 * HOUR : 3 * DAY,
      attempts: [dice() < 0.2 ? { runMs: 0, end: "skip" } : good(300, dice)],
    },
  ];
  const input = {
    lines: 1 + Math.floor(dice() * 5),
    total: Math.round(dice() * 24_000) / 100,
    currency: "EUR",
    payment: { method: "card", token: `tok_${id}` },
  };
  return {
    name: "order_fulfilment",
    hero: { type: "Order", id },
    input,
    startMs,
    steps,
    worker: worker(dice),
  };
}

function brokenParcel(id: string, startMs: number, dice: Dice): Story {
  const story = order(id, startMs, dice);
  const down = error(
    "ServiceUnavailable",
    `Address check answered 503 for order ${id}; request id ${
      Math.floor(dice() * 1e9).toString(16)
    }`,
    "    at checkAddress (file:///srv/shop/src/shipping/address_check.ts:33:9)\n" +
      "    at bookParcel (file:///srv/shop/src/shipping/carrier.ts:58:24)",
  );
  const steps = story.steps.slice(0, 3).map((step): StepStory => {
    if (step.name === "charge_card") return { ...step, attempts: [good(800, dice)] };
    return step.name === "book_parcel"
      ? { ...step, attempts: [{ runMs: 500, end: "pause", error: down }] }
      : step;
  });
  return { ...story, steps };
}

function welcome(id: string, startMs: number, dice: Dice): Story {
  const broken = dice() < 0.01;
  const steps: StepStory[] = [
    {
      name: "send_greeting",
      waitMs: 0,
      attempts: [broken ? { runMs: 30, end: "pause", error: bug() } : good(220, dice)],
    },
    {
      name: "await_confirmation",
      waitMs: 0,
      signal: { name: "confirmed", afterMs: dice() ** 3 * 20 * HOUR, payload: { from: "mail" } },
      attempts: [good(40, dice)],
    },
    { name: "send_voucher", waitMs: HOUR, attempts: [good(240, dice)] },
    { name: "remind", waitMs: 7 * DAY, attempts: [] },
  ];
  const input = { plan: dice() < 0.3 ? "club" : "free", locale: dice() < 0.5 ? "en" : "de" };
  return {
    name: "welcome",
    hero: { type: "Customer", id },
    input,
    startMs,
    steps,
    worker: worker(dice),
  };
}

function refund(id: string, startMs: number, dice: Dice): Story {
  const suspicious = dice() < 0.06;
  const steps: StepStory[] = [
    {
      name: "check_request",
      waitMs: 0,
      attempts: [suspicious ? { runMs: 180, end: "own_pause" } : good(200, dice)],
    },
    {
      name: "await_approval",
      waitMs: 0,
      signal: {
        name: "approved",
        afterMs: dice() * 9 * HOUR,
        payload: { by: dice() < 0.5 ? "ann" : "bob", note: "fine with me" },
      },
      attempts: [good(30, dice)],
    },
    { name: "pay_back", waitMs: 0, attempts: [good(800, dice)] },
    { name: "send_receipt", waitMs: 0, attempts: [good(150, dice)] },
  ];
  const input = { amount: Math.round(dice() * 9_000) / 100, reason: "does not fit" };
  return {
    name: "refund",
    hero: { type: "Order", id },
    input,
    startMs,
    steps,
    worker: worker(dice),
  };
}

function erasure(id: string, startMs: number, dice: Dice): Story {
  const steps: StepStory[] = [
    { name: "export_data", waitMs: 0, attempts: [good(600, dice)] },
    { name: "delete_account", waitMs: 30 * DAY, attempts: [] },
  ];
  return {
    name: "erasure",
    hero: { type: "Customer", id },
    input: undefined,
    startMs,
    steps,
    worker: worker(dice),
  };
}

/** The long import: it has been running for some minutes, and the worker goes on with it. */
function catalogueImport(nowMs: number): Story {
  const chunks = 5;
  const perChunk = 22_500;
  const attempts = Array.from({ length: chunks }, (_, at): Attempt => ({
    runMs: 90 * SECOND,
    end: "continue",
    progress: { done: (at + 1) * perChunk, total: CATALOGUE_ROWS },
  }));
  return {
    name: "catalogue_import",
    hero: null,
    input: { supplier: "Northwind", file: "catalogue-2026-11.csv", rows: CATALOGUE_ROWS },
    startMs: nowMs - chunks * 91 * SECOND - 8 * SECOND,
    steps: [
      { name: "download", waitMs: 0, attempts: [{ runMs: 4_200, end: "success" }] },
      { name: "import_rows", waitMs: 0, attempts },
    ],
    worker: "shop-worker-2",
  };
}

/** The import of last night, which a worker's death in the middle did not stop. */
function lastImport(nowMs: number): Story {
  const done = (at: number): Attempt => ({
    runMs: 90 * SECOND,
    end: "continue",
    progress: { done: at * 24_000, total: CATALOGUE_ROWS },
  });
  return {
    name: "catalogue_import",
    hero: null,
    input: { supplier: "Northwind", file: "catalogue-2026-10.csv", rows: CATALOGUE_ROWS },
    startMs: nowMs - 19 * HOUR,
    steps: [
      { name: "download", waitMs: 0, attempts: [{ runMs: 3_900, end: "success" }] },
      {
        name: "import_rows",
        waitMs: 0,
        attempts: [
          ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map(done),
          {
            runMs: 86 * SECOND,
            end: "success",
            progress: { done: CATALOGUE_ROWS, total: CATALOGUE_ROWS },
          },
        ],
      },
      { name: "rebuild_search", waitMs: 0, attempts: [{ runMs: 4_800, end: "success" }] },
    ],
    worker: "shop-worker-1",
  };
}
