/**
 * Live pages: a stream of server-sent events per open page. Each looks at what its page shows, again
 * and again, and sends the regions that have changed; the client puts them in place.
 *
 * A stream ends when its reader goes, when the dashboard is closed, and after some minutes, so that
 * whoever may not look any more is asked again.
 *
 * @module
 */

import { PawlError } from "../errors.ts";
import type { Clock } from "../seams/clock.ts";
import { toError } from "../state/stored_error.ts";
import { markupOf } from "./html.ts";
import { respond } from "./responses.ts";
import type { Frame, View } from "./view.ts";

/** The open streams of one dashboard. */
export interface Streams {
  /** Opens a stream on a view; its page is framed as before, only the instant is new each time. */
  open<Data>(view: View<Data>, frame: Omit<Frame, "now">): Response;
  /** Ends all of them; later ones end at once. */
  close(): void;
  /** How many are open. */
  readonly size: number;
}

/** What all streams of a dashboard share. */
export interface StreamsOptions {
  /** The engine's clock. */
  readonly clock: Clock;
  /** How often to look. */
  readonly refreshMs: number;
  /** Hears of what goes wrong. */
  readonly onError: (error: Error) => void;
}

/** A proxy closes what is silent; and whoever looks is asked again for his right to. */
const SILENCE_MS = 15_000;
const LONGEST_MS = 600_000;
/** The slower a look is, the rarer it is made: it never takes more than this share of the time. */
const PATIENCE = 5;

/** Makes the streams of a dashboard. */
export function createStreams({ clock, refreshMs, onError }: StreamsOptions): Streams {
  const open = new Set<() => void>();
  let isClosed = false;
  return {
    get size() {
      return open.size;
    },
    close() {
      isClosed = true;
      for (const end of [...open]) end();
    },
    open(view, frame) {
      const encoder = new TextEncoder();
      let end = (): void => {};
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          const write = (text: string): void => controller.enqueue(encoder.encode(text));
          const look = createLook(view, frame, { write, onError });
          const begunMs = clock.now();
          let spokeMs = begunMs;
          let timer: unknown = null;
          end = (): void => {
            if (!open.delete(end)) return;
            if (timer !== null) clock.clearTimeout(timer);
            try {
              controller.close();
            } catch {
              // The reader has gone, and the stream with it.
            }
          };
          const turn = async (): Promise<void> => {
            const lookedMs = clock.now();
            // A reader who has not taken the last answer yet gets no other one.
            const isBehind = (controller.desiredSize ?? 0) < 0;
            const said = !isBehind && await look(new Date(lookedMs));
            if (!open.has(end)) return;
            const nowMs = clock.now();
            if (said) spokeMs = nowMs;
            else if (nowMs - spokeMs >= SILENCE_MS) {
              write(": still here\n\n");
              spokeMs = nowMs;
            }
            if (nowMs - begunMs >= LONGEST_MS) return end();
            const pauseMs = Math.max(refreshMs, (nowMs - lookedMs) * PATIENCE);
            timer = clock.setTimeout(() => void turn().catch(end), pauseMs);
          };
          open.add(end);
          if (isClosed) return end();
          write(`retry: ${Math.max(1_000, Math.round(refreshMs))}\n\n`);
          void turn().catch(end);
        },
        cancel: () => end(),
      });
      return respond(body, {
        headers: {
          "content-type": "text/event-stream; charset=utf-8",
          // Some proxies collect a response before they hand it on.
          "x-accel-buffering": "no",
        },
      });
    },
  };
}

/** Looks once and sends what has changed; answers whether anything was sent. */
function createLook<Data>(
  view: View<Data>,
  frame: Omit<Frame, "now">,
  { write, onError }: { write(text: string): void; onError(error: Error): void },
): (now: Date) => Promise<boolean> {
  let before: Data | null = null;
  let trouble: string | null = null;
  const sent = new Map<string, string>();
  const send = (event: string, data: unknown): void =>
    write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  return async (now) => {
    let data: Data | null;
    try {
      data = await view.read({ before, fresh: false });
    } catch (thrown) {
      const error = toError(thrown);
      const message = error instanceof PawlError ? error.message : "The database cannot be read";
      if (message === trouble) return false;
      trouble = message;
      onError(error);
      send("trouble", { message });
      return true;
    }
    const wasInTrouble = trouble !== null;
    trouble = null;
    if (data === null) {
      if (!wasInTrouble && sent.has("gone")) return false;
      sent.set("gone", "");
      send("gone", {});
      return true;
    }
    before = data;
    const changed: Record<string, string> = {};
    for (const [id, piece] of Object.entries(view.regions(data, { ...frame, now }))) {
      const text = markupOf(piece);
      const essence = withoutTimes(text);
      if (sent.get(id) === essence) continue;
      sent.set(id, essence);
      changed[id] = text;
    }
    if (Object.keys(changed).length === 0 && !wasInTrouble) return false;
    send("regions", { now: now.getTime(), regions: changed });
    return true;
  };
}

/** The client counts seconds by itself: "3 s ago" that became "4 s ago" is no change. */
function withoutTimes(text: string): string {
  return text.replace(/(data-time="[^"]*"[^>]*>)[^<]*/g, "$1");
}
