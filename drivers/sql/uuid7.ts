/**
 * Version 7 UUIDs (RFC 9562): 48 bits of time, a counter of 12 bits, 62 random bits. Ids of one
 * store grow with every one it makes, so that new rows land at the end of the index; ids of
 * different stores are in the order of their clocks.
 *
 * @module
 */

const MAX_MS = 2 ** 48 - 1;
const COUNTER_SIZE = 4_096;
const HEX: readonly string[] = Array.from(
  { length: 256 },
  (_, byte) => byte.toString(16).padStart(2, "0"),
);

/** Makes ids for rows that are written at this instant. */
export type MakeUuid = (now: Date) => string;

/** A generator; the time is a parameter, so that a fake clock governs ids too. */
export function uuid7Generator(
  random: (bytes: Uint8Array<ArrayBuffer>) => unknown = (bytes) => crypto.getRandomValues(bytes),
): MakeUuid {
  const bytes = new Uint8Array(10);
  let ms = -1;
  let counter = 0;

  return (now) => {
    random(bytes);
    const given = Math.min(Math.max(Math.trunc(now.getTime()) || 0, 0), MAX_MS);
    if (given > ms) {
      ms = given;
      // Starting anywhere in the lower half keeps two stores apart and leaves room to count.
      counter = (byteAt(bytes, 8) << 8 | byteAt(bytes, 9)) % (COUNTER_SIZE / 2);
    } else if (++counter === COUNTER_SIZE) {
      // More ids than the counter holds in one millisecond, or a clock that stands: borrow one.
      ms++;
      counter = 0;
    }
    return format(ms, counter, bytes);
  };
}

function format(ms: number, counter: number, bytes: Uint8Array): string {
  const time = ms.toString(16).padStart(12, "0");
  const high = (0x7000 | counter).toString(16);
  const variant = HEX[0x80 | (byteAt(bytes, 0) & 0x3f)] as string;
  const rest = Array.from(bytes.subarray(1, 8), (byte) => HEX[byte]).join("");
  return `${time.slice(0, 8)}-${time.slice(8)}-${high}-${variant}${rest.slice(0, 2)}-` +
    rest.slice(2);
}

function byteAt(bytes: Uint8Array, at: number): number {
  return bytes[at] as number;
}
