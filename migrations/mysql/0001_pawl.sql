-- The tables of Pawl on MySQL (8.0.17 and newer) and MariaDB (10.6 and newer). A statement ends with
-- a semicolon at the end of a line. DDL commits by itself here, so each statement can be run again:
-- all indexes are part of their table, because MySQL has no CREATE INDEX IF NOT EXISTS.
--
-- Times are DATETIME(3) in UTC, whatever the time zone of a session: readable at three in the
-- morning, exact to the millisecond, and a byte shorter in every index than epoch milliseconds.
-- JSON is LONGTEXT that only the engine reads: MySQL's JSON type sorts keys and rounds numbers. All
-- other text that no index holds is LONGTEXT too: some modes of the server cut what is too long.
-- Text compares exactly, also its case, its accents and its trailing spaces. No collation does that
-- on both servers, so each reads its own out of the version comments at the end of a table.

CREATE TABLE IF NOT EXISTS {{prefix}}schema (
  name VARCHAR(255) NOT NULL PRIMARY KEY,
  checksum VARCHAR(64) NOT NULL,
  breaking TINYINT NOT NULL,
  key_type VARCHAR(10) NOT NULL CHECK (key_type IN ('bigint', 'uuid')),
  applied_at DATETIME(3) NOT NULL
) {{text}};

-- `ongoing` stands for a partial index: it is 1 for a workflow that occupies its hero's place, and
-- null, which no unique index minds, for all others. `creation` marks the rows of one batch, so that
-- the keys that the database made for them can be read back.
CREATE TABLE IF NOT EXISTS {{prefix}}workflows (
  id {{id}},
  name VARCHAR(255) NOT NULL,
  hero_type VARCHAR(255),
  hero_id VARCHAR(255),
  state VARCHAR(20) NOT NULL
    CHECK (state IN ('ready', 'performing', 'paused', 'finished', 'canceled')),
  current_step_name VARCHAR(255),
  next_step_name VARCHAR(255),
  allow_multiple TINYINT NOT NULL CHECK (allow_multiple IN (0, 1)),
  input LONGTEXT,
  metadata LONGTEXT,
  job_options LONGTEXT,
  traceparent LONGTEXT,
  started_at DATETIME(3),
  transitioned_at DATETIME(3),
  created_at DATETIME(3) NOT NULL,
  updated_at DATETIME(3) NOT NULL,
  creation VARCHAR(60),
  ongoing TINYINT AS (
    CASE WHEN state NOT IN ('finished', 'canceled') AND allow_multiple = 0 THEN 1 END
  ) STORED,
  -- A hero has one ongoing workflow of a name, unless it may have several. Three names of 255
  -- characters of four bytes are 3,060 bytes; an index holds 3,072.
  UNIQUE KEY ongoing (name, hero_type, hero_id, ongoing),
  -- Lists, newest first: by hero, by name and state (which also counts), by state.
  KEY hero (hero_id, hero_type, id),
  KEY name_state (name, state, id),
  KEY state (state, id),
  -- Purging finds the longest ended of a name first.
  KEY ended (name, transitioned_at)
) {{text}};

-- `active` does for executions what `ongoing` does for workflows. It is made from the state alone:
-- MySQL allows no cascade on a column that a stored column is made from.
CREATE TABLE IF NOT EXISTS {{prefix}}step_executions (
  id {{id}},
  workflow_id {{key}} NOT NULL,
  seq INT NOT NULL,
  step_name VARCHAR(255) NOT NULL,
  state VARCHAR(20) NOT NULL CHECK (
    state IN ('scheduled', 'in_progress', 'completed', 'failed', 'canceled', 'skipped')
  ),
  outcome VARCHAR(20),
  cause VARCHAR(20),
  attempt BIGINT NOT NULL,
  failures BIGINT NOT NULL,
  continues_from_id {{key}},
  cursor_value LONGTEXT,
  progress_done DOUBLE,
  progress_total DOUBLE,
  progress_message LONGTEXT,
  waiting_for VARCHAR(255),
  wait_until DATETIME(3),
  scheduled_for DATETIME(3) NOT NULL,
  wake_at DATETIME(3),
  token VARCHAR(255),
  lease_until DATETIME(3),
  worker VARCHAR(255),
  started_at DATETIME(3),
  completed_at DATETIME(3),
  failed_at DATETIME(3),
  canceled_at DATETIME(3),
  skipped_at DATETIME(3),
  finished_at DATETIME(3),
  error_class LONGTEXT,
  error_message LONGTEXT,
  error_stack LONGTEXT,
  metadata LONGTEXT,
  job_id LONGTEXT,
  queue VARCHAR(255) NOT NULL,
  priority BIGINT NOT NULL,
  created_at DATETIME(3) NOT NULL,
  active TINYINT AS (CASE WHEN state IN ('scheduled', 'in_progress') THEN 1 END) STORED,
  -- A workflow has one active execution.
  UNIQUE KEY active (workflow_id, active),
  UNIQUE KEY history (workflow_id, seq),
  -- The live work in lanes of one state, queue and priority, each in the order of waking: polling,
  -- lost jobs and dead leases. History is in it too, but under states that nobody looks for.
  KEY live (state, queue, priority, wake_at),
  -- What is due, whatever the grace of its queue.
  KEY due (state, scheduled_for),
  -- How many ended when, and how: charts read nothing but this.
  KEY ended (finished_at, state, outcome),
  KEY chain (continues_from_id),
  FOREIGN KEY (workflow_id) REFERENCES {{prefix}}workflows (id) ON DELETE CASCADE,
  FOREIGN KEY (continues_from_id) REFERENCES {{prefix}}step_executions (id) ON DELETE SET NULL
) {{text}};

CREATE TABLE IF NOT EXISTS {{prefix}}signals (
  id {{id}},
  workflow_id {{key}} NOT NULL,
  name VARCHAR(255) NOT NULL,
  payload LONGTEXT,
  idempotency_key VARCHAR(255),
  sent_at DATETIME(3) NOT NULL,
  consumed_by_id {{key}},
  -- A key is one signal; without a key each is its own.
  UNIQUE KEY known (workflow_id, idempotency_key),
  -- The oldest kept signal of a name.
  KEY kept (workflow_id, name, consumed_by_id, sent_at),
  FOREIGN KEY (workflow_id) REFERENCES {{prefix}}workflows (id) ON DELETE CASCADE
) {{text}};
