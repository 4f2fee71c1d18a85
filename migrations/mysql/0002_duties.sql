-- Duties that one worker of all does, such as housekeeping: whoever holds one until when.

CREATE TABLE IF NOT EXISTS {{prefix}}duties (
  name VARCHAR(255) NOT NULL PRIMARY KEY,
  holder VARCHAR(255),
  held_until DATETIME(3) NOT NULL
) {{text}};

INSERT IGNORE INTO {{prefix}}duties (name, holder, held_until)
  VALUES ('housekeeping', NULL, '1970-01-01 00:00:00.000');
