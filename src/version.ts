/**
 * The version of the package, as a constant: a published package has no `deno.json` to read.
 *
 * @module
 */

/** The version of this package; a test compares it with `deno.json`. */
export const VERSION = "0.1.0";
