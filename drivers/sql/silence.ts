/**
 * Silence: a connection on which an answer is waited for, and nothing comes.
 *
 * The server may be at work, or wait for a lock; that may take as long as it takes. Or the
 * connection is half-open: the other machine is gone, or a firewall has forgotten it, and nobody
 * was told. The operating system finds that out after a quarter of an hour, if at all, and until
 * then whoever shares the connection's fate stands still. So the server is asked over another
 * connection. If it is not at work for this one, or does not say anything there either, then the
 * connection is ended, and what was under way fails like on any connection that was lost.
 *
 * @module
 */

import { InvalidInputError } from "../../src/errors.ts";

/** A connection that is in use. */
export interface Watched {
  /** A number that changes with everything that comes from the server; null: no answer is awaited. */
  heard(): number | null;
  /** Asks the server over another connection whether it is at work for this one. */
  isAtWork(): Promise<boolean>;
  /** Ends it, so that whoever waits hears that it was lost. */
  end(): void;
}

/** How long an answer may be silent, where nobody said otherwise. */
export const SILENCE_MS = 10_000;

/**
 * Refuses what is no time to wait.
 *
 * @throws {InvalidInputError} When it is not a number of milliseconds above zero.
 */
export function mustBeSilence(silenceMs: number): void {
  if (Number.isFinite(silenceMs) && silenceMs > 0) return;
  throw new InvalidInputError(
    `Cannot use ${String(silenceMs)} as silenceMs: it is not a time to wait; ` +
      `use milliseconds above 0`,
  );
}

/**
 * The timers of the runtime, taken when the module is loaded: waiting for a server is no part of the
 * engine's time, and a fake clock that is installed later must not stop it.
 */
const startTimer = globalThis.setTimeout;
const stopTimer = globalThis.clearTimeout;

/** Watches over a connection until what it returns is called (1.2 µs for both). */
export function watchSilence(watched: Watched, silenceMs: number): () => void {
  let last: number | null = null;
  let watching = true;
  let timer = startTimer(look, silenceMs);

  function look(): void {
    const heard = watched.heard();
    if (heard !== null && heard === last) void ask();
    else timer = startTimer(look, silenceMs);
    last = heard;
  }

  async function ask(): Promise<void> {
    const atWork = await answerWithin(watched.isAtWork(), silenceMs);
    if (!watching) return;
    // Whoever heard something meanwhile need not care what the server said.
    if (!atWork && watched.heard() === last) watched.end();
    else timer = startTimer(look, silenceMs);
  }

  return () => {
    watching = false;
    stopTimer(timer);
  };
}

/** A server that refuses to be asked is there, so it is given more time; one that is silent is not. */
async function answerWithin(answer: Promise<boolean>, ms: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<boolean>((resolve) => void (timer = startTimer(resolve, ms, false)));
  try {
    return await Promise.race([answer.catch(() => true), silence]);
  } finally {
    stopTimer(timer);
  }
}
