/**
 * The runtime's own cryptography, loaded when it is first needed: importing it takes two thirds of
 * the time that importing all of Pawl takes (20 ms of 30), and most processes never need it.
 *
 * @module
 */

interface Runtime {
  readonly process: { getBuiltinModule(name: "node:crypto"): typeof import("node:crypto") };
}

let loaded: typeof import("node:crypto") | null = null;

/** The module `node:crypto`. */
export function nodeCrypto(): typeof import("node:crypto") {
  loaded ??= (globalThis as unknown as Runtime).process.getBuiltinModule("node:crypto");
  return loaded;
}
