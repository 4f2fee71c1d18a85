/**
 * Keeping secrets off the page: pages mask with the same rules as log lines and events.
 *
 * @module
 */

export { ALWAYS_REDACTED, createRedactor, MASK, type Redactor } from "../observe/redact.ts";
