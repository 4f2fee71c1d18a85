/**
 * The errors that callers are expected to catch.
 *
 * Each has a stable `code` and carries the data of its sentence as fields, so that a program never
 * has to read the message. A lost race is not among them: it is a return value.
 *
 * @module
 */

/** The stable codes of the errors that Pawl throws. */
export type PawlErrorCode =
  | "step_configuration"
  | "invalid_state"
  | "duplicate_workflow"
  | "step_not_defined"
  | "workflow_not_defined"
  | "workflow_not_found"
  | "cursor"
  | "cursor_too_large"
  | "flow_control_outside_step"
  | "invalid_input"
  | "stored_value"
  | "sealed_value"
  | "step_timeout"
  | "step_interrupted"
  | "recovery_limit"
  | "thrown_value"
  | "handler_failed"
  | "migration"
  | "store";

/** What all errors of Pawl have in common: a stable `code`. */
export class PawlError extends Error {
  /** A stable word for programs; the message is for people. */
  readonly code: PawlErrorCode;

  /** Makes an error with a stable code. */
  constructor(code: PawlErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** The class's name, also after a bundler has renamed the class. */
  override get name(): string {
    return NAMES[this.code];
  }
}

const NAMES: Readonly<Record<PawlErrorCode, string>> = {
  step_configuration: "StepConfigurationError",
  invalid_state: "InvalidStateError",
  duplicate_workflow: "DuplicateWorkflowError",
  step_not_defined: "StepNotDefinedError",
  workflow_not_defined: "WorkflowNotDefinedError",
  workflow_not_found: "WorkflowNotFoundError",
  cursor: "CursorError",
  cursor_too_large: "CursorTooLargeError",
  flow_control_outside_step: "FlowControlOutsideStepError",
  invalid_input: "InvalidInputError",
  stored_value: "StoredValueError",
  sealed_value: "SealedValueError",
  step_timeout: "StepTimeoutError",
  step_interrupted: "StepInterruptedError",
  recovery_limit: "RecoveryLimitError",
  thrown_value: "ThrownValueError",
  handler_failed: "ExceptionHandlerError",
  migration: "MigrationError",
  store: "StoreError",
};

/** A definition, a policy or an option is not one that can work; the message says which and why. */
export class StepConfigurationError extends PawlError {
  /** The step it is about, or null when it is about the whole workflow or an option. */
  readonly stepName: string | null;

  /** Makes the error; `stepName` names the step it is about. */
  constructor(message: string, options: ErrorOptions & { stepName?: string | null } = {}) {
    super("step_configuration", message, options);
    this.stepName = options.stepName ?? null;
  }
}

/** What was asked is not possible in the state the workflow is in. */
export class InvalidStateError extends PawlError {
  /** The state that forbids it, where there is one. */
  readonly state: string | null;

  /** Makes the error; `state` is the state that forbids what was asked. */
  constructor(message: string, options: ErrorOptions & { state?: string | null } = {}) {
    super("invalid_state", message, options);
    this.state = options.state ?? null;
  }
}

/** An ongoing workflow of this definition exists for this hero already. */
export class DuplicateWorkflowError extends PawlError {
  /** The definition's name. */
  readonly workflowName: string;
  /** The hero's type. */
  readonly heroType: string | null;
  /** The hero's id. */
  readonly heroId: string | null;
  /** The id of the workflow that is in the way, where the store could tell. */
  readonly existingId: string | null;

  /** Makes the error from what was to be started and what is in the way. */
  constructor(
    data: {
      workflowName: string;
      heroType: string | null;
      heroId: string | null;
      existingId: string | null;
    },
    options?: ErrorOptions,
  ) {
    const existing = data.existingId === null ? "" : ` (workflow ${data.existingId})`;
    super(
      "duplicate_workflow",
      `Cannot start "${data.workflowName}" for ${data.heroType} ${
        JSON.stringify(data.heroId)
      }: an ongoing one exists${existing}; wait for it, cancel it, or pass allowMultiple: true`,
      options,
    );
    this.workflowName = data.workflowName;
    this.heroType = data.heroType;
    this.heroId = data.heroId;
    this.existingId = data.existingId;
  }
}

/** A stored row names a step that the definition does not have. */
export class StepNotDefinedError extends PawlError {
  /** The missing step. */
  readonly stepName: string;
  /** The definition's name. */
  readonly workflowName: string;
  /** The workflow that points at it. */
  readonly workflowId: string | null;
  /** The execution that points at it, where one exists. */
  readonly executionId: string | null;
  /** The steps that the definition has. */
  readonly availableSteps: readonly string[];

