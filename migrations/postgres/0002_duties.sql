-- Duties that one worker of all does, such as housekeeping: whoever holds one until when.

CREATE TABLE IF NOT EXISTS {{schema}}{{prefix}}duties (
  name text COLLATE "C" NOT NULL PRIMARY KEY,
  holder text,
  held_until timestamptz NOT NULL
);

INSERT INTO {{schema}}{{prefix}}duties (name, holder, held_until)
  VALUES ('housekeeping', NULL, '1970-01-01T00:00:00Z') ON CONFLICT DO NOTHING;
