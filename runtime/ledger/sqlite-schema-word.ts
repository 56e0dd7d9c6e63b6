/** A step of the embedded store's tables, beside the others for its length. */

/**
 * What the rail says: its messages, what moved without us, how far its list was read, and by which names of the rail's a
 * payment is meant. Refunds of before this step are found by the rail's id of them alone: their keys derive by a hash.
 */
export const THE_RAILS_WORD = `
CREATE TABLE messages (
  organisation TEXT NOT NULL,
  rail TEXT NOT NULL,
  id TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('parked', 'done')),
  due_at INTEGER NOT NULL CHECK (due_at >= 0),
  record TEXT NOT NULL CHECK (json_valid(record)),
  PRIMARY KEY (organisation, rail, id)
) STRICT;
CREATE INDEX messages_parked ON messages (organisation, due_at, rail, id) WHERE state = 'parked';
CREATE TRIGGER messages_done BEFORE UPDATE ON messages
WHEN OLD.state = 'done' AND NEW.state <> 'done' BEGIN
  SELECT RAISE(ABORT, 'a message that is done stays done');
END;

CREATE TABLE outsides (
  organisation TEXT NOT NULL,
  id TEXT NOT NULL,
  open INTEGER NOT NULL CHECK (open IN (0, 1)),
  heard_at INTEGER NOT NULL CHECK (heard_at >= 0),
  record TEXT NOT NULL CHECK (json_valid(record)),
  PRIMARY KEY (organisation, id)
) STRICT;
CREATE INDEX outsides_open ON outsides (organisation, heard_at, id) WHERE open = 1;

CREATE TABLE walks (
  organisation TEXT NOT NULL,
  rail TEXT NOT NULL,
  record TEXT NOT NULL CHECK (json_valid(record)),
  PRIMARY KEY (organisation, rail)
) STRICT, WITHOUT ROWID;

CREATE TABLE rail_names (
  organisation TEXT NOT NULL,
  name TEXT NOT NULL,
  payment TEXT NOT NULL,
  PRIMARY KEY (organisation, name, payment)
) STRICT, WITHOUT ROWID;
INSERT INTO rail_names
  SELECT organisation, 'key ' || json_extract(record, '$.railKey'), id FROM payments;
INSERT OR IGNORE INTO rail_names
  SELECT organisation, 'reference ' || json_extract(record, '$.railReference'), id FROM payments
  WHERE json_extract(record, '$.railReference') IS NOT NULL;
INSERT OR IGNORE INTO rail_names
  SELECT payments.organisation, 'reference ' || json_extract(back.value, '$.id'), payments.id
  FROM payments, json_each(payments.record, '$.reversals') AS back;
`