  /** Makes the error from the row and the definition. */
  constructor(
    data: {
      stepName: string;
      workflowName: string;
      availableSteps: readonly string[];
      workflowId?: string | null;
      executionId?: string | null;
    },
    options?: ErrorOptions,
  ) {
    const steps = data.availableSteps.map((name) => `"${name}"`).join(", ") || "none";
    super(
      "step_not_defined",
      `Workflow "${data.workflowName}" has no step "${data.stepName}" (available: ${steps}); ` +
        `resume it with resumeAt(<step>), or declare removedStep("${data.stepName}")`,
      options,
    );
    this.stepName = data.stepName;
    this.workflowName = data.workflowName;
    this.workflowId = data.workflowId ?? null;
    this.executionId = data.executionId ?? null;
    this.availableSteps = data.availableSteps;
  }
}

/** A stored row names a definition that this engine was not given. */
export class WorkflowNotDefinedError extends PawlError {
  /** The missing definition's name. */
  readonly workflowName: string;
  /** The workflow that names it, where one exists. */
  readonly workflowId: string | null;

  /** Makes the error from the name; `isOther`: a definition of this name exists, but not this one. */
  constructor(
    data: { workflowName: string; workflowId?: string | null; isOther?: boolean },
    options?: ErrorOptions,
  ) {
    const name = JSON.stringify(data.workflowName);
    super(
      "workflow_not_defined",
      data.isOther === true
        ? `Another definition is registered under the name ${name}; pass the very object that ` +
          `createEngine({ workflows: [...] }) was given, or give this one another name`
        : `No workflow is registered under the name ${name}; ` +
          `pass its definition to createEngine({ workflows: [...] })`,
      options,
    );
    this.workflowName = data.workflowName;
    this.workflowId = data.workflowId ?? null;
  }
}

/** No workflow has this id. */
export class WorkflowNotFoundError extends PawlError {
  /** The id that was looked for. */
  readonly workflowId: string;

  /** Makes the error for one id. */
  constructor(workflowId: string, options?: ErrorOptions) {
    super("workflow_not_found", `No workflow has the id ${JSON.stringify(workflowId)}`, options);
    this.workflowId = workflowId;
  }
}

/** A value cannot be stored as a cursor, or a stored cursor cannot be read; nothing was written. */
export class CursorError extends PawlError {
  /** Where in the value the trouble sits, such as `$.items[3]`. */
  readonly path: string | null;

  /** Makes the error; `path` says where in the value. */
  constructor(
    message: string,
    options: ErrorOptions & { path?: string | null; code?: "cursor" | "cursor_too_large" } = {},
  ) {
    super(options.code ?? "cursor", message, options);
    this.path = options.path ?? null;
  }
}

/** A cursor is larger than the engine's limit; nothing was written. */
export class CursorTooLargeError extends CursorError {
  /** The cursor's size. */
  readonly bytes: number;
  /** The limit it passed. */
  readonly maxBytes: number;

  /** Makes the error from the two sizes. */
  constructor(data: { bytes: number; maxBytes: number }, options: ErrorOptions = {}) {
    super(
      `Cannot store a cursor of ${data.bytes} bytes: the limit is ${data.maxBytes}; ` +
        `store a position instead of data, or raise maxCursorBytes`,
      { ...options, code: "cursor_too_large" },
    );
    this.bytes = data.bytes;
    this.maxBytes = data.maxBytes;
  }
}

/** A flow function was called when no body of its step was running. */
export class FlowControlOutsideStepError extends PawlError {
  /** The function that was called. */
  readonly action: string;

  /** Makes the error for one flow function. */
  constructor(action: string, where: string = "outside a running step", options?: ErrorOptions) {
    super(
      "flow_control_outside_step",
      `Cannot call ${action}() ${where}: flow functions only work inside the body of a step`,
      options,
    );
    this.action = action;
  }
}

/** The input of a workflow or an argument of a call is not acceptable; nothing was written. */
export class InvalidInputError extends PawlError {
  /** What the schema said, where a schema said it. */
  readonly issues: readonly { message: string; path?: readonly unknown[] }[];

  /** Makes the error; `issues` are a schema's complaints. */
  constructor(
    message: string,
    options: ErrorOptions & {
      issues?: readonly { message: string; path?: readonly unknown[] }[];
    } = {},
  ) {
    super("invalid_input", message, options);
    this.issues = options.issues ?? [];
  }
}

/** A column of a stored row cannot be read back; the row is left as it is. */
export class StoredValueError extends PawlError {
  /** The column. */
  readonly column: string;

