/**
 * Amazon SQS in one process, as far as a driver meets it, by the rules of its standard queues:
 *
 * - At most ten messages in one call, at most 15 minutes of delay, in whole seconds.
 * - A message that was received is hidden for the visibility timeout. Whoever deletes it by the
 *   handle of its last receipt ends it; otherwise it comes again, with another handle.
 * - Messages come in no order, and a receipt may leave out some that are there.
 * - Now and then a message is there twice.
 *
 * Time is a clock, so that a test can let it pass.
 *
 * @module
 */

import type { Clock } from "@pawl/pawl";
import type { SqsLike } from "./sqs_queue.ts";

/** How the fake behaves. */
export interface FakeSqsOptions {
  /** Its time. */
  readonly clock: Clock;
  /** The addresses of its queues. */
  readonly urls: readonly string[];
  /**
   * How long a message that was received is hidden.
   *
   * @default {30_000}
   */
  readonly visibilityMs?: number;
}

/** The fake, and what can be seen of it. */
export interface FakeSqs extends SqsLike {
  /** How many messages were sent, and how many were received. */
  readonly sent: number;
  readonly received: number;
  /** How many are left in all queues. */
  readonly left: number;
}

interface Message {
  readonly body: string;
  visibleAt: number;
  handle: string | null;
}

const MAX_BATCH = 10;
const MAX_DELAY_S = 900;
const MAX_WAIT_S = 20;
/** Every so many messages one is there twice, and every so many receipts one is incomplete. */
const DUPLICATES = 7;
const INCOMPLETE = 5;

/** Makes a fake with empty queues. */
export function fakeSqs({ clock, urls, visibilityMs = 30_000 }: FakeSqsOptions): FakeSqs {
  const queues = new Map(urls.map((url) => [url, new Set<Message>()]));
  const chance = createChance();
  const waiting = new Set<() => void>();
  let sent = 0;
  let received = 0;

  function queueAt(url: string): Set<Message> {
    const queue = queues.get(url);
    if (queue === undefined) throw new Error("QueueDoesNotExist");
    return queue;
  }

  /** What a receipt gives now: some of what is visible, in any order. */
  function take(queue: Set<Message>, count: number): Message[] {
    const visible = [...queue].filter((one) => one.visibleAt <= clock.now());
    visible.sort(() => chance() - 0.5);
    const taken = visible.slice(0, chance() < 1 / INCOMPLETE ? Math.ceil(count / 2) : count);
    for (const one of taken) {
      one.visibleAt = clock.now() + visibilityMs;
      one.handle = `receipt ${++received}`;
    }
    return taken;
  }

  /** Waits until so much time has passed or something was sent; rejects when it is aborted. */
  function pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      function end(): void {
        clock.clearTimeout(timer);
        signal.removeEventListener("abort", end);
        waiting.delete(end);
        if (signal.aborted) reject(signal.reason);
        else resolve();
      }
      const timer = clock.setTimeout(end, Math.max(ms, 1));
      signal.addEventListener("abort", end, { once: true });
      waiting.add(end);
    });
  }

  return {
    get sent() {
      return sent;
    },
    get received() {
      return received;
    },
    get left() {
      return [...queues.values()].reduce((sum, queue) => sum + queue.size, 0);
    },
    sendMessageBatch({ QueueUrl, Entries }) {
      const queue = queueAt(QueueUrl);
      mustBeBatch(Entries);
      for (const { DelaySeconds: delay } of Entries) {
        if (!Number.isInteger(delay) || delay < 0 || delay > MAX_DELAY_S) {
          throw new Error(`InvalidParameterValue: DelaySeconds must be >= 0 and <= ${MAX_DELAY_S}`);
        }
      }
      for (const { MessageBody: body, DelaySeconds: delay } of Entries) {
        const visibleAt = clock.now() + delay * 1_000;
        const copies = ++sent % DUPLICATES === 0 ? 2 : 1;
        for (let copy = 0; copy < copies; copy++) queue.add({ body, visibleAt, handle: null });
      }
      for (const wake of [...waiting]) wake();
      return Promise.resolve({});
    },
    async receiveMessage({ QueueUrl, MaxNumberOfMessages: count, WaitTimeSeconds: wait }, how) {
      const queue = queueAt(QueueUrl);
      if (count < 1 || count > MAX_BATCH || wait < 0 || wait > MAX_WAIT_S) {
        throw new Error("InvalidParameterValue: MaxNumberOfMessages or WaitTimeSeconds");
      }
      const until = clock.now() + wait * 1_000;
      while (true) {
        how.abortSignal.throwIfAborted();
        const messages = take(queue, count);
        if (messages.length > 0 || clock.now() >= until) {
          return {
            Messages: messages.map(({ body, handle }) => ({
              Body: body,
              ReceiptHandle: `${handle}`,
            })),
          };
        }
        const next = Math.min(until, ...[...queue].map((one) => one.visibleAt));
        await pause(next - clock.now(), how.abortSignal);
      }
    },
    deleteMessageBatch({ QueueUrl, Entries }) {
      const queue = queueAt(QueueUrl);
      mustBeBatch(Entries);
      const handles = new Set(Entries.map((entry) => entry.ReceiptHandle));
      for (const one of queue) {
        if (one.handle !== null && handles.has(one.handle)) queue.delete(one);
      }
      return Promise.resolve({});
    },
  };
}

function mustBeBatch(entries: readonly { readonly Id: string }[]): void {
  if (entries.length < 1 || entries.length > MAX_BATCH) {
    throw new Error(`TooManyEntriesInBatchRequest: 1 to ${MAX_BATCH} are allowed`);
  }
  if (new Set(entries.map((entry) => entry.Id)).size < entries.length) {
    throw new Error("BatchEntryIdsNotDistinct");
  }
}

/** Numbers from 0 to 1 that look random and are the same in every run. */
function createChance(): () => number {
  let state = 1;
  return () => {
    state = state * 48_271 % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
