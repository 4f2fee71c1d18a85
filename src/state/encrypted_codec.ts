/**
 * Values that only the application can read: a codec that seals what another one has written.
 *
 * A sealed value is AES-256-GCM under a key with a name, and stays JSON, so that every database
 * takes it: `{"$pawl":"sealed","k":"2026-01","v":"…"}`, where `v` is the nonce, the ciphertext and
 * the tag in base64. The name of the key is authenticated with it. New values are sealed with the
 * `current` key; the others stay in the list as long as rows hold values that they sealed. What was
 * written in plain before encryption was switched on stays readable, unless that is refused.
 *
 * The nonce is random, so the same value never gives the same text twice: texts are compared by
 * what they hold (`isSame`). NIST allows 2^32 values under one key with random nonces; whoever
 * writes more rotates.
 *
 * A codec has no time to wait, and Web Crypto makes everybody wait; `node:crypto` is the same cipher
 * without it, in Deno, Node and Bun.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { InvalidInputError, SealedValueError } from "../errors.ts";
import { nodeCrypto } from "./builtin.ts";
import { checkedCodec } from "./checked_codec.ts";
import { type Codec, jsonCodec } from "./codec.ts";
import { sameTextOf } from "./same_text.ts";

/** What an encrypting codec is made of. */
export interface EncryptedCodecOptions {
  /** The keys by their names: 32 bytes each, or 32 bytes in base64. */
  readonly keys: Readonly<Record<string, Uint8Array | string>>;
  /** The name of the key that seals new values. */
  readonly current: string;
  /** What writes the values that are sealed; default: JSON with tags. */
  readonly codec?: Codec;
  /** Refuse values that are not sealed, once none of them are left. */
  readonly refusePlain?: boolean;
}

const ALGORITHM = "aes-256-gcm";
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_ID = /^[\w.:-]{1,64}$/;

interface Sealed {
  readonly keyId: string;
  readonly box: string;
}

/**
 * Makes a codec that encrypts inputs, cursors, payloads and metadata.
 *
 * @throws {InvalidInputError} When a key is not 32 bytes, or `current` is not among the keys.
 *
 * @example Encrypt, and rotate by adding a key
 * ```ts
 * import { createEngine, encryptedCodec } from "@pawl/pawl";
 * import { memoryStore } from "@pawl/pawl/memory";
 *
 * const codec = encryptedCodec({
 *   keys: { "2025": crypto.getRandomValues(new Uint8Array(32)), "2026": "q".repeat(43) + "=" },
 *   current: "2026",
 * });
 * const engine = createEngine({ store: memoryStore(), codec });
 * await engine.close();
 * ```
 */
export function encryptedCodec(options: EncryptedCodecOptions): Codec {
  const { current, refusePlain = false } = options;
  const codec = options.codec === undefined ? jsonCodec : checkedCodec(options.codec);
  const keys = keysOf(options.keys);
  const currentKey = keys.get(current);
  if (currentKey === undefined) {
    throw new InvalidInputError(
      `Cannot encrypt with the key ${JSON.stringify(current)}: it is not among the keys; ` +
        `add it, or name another one as current`,
    );
  }

  /** The text inside, or the text itself where it is plain. */
  function plainOf(text: string): string {
    const sealed = sealedIn(text);
    if (sealed !== null) return open(keys, sealed);
    if (refusePlain) {
      throw new SealedValueError("it is not sealed, and plain values are refused");
    }
    if (isDamaged(keys, text)) throw new SealedValueError("it is sealed, but its tag is damaged");
    return text;
  }

  const isSamePlain = sameTextOf(codec);
  return {
    encode: (value) => seal(currentKey, current, codec.encode(value)),
    decode: (text) => codec.decode(plainOf(text)),
    isSame: (one, other) => isSamePlain(plainOf(one), plainOf(other)),
  };
}

/** What is authenticated beside the value: a box cannot be passed off as one of another key. */
function contextOf(keyId: string): Uint8Array {
  return Buffer.from(`pawl sealed ${keyId}`);
}

function seal(key: Uint8Array, keyId: string, plain: string): string {
  const { createCipheriv, randomBytes } = nodeCrypto();
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce);
  cipher.setAAD(contextOf(keyId));
  const body = [cipher.update(plain, "utf8"), cipher.final()];
  const box = Buffer.concat([nonce, ...body, cipher.getAuthTag()]).toString("base64");
  return `{"$pawl":"sealed","k":${JSON.stringify(keyId)},"v":"${box}"}`;
}

function open(keys: ReadonlyMap<string, Uint8Array>, { keyId, box }: Sealed): string {
  const key = keys.get(keyId);
  if (key === undefined) {
    throw new SealedValueError(
      `it is sealed with the key ${JSON.stringify(keyId.slice(0, 100))}, which is not among the ` +
        `keys of this engine`,
      { keyId },
    );
  }
  const bytes = Buffer.from(box, "base64");
  // The decoder of base64 overlooks what does not belong there; nothing is overlooked here.
  if (bytes.length < NONCE_BYTES + TAG_BYTES || bytes.toString("base64") !== box) {
    throw new SealedValueError("it is damaged", { keyId });
  }
  try {
    const decipher = nodeCrypto().createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(contextOf(keyId));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const body = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
    return Buffer.concat([body, decipher.final()]).toString("utf8");
  } catch (cause) {
    throw new SealedValueError(
      `it is damaged, or was sealed with another key of the name ${JSON.stringify(keyId)}`,
      { keyId, cause },
    );
  }
}

/** The sealed value that a text holds; null when it is plain. */
function sealedIn(text: string): Sealed | null {
  const tree = objectIn(text);
  if (tree === null || tree.$pawl !== "sealed") return null;
  const { k: keyId, v: box } = tree;
  if (typeof keyId === "string" && typeof box === "string") return { keyId, box };
  throw new SealedValueError("it is sealed, but incomplete");
}

/** Whether a value that looks plain opens with one of the keys: then its tag was written over. */
function isDamaged(keys: ReadonlyMap<string, Uint8Array>, text: string): boolean {
  const { k: keyId, v: box } = objectIn(text) ?? {};
  if (typeof keyId !== "string" || typeof box !== "string" || !keys.has(keyId)) return false;
  try {
    open(keys, { keyId, box });
    return true;
  } catch {
    return false;
  }
}

function objectIn(text: string): Record<string, unknown> | null {
  if (!text.trimStart().startsWith("{")) return null;
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    // A codec of the user's own may have written anything before encryption was switched on.
    return null;
  }
}

function keysOf(given: EncryptedCodecOptions["keys"]): Map<string, Uint8Array> {
  const entries = Object.entries(given ?? {});
  return new Map(entries.map(([id, key]) => {
    if (!KEY_ID.test(id)) {
      throw new InvalidInputError(
        `Cannot use ${JSON.stringify(id.slice(0, 100))} as the name of a key: ` +
          `use at most 64 letters, digits and . : _ -`,
      );
    }
    return [id, keyBytes(id, key)];
  }));
}

/** The bytes of a key, copied: nobody changes them later. The message never shows them. */
function keyBytes(id: string, key: Uint8Array | string): Uint8Array {
  const bytes = typeof key === "string"
    ? Buffer.from(key, "base64")
    : key instanceof Uint8Array
    ? Uint8Array.from(key)
    : new Uint8Array(0);
  if (bytes.length === KEY_BYTES) return Uint8Array.from(bytes);
  throw new InvalidInputError(
    `Cannot use the key "${id}": it must be ${KEY_BYTES} bytes, or ${KEY_BYTES} bytes in base64`,
  );
}