  /** Makes the error for one column of one row. */
  constructor(column: string, message: string, options?: ErrorOptions) {
    super("stored_value", `Cannot read column "${column}": ${message}`, options);
    this.column = column;
  }
}

/** An encrypted value cannot be opened: its key is not known, or it is not what was written. */
export class SealedValueError extends PawlError {
  /** The name of the key it was sealed with, where it says one. */
  readonly keyId: string | null;

  /** Makes the error; `why` says what is wrong with the value. */
  constructor(why: string, options: ErrorOptions & { keyId?: string } = {}) {
    super("sealed_value", `Cannot open a sealed value: ${why}`, options);
    this.keyId = options.keyId ?? null;
  }
}

/** A body ran longer than its step's `timeout`, or the signal it waits for did not come in time. */
export class StepTimeoutError extends PawlError {
  /** The step's limit. */
  readonly timeoutMs: number;

  /** The signal that did not come; null when the body took too long. */
  readonly signalName: string | null;

  /** Makes the error for one step; `signalName` is the signal that did not come. */
  constructor(
    stepName: string,
    timeoutMs: number,
    options: ErrorOptions & { signalName?: string | null } = {},
  ) {
    const signalName = options.signalName ?? null;
    super(
      "step_timeout",
      signalName === null
        ? `Step "${stepName}" ran longer than its timeout of ${timeoutMs} ms`
        : `Step "${stepName}" waited ${timeoutMs} ms for the signal "${signalName}", and it did not come`,
      options,
    );
    this.timeoutMs = timeoutMs;
    this.signalName = signalName;
  }
}

/** Why a body is asked to stop; the reason of its `signal`. */
export type InterruptReason = "shutdown" | "lost_lease" | "paused" | "canceled";

/** The reason of a body's aborted `signal`: somebody asks it to stop. */
export class StepInterruptedError extends PawlError {
  /** Who asks. */
  readonly reason: InterruptReason;

  /** Makes the reason of an aborted signal. */
  constructor(reason: InterruptReason, message: string, options?: ErrorOptions) {
    super("step_interrupted", message, options);
    this.reason = reason;
  }
}

/** One worker after the other died while it ran a step; its workflow was paused. */
export class RecoveryLimitError extends PawlError {
  /** Makes the error; the message names the step. */
  constructor(message: string, options?: ErrorOptions) {
    super("recovery_limit", message, options);
  }
}

/** A body threw something that is not an `Error`; the value is the `cause`. */
export class ThrownValueError extends PawlError {
  /** Wraps a thrown value. */
  constructor(value: unknown) {
    super("thrown_value", `A value that is not an Error was thrown: ${describe(value)}`, {
      cause: value,
    });
  }
}

/** An `onException` handler itself threw; the error it was handling is in `original`. */
export class ExceptionHandlerError extends PawlError {
  /** The error that the handler was given. */
  readonly original: Error;

  /** Makes the error from what the handler threw and what it was handling. */
  constructor(thrown: unknown, original: Error, what: string = "The onException handler") {
    const message = thrown instanceof Error ? thrown.message : describe(thrown);
    super("handler_failed", `${what} failed: ${message}`, { cause: original });
    this.original = original;
  }
}

/** The database's schema is not the one this version needs, or could not be made so. */
export class MigrationError extends PawlError {
  /** Makes the error; the message says what to do. */
  constructor(message: string, options?: ErrorOptions) {
    super("migration", message, options);
  }
}

/** The store cannot do what was asked; the message names the driver and the way out. */
export class StoreError extends PawlError {
  /** The driver's name. */
  readonly driver: string;
  /** True when the write may have been committed all the same: its answer was lost on the way. */
  readonly uncertain: boolean;
  /** True when the database refused a value or a row, and would refuse it again. */
  readonly refused: boolean;

  /** Makes the error for one driver; `uncertain` when nobody knows whether the write happened. */
  constructor(
    driver: string,
    message: string,
    options: ErrorOptions & { uncertain?: boolean; refused?: boolean } = {},
  ) {
    super("store", `[${driver}] ${message}`, options);
    this.driver = driver;
    this.uncertain = options.uncertain ?? false;
    this.refused = options.refused ?? false;
  }
}

function describe(value: unknown): string {
  try {
    if (typeof value === "string") return JSON.stringify(value.slice(0, 200));
    return String(value).slice(0, 200);
  } catch {
    return typeof value;
  }
}
