-- The tables of Pawl on SQLite. A statement ends with a semicolon at the end of a line.
-- Times are epoch milliseconds; JSON is text that only the engine reads. AUTOINCREMENT, because an
-- execution's id is an idempotency key to the outside: a purge must never let one come again.

CREATE TABLE {{prefix}}schema (
  name TEXT NOT NULL PRIMARY KEY,
  checksum TEXT NOT NULL,
  breaking INTEGER NOT NULL,
  applied_at INTEGER NOT NULL
) STRICT;

CREATE TABLE {{prefix}}workflows (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  hero_type TEXT,
  hero_id TEXT,
  state TEXT NOT NULL CHECK (state IN ('ready', 'performing', 'paused', 'finished', 'canceled')),
  current_step_name TEXT,
  next_step_name TEXT,
  allow_multiple INTEGER NOT NULL CHECK (allow_multiple IN (0, 1)),
  input TEXT,
  metadata TEXT,
  job_options TEXT,
  traceparent TEXT,
  started_at INTEGER,
  transitioned_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;

-- A hero has one ongoing workflow of a name, unless it may have several.
CREATE UNIQUE INDEX {{prefix}}workflows_ongoing
  ON {{prefix}}workflows (name, hero_type, hero_id)
  WHERE state NOT IN ('finished', 'canceled') AND allow_multiple = 0 AND hero_id IS NOT NULL;

-- Lists: by hero, and by name and state (which also counts).
CREATE INDEX {{prefix}}workflows_hero ON {{prefix}}workflows (hero_id, hero_type);
CREATE INDEX {{prefix}}workflows_state ON {{prefix}}workflows (name, state);

-- Purging finds the longest ended first.
CREATE INDEX {{prefix}}workflows_ended
  ON {{prefix}}workflows (transitioned_at)
  WHERE state IN ('finished', 'canceled');

CREATE TABLE {{prefix}}step_executions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  workflow_id INTEGER NOT NULL REFERENCES {{prefix}}workflows (id) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  step_name TEXT NOT NULL,
  state TEXT NOT NULL CHECK (
    state IN ('scheduled', 'in_progress', 'completed', 'failed', 'canceled', 'skipped')
  ),
  outcome TEXT,
  cause TEXT,
  attempt INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  continues_from_id INTEGER REFERENCES {{prefix}}step_executions (id) ON DELETE SET NULL,
  cursor_value TEXT,
  progress_done REAL,
  progress_total REAL,
  progress_message TEXT,
  waiting_for TEXT,
  wait_until INTEGER,
  scheduled_for INTEGER NOT NULL,
  wake_at INTEGER,
  token TEXT,
  lease_until INTEGER,
  worker TEXT,
  started_at INTEGER,
  completed_at INTEGER,
  failed_at INTEGER,
  canceled_at INTEGER,
  skipped_at INTEGER,
  finished_at INTEGER,
  error_class TEXT,
  error_message TEXT,
  error_stack TEXT,
  metadata TEXT,
  job_id TEXT,
  queue TEXT NOT NULL,
  priority INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

-- A workflow has one active execution.
CREATE UNIQUE INDEX {{prefix}}step_executions_active
  ON {{prefix}}step_executions (workflow_id)
  WHERE state IN ('scheduled', 'in_progress');

-- The live work: polling, lost jobs and dead leases. History is not in it.
CREATE INDEX {{prefix}}step_executions_live
  ON {{prefix}}step_executions (queue, priority, wake_at)
  WHERE wake_at IS NOT NULL;

-- What is due, whatever the grace of its queue.
CREATE INDEX {{prefix}}step_executions_due
  ON {{prefix}}step_executions (scheduled_for)
  WHERE state = 'scheduled' AND wake_at IS NOT NULL;

CREATE UNIQUE INDEX {{prefix}}step_executions_history
  ON {{prefix}}step_executions (workflow_id, seq);

-- Without it every deleted execution would look through the whole table for its successors.
CREATE INDEX {{prefix}}step_executions_chain
  ON {{prefix}}step_executions (continues_from_id)
  WHERE continues_from_id IS NOT NULL;

CREATE TABLE {{prefix}}signals (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  workflow_id INTEGER NOT NULL REFERENCES {{prefix}}workflows (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  payload TEXT,
  idempotency_key TEXT,
  sent_at INTEGER NOT NULL,
  consumed_by_id INTEGER
) STRICT;

-- A key is one signal; without a key each is its own.
CREATE UNIQUE INDEX {{prefix}}signals_key ON {{prefix}}signals (workflow_id, idempotency_key);

-- The oldest kept signal of a name.
CREATE INDEX {{prefix}}signals_kept
  ON {{prefix}}signals (workflow_id, name, sent_at)
  WHERE consumed_by_id IS NULL;
