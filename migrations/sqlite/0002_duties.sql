-- Duties that one worker of all does, such as housekeeping: whoever holds one until when.

CREATE TABLE IF NOT EXISTS {{prefix}}duties (
  name TEXT NOT NULL PRIMARY KEY,
  holder TEXT,
  held_until INTEGER NOT NULL
) STRICT;

INSERT OR IGNORE INTO {{prefix}}duties (name, holder, held_until) VALUES ('housekeeping', NULL, 0);
