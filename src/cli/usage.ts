/**
 * The error of the command line itself: what was typed cannot be meant.
 *
 * @module
 */

/** What was typed is not a command that can be run; nothing was done. */
export class UsageError extends Error {
  /** The command it was typed for, or null when that is not known. */
  readonly command: string | null;

  /** Makes the error; the message says what to type instead. */
  constructor(message: string, command: string | null = null) {
    super(message);
    this.command = command;
  }

  /** The class's name, also after a bundler has renamed the class. */
  override get name(): string {
    return "UsageError";
  }
}
