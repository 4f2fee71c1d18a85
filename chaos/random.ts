/** Random numbers that come again for the same seed: the schedule of faults can be replayed. */

export interface Random {
  /** A whole number from `from` up to and including `to`. */
  between(from: number, to: number): number;
  /** One of several. */
  pick<T>(choices: readonly T[]): T;
}

/** Makes a source of random numbers (mulberry32). */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const between = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1));
  return {
    between,
    pick: (choices) => choices[between(0, choices.length - 1)] as (typeof choices)[number],
  };
}
