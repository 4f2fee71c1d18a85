-- The tables of Pawl on PostgreSQL 12 and newer. A statement ends with a semicolon at the end of a
-- line.
--
-- Times are timestamptz, because people read these tables in SQL: they are always whole
-- milliseconds, and to read one as a number (date_part) takes 0.05 µs longer than to read a bigint,
-- which is lost in the 10 µs that a row takes. JSON is jsonb. Text that is compared has the
-- collation "C": it compares bytes, which is exact and quick, and no update of the operating
-- system's locales can damage an index on it.

DO $$ BEGIN IF '{{schema}}' <> '' AND to_regnamespace(rtrim('{{schema}}', '.')) IS NULL THEN EXECUTE 'CREATE SCHEMA ' || rtrim('{{schema}}', '.'); END IF; END $$;

CREATE TABLE IF NOT EXISTS {{schema}}{{prefix}}schema (
  name text COLLATE "C" NOT NULL PRIMARY KEY,
  checksum text NOT NULL,
  breaking smallint NOT NULL,
  key_type text NOT NULL CHECK (key_type IN ('bigint', 'uuid')),
  applied_at timestamptz NOT NULL
);

-- Every step moves the workflow's pointers: the free room lets that be a heap-only update, which
-- touches no index.
CREATE TABLE IF NOT EXISTS {{schema}}{{prefix}}workflows (
  id {{id}},
  name text COLLATE "C" NOT NULL,
  hero_type text COLLATE "C",
  hero_id text COLLATE "C",
  state text COLLATE "C" NOT NULL
    CHECK (state IN ('ready', 'performing', 'paused', 'finished', 'canceled')),
  current_step_name text,
  next_step_name text COLLATE "C",
  allow_multiple boolean NOT NULL,
  input jsonb,
  metadata jsonb,
  job_options jsonb,
  traceparent text,
  started_at timestamptz,
  transitioned_at timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

-- A hero has one ongoing workflow of a name, unless it may have several.
CREATE UNIQUE INDEX IF NOT EXISTS {{prefix}}workflows_ongoing
  ON {{schema}}{{prefix}}workflows (name, hero_type, hero_id)
  WHERE state NOT IN ('finished', 'canceled') AND NOT allow_multiple AND hero_id IS NOT NULL;

-- Lists, newest first: by hero, by name and state (which also counts), by state.
CREATE INDEX IF NOT EXISTS {{prefix}}workflows_hero
  ON {{schema}}{{prefix}}workflows (hero_id, hero_type, id)
  WHERE hero_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS {{prefix}}workflows_name
  ON {{schema}}{{prefix}}workflows (name, state, id);
CREATE INDEX IF NOT EXISTS {{prefix}}workflows_state
  ON {{schema}}{{prefix}}workflows (state, id);

-- Purging finds the longest ended of a name first.
CREATE INDEX IF NOT EXISTS {{prefix}}workflows_ended
  ON {{schema}}{{prefix}}workflows (name, transitioned_at)
  WHERE state IN ('finished', 'canceled');

CREATE TABLE IF NOT EXISTS {{schema}}{{prefix}}step_executions (
  id {{id}},
  workflow_id {{key}} NOT NULL REFERENCES {{schema}}{{prefix}}workflows (id) ON DELETE CASCADE,
  seq integer NOT NULL,
  step_name text NOT NULL,
  state text COLLATE "C" NOT NULL CHECK (
    state IN ('scheduled', 'in_progress', 'completed', 'failed', 'canceled', 'skipped')
  ),
  outcome text,
  cause text,
  attempt integer NOT NULL,
  failures integer NOT NULL,
  continues_from_id {{key}}
    REFERENCES {{schema}}{{prefix}}step_executions (id) ON DELETE SET NULL,
  cursor_value jsonb,
  progress_done double precision,
  progress_total double precision,
  progress_message text,
  waiting_for text,
  wait_until timestamptz,
  scheduled_for timestamptz NOT NULL,
  wake_at timestamptz,
  token text COLLATE "C",
  lease_until timestamptz,
  worker text,
  started_at timestamptz,
  completed_at timestamptz,
  failed_at timestamptz,
  canceled_at timestamptz,
  skipped_at timestamptz,
  finished_at timestamptz,
  error_class text,
  error_message text,
  error_stack text,
  metadata jsonb,
  job_id text,
  queue text COLLATE "C" NOT NULL,
  priority integer NOT NULL,
  created_at timestamptz NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05);

-- A workflow has one active execution.
CREATE UNIQUE INDEX IF NOT EXISTS {{prefix}}step_executions_active
  ON {{schema}}{{prefix}}step_executions (workflow_id)
  WHERE state IN ('scheduled', 'in_progress');

-- The live work in lanes of one state, queue and priority, each in the order of waking: polling,
-- lost jobs and dead leases. History is not in it.
CREATE INDEX IF NOT EXISTS {{prefix}}step_executions_live
  ON {{schema}}{{prefix}}step_executions (state, queue, priority, wake_at)
  WHERE wake_at IS NOT NULL;

-- What is due, whatever the grace of its queue.
CREATE INDEX IF NOT EXISTS {{prefix}}step_executions_due
  ON {{schema}}{{prefix}}step_executions (scheduled_for)
  WHERE state = 'scheduled' AND wake_at IS NOT NULL;

-- How many ended when, and how: charts read nothing but this.
CREATE INDEX IF NOT EXISTS {{prefix}}step_executions_ended
  ON {{schema}}{{prefix}}step_executions (finished_at, state, outcome)
  WHERE finished_at IS NOT NULL;

CREATE UNIQUE INDEX IF NOT EXISTS {{prefix}}step_executions_history
  ON {{schema}}{{prefix}}step_executions (workflow_id, seq);

-- Without it every deleted execution would look through the whole table for its successors.
CREATE INDEX IF NOT EXISTS {{prefix}}step_executions_chain
  ON {{schema}}{{prefix}}step_executions (continues_from_id)
  WHERE continues_from_id IS NOT NULL;

CREATE TABLE IF NOT EXISTS {{schema}}{{prefix}}signals (
  id {{id}},
  workflow_id {{key}} NOT NULL REFERENCES {{schema}}{{prefix}}workflows (id) ON DELETE CASCADE,
  name text COLLATE "C" NOT NULL,
  payload jsonb,
  idempotency_key text COLLATE "C",
  sent_at timestamptz NOT NULL,
  consumed_by_id {{key}}
);

-- A key is one signal; without a key each is its own.
CREATE UNIQUE INDEX IF NOT EXISTS {{prefix}}signals_key
  ON {{schema}}{{prefix}}signals (workflow_id, idempotency_key);

-- The oldest kept signal of a name.
CREATE INDEX IF NOT EXISTS {{prefix}}signals_kept
  ON {{schema}}{{prefix}}signals (workflow_id, name, sent_at)
  WHERE consumed_by_id IS NULL;
