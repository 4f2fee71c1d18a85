/**
 * All commands, in the order in which the help lists them.
 *
 * @module
 */

import type { Command } from "../command.ts";
import { checkCommand } from "./check.ts";
import { dashboardCommand } from "./dashboard.ts";
import { failuresCommand } from "./failures.ts";
import { housekeepCommand } from "./housekeep.ts";
import { listCommand } from "./list.ts";
import { migrateCommand } from "./migrate.ts";
import { resumeAtCommand } from "./resume_at.ts";
import { showCommand } from "./show.ts";
import { signalCommand } from "./signal.ts";
import { statusCommand } from "./status.ts";
import { cancelCommand, pauseCommand, resumeCommand, skipCommand } from "./steer.ts";
import { workerCommand } from "./worker.ts";

/** All commands. */
export const COMMANDS: readonly Command[] = [
  migrateCommand,
  workerCommand,
  checkCommand,
  statusCommand,
  listCommand,
  showCommand,
  failuresCommand,
  pauseCommand,
  resumeCommand,
  skipCommand,
  cancelCommand,
  resumeAtCommand,
  signalCommand,
  housekeepCommand,
  dashboardCommand,
];
