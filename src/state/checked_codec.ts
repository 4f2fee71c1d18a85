/**
 * A codec of somebody else, held to its word: it answers at once, and with text.
 *
 * A codec that waits (Web Crypto can do nothing else) would have its promise stored as the text
 * "[object Promise]", and the value would be gone; one without `decode` would pause every workflow
 * that has an input.
 *
 * @module
 */

import { InvalidInputError, StepConfigurationError } from "../errors.ts";
import type { Codec } from "./codec.ts";

/**
 * Wraps a codec with checks of its answers.
 *
 * @throws {StepConfigurationError} When it is no codec.
 */
export function checkedCodec(codec: Codec): Codec {
  const given = codec as Partial<Codec> | null;
  const isCodec = typeof given?.encode === "function" && typeof given.decode === "function" &&
    (given.isSame === undefined || typeof given.isSame === "function");
  if (!isCodec) {
    throw new StepConfigurationError(
      "Cannot use this codec: it must be an object with encode() and decode(), " +
        "such as encryptedCodec({ ... }) returns",
    );
  }
  return {
    encode(value) {
      const text: unknown = codec.encode(value);
      if (typeof text === "string") return text;
      forget(text);
      throw new InvalidInputError("The codec's encode() must answer a text, and at once");
    },
    decode(text) {
      const value = codec.decode(text);
      if (!(value instanceof Promise)) return value;
      forget(value);
      throw new InvalidInputError("The codec's decode() must answer a value, and at once");
    },
    ...codec.isSame && { isSame: (one, other) => codec.isSame?.(one, other) ?? false },
  };
}

/** Nobody waits for a promise that was refused; were it to fail, that would end the process. */
function forget(answer: unknown): void {
  if (answer instanceof Promise) answer.catch(() => {});
}
