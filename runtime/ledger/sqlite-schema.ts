/**
 * The tables of the embedded store. The organisation stands in every table and every key. What the rules promise is
 * promised again here as constraints: conservation of money, one claim, one proof, chains that only grow.
 */

import { THE_RAILS_WORD } from './sqlite-schema-word.ts'

/** `HDGT`: tells a ledger from any other SQLite file. */
export const APPLICATION_ID = 0x48444754

const FIRST = `
CREATE TABLE runs (
  organisation TEXT NOT NULL,
  id TEXT NOT NULL,
  ordinal INTEGER NOT NULL,
  principal TEXT NOT NULL,
  jti TEXT NOT NULL,
  state TEXT NOT NULL
    CHECK (state IN ('running', 'cancelling', 'completed', 'failed', 'cancelled')),
  record TEXT NOT NULL CHECK (json_valid(record)),
  PRIMARY KEY (organisation, id),
  UNIQUE (organisation, ordinal),
  UNIQUE (organisation, principal, jti)
) STRICT;

CREATE TABLE nodes (
  organisation TEXT NOT NULL,
  id TEXT NOT NULL,
  ordinal INTEGER NOT NULL,
  run TEXT NOT NULL,
  parent TEXT NOT NULL,
  record TEXT NOT NULL CHECK (json_valid(record)),
  PRIMARY KEY (organisation, id),
  UNIQUE (organisation, ordinal),
  FOREIGN KEY (organisation, run) REFERENCES runs (organisation, id)
) STRICT;
CREATE INDEX nodes_of_run ON nodes (organisation, run, ordinal);
CREATE INDEX nodes_of_parent ON nodes (organisation, parent, ordinal);

CREATE TABLE accounts (
  organisation TEXT NOT NULL,
  node TEXT NOT NULL,
  run TEXT NOT NULL,
  ceiling INTEGER NOT NULL,
  available INTEGER NOT NULL CHECK (available >= 0),
  reserved INTEGER NOT NULL CHECK (reserved >= 0),
  spent INTEGER NOT NULL CHECK (spent >= 0),
  allotted INTEGER NOT NULL CHECK (allotted >= 0),
  nodes_left INTEGER NOT NULL CHECK (nodes_left >= 0),
  children INTEGER NOT NULL CHECK (children >= 0),
  open_children INTEGER NOT NULL CHECK (open_children BETWEEN 0 AND children),
  head_seq INTEGER NOT NULL CHECK (head_seq >= 1),
  head_hash TEXT NOT NULL CHECK (length(head_hash) = 43),
  PRIMARY KEY (organisation, node),
  FOREIGN KEY (organisation, node) REFERENCES nodes (organisation, id),
  CHECK (ceiling = available + reserved + spent + allotted)
) STRICT, WITHOUT ROWID;

CREATE TABLE standings (
  organisation TEXT NOT NULL,
  node TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('live', 'frozen', 'revoked', 'closing', 'closed')),
  version INTEGER NOT NULL CHECK (version >= 1),
  PRIMARY KEY (organisation, node)
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
  organisation TEXT NOT NULL,
  node TEXT NOT NULL,
  token TEXT NOT NULL,
  PRIMARY KEY (organisation, node)
) STRICT;

CREATE TABLE payments (
  organisation TEXT NOT NULL,
  id TEXT NOT NULL,
  ordinal INTEGER NOT NULL,
  run TEXT NOT NULL,
  node TEXT NOT NULL,
  state TEXT NOT NULL
    CHECK (state IN ('reserved', 'submitted', 'settled', 'released', 'unknown')),
  amount INTEGER NOT NULL CHECK (amount >= 1),
  created_at INTEGER NOT NULL CHECK (created_at >= 0),
  record TEXT NOT NULL CHECK (json_valid(record)),
  PRIMARY KEY (organisation, id),
  UNIQUE (organisation, ordinal),
  FOREIGN KEY (organisation, node) REFERENCES nodes (organisation, id)
) STRICT;
CREATE INDEX payments_of_node ON payments (organisation, node, ordinal);
CREATE INDEX payments_of_run ON payments (organisation, run, created_at, ordinal);
CREATE INDEX payments_by_state ON payments (organisation, state, created_at, ordinal);

CREATE TABLE claims (
  organisation TEXT NOT NULL,
  issuer TEXT NOT NULL,
  jti TEXT NOT NULL,
  payment TEXT NOT NULL,
  PRIMARY KEY (organisation, issuer, jti)
) STRICT, WITHOUT ROWID;

CREATE TABLE proofs (
  organisation TEXT NOT NULL,
  holder TEXT NOT NULL,
  jti TEXT NOT NULL,
  attempt TEXT NOT NULL,
  expires_at INTEGER NOT NULL CHECK (expires_at >= 0),
  PRIMARY KEY (organisation, holder, jti)
) STRICT, WITHOUT ROWID;
CREATE INDEX proofs_by_expiry ON proofs (organisation, expires_at);

CREATE TABLE proof_counts (
  organisation TEXT NOT NULL PRIMARY KEY,
  count INTEGER NOT NULL CHECK (count >= 0)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER proofs_counted AFTER INSERT ON proofs BEGIN
  INSERT INTO proof_counts (organisation, count) VALUES (NEW.organisation, 1)
    ON CONFLICT (organisation) DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER proofs_forgotten AFTER DELETE ON proofs BEGIN
  UPDATE proof_counts SET count = count - 1 WHERE organisation = OLD.organisation;
END;

CREATE TABLE counters (
  organisation TEXT NOT NULL,
  key TEXT NOT NULL,
  count INTEGER NOT NULL CHECK (count >= 0),
  amount INTEGER NOT NULL CHECK (amount >= 0),
  PRIMARY KEY (organisation, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE holds (
  organisation TEXT NOT NULL,
  id TEXT NOT NULL,
  run TEXT NOT NULL,
  node TEXT NOT NULL,
  payment TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('open', 'approved', 'refused', 'consumed', 'expired')),
  expires_at INTEGER NOT NULL CHECK (expires_at >= 0),
  record TEXT NOT NULL CHECK (json_valid(record)),
  PRIMARY KEY (organisation, id),
  FOREIGN KEY (organisation, node) REFERENCES nodes (organisation, id)
) STRICT;
CREATE INDEX holds_of_payment ON holds (organisation, payment);
CREATE INDEX holds_of_run ON holds (organisation, run, state, expires_at);
CREATE INDEX holds_by_state ON holds (organisation, state, expires_at);

CREATE TABLE steps (
  organisation TEXT NOT NULL,
  node TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL CHECK (json_valid(value)),
  PRIMARY KEY (organisation, node, name)
) STRICT;

CREATE TABLE attempts (
  organisation TEXT NOT NULL,
  node TEXT NOT NULL,
  record TEXT NOT NULL CHECK (json_valid(record)),
  PRIMARY KEY (organisation, node)
) STRICT;

CREATE TABLE gateway_heads (
  organisation TEXT NOT NULL PRIMARY KEY,
  seq INTEGER NOT NULL CHECK (seq >= 1),
  hash TEXT NOT NULL CHECK (length(hash) = 43)
) STRICT;

CREATE TABLE events (
  organisation TEXT NOT NULL,
  stream TEXT NOT NULL,
  seq INTEGER NOT NULL CHECK (seq >= 1),
  prev TEXT NOT NULL CHECK (length(prev) = 43),
  hash TEXT NOT NULL CHECK (length(hash) = 43),
  body TEXT NOT NULL CHECK (json_valid(body)),
  PRIMARY KEY (organisation, stream, seq),
  UNIQUE (organisation, stream, prev)
) STRICT;
CREATE TRIGGER events_continue BEFORE INSERT ON events BEGIN
  SELECT RAISE(ABORT, 'an event must continue its stream')
  WHERE NEW.seq <> 1 + (
      SELECT coalesce(max(seq), 0) FROM events
      WHERE organisation = NEW.organisation AND stream = NEW.stream
    )
    OR (NEW.seq > 1 AND NEW.prev <> (
      SELECT hash FROM events
      WHERE organisation = NEW.organisation AND stream = NEW.stream AND seq = NEW.seq - 1
    ));
END;
CREATE TRIGGER events_unchanged BEFORE UPDATE ON events BEGIN
  SELECT RAISE(ABORT, 'an event is never changed');
END;
CREATE TRIGGER events_kept BEFORE DELETE ON events BEGIN
  SELECT RAISE(ABORT, 'an event is never deleted');
END;

CREATE TABLE feed (
  organisation TEXT NOT NULL,
  run TEXT NOT NULL,
  position INTEGER NOT NULL CHECK (position >= 1),
  stream TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (organisation, run, position),
  FOREIGN KEY (organisation, stream, seq) REFERENCES events (organisation, stream, seq)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER feed_continues BEFORE INSERT ON feed BEGIN
  SELECT RAISE(ABORT, 'a feed entry must take the next position')
  WHERE NEW.position <> 1 + (
    SELECT coalesce(max(position), 0) FROM feed
    WHERE organisation = NEW.organisation AND run = NEW.run
  );
END;
CREATE TRIGGER feed_unchanged BEFORE UPDATE ON feed BEGIN
  SELECT RAISE(ABORT, 'a feed entry is never changed');
END;
CREATE TRIGGER feed_kept BEFORE DELETE ON feed BEGIN
  SELECT RAISE(ABORT, 'a feed entry is never deleted');
END;

CREATE TABLE pings (
  organisation TEXT NOT NULL PRIMARY KEY,
  count INTEGER NOT NULL
) STRICT;
`

/** What is known of proofs that are kept no more: only ones that expire later can still be told apart from them. */
const FORGOTTEN_PROOFS = `
ALTER TABLE proof_counts ADD COLUMN forgotten_until INTEGER NOT NULL DEFAULT 0;
DROP TRIGGER proofs_forgotten;
CREATE TRIGGER proofs_forgotten AFTER DELETE ON proofs BEGIN
  UPDATE proof_counts
    SET count = count - 1, forgotten_until = max(forgotten_until, OLD.expires_at)
    WHERE organisation = OLD.organisation;
END;
`

/** `INSERT OR REPLACE` deletes whatever has the same rowid, and no trigger of ours is told of it. */
const EVENTS_IN_THEIR_PLACE = `
CREATE TRIGGER events_in_their_place BEFORE INSERT ON events
WHEN EXISTS (SELECT 1 FROM events WHERE rowid = NEW.rowid) BEGIN
  SELECT RAISE(ABORT, 'an event is never replaced');
END;
CREATE INDEX runs_unsealed ON runs (organisation, id)
  WHERE json_extract(record, '$.seal') IS NULL;
`

/** What of `spent` came back late. */
const REVERSED = `
ALTER TABLE accounts ADD COLUMN reversed INTEGER NOT NULL DEFAULT 0
  CHECK (reversed BETWEEN 0 AND spent);
`

/** Payments with a refund that has no end yet: few at any time, and asked for in every round. */
const REFUNDING = `
CREATE INDEX payments_refunding ON payments (organisation, created_at, ordinal)
  WHERE json_extract(record, '$.refunding') = 1;
`

/**
 * No event is added but right behind its own predecessor, so none has two successors, and the index that promised this
 * once more was one more page to write for each event. Last attempts lie by node, without a second tree to find them by.
 */
const CHAINED_ONCE = `
CREATE TABLE events_chained (
  organisation TEXT NOT NULL,
  stream TEXT NOT NULL,
  seq INTEGER NOT NULL CHECK (seq >= 1),
  prev TEXT NOT NULL CHECK (length(prev) = 43),
  hash TEXT NOT NULL CHECK (length(hash) = 43),
  body TEXT NOT NULL CHECK (json_valid(body)),
  PRIMARY KEY (organisation, stream, seq)
) STRICT;
INSERT INTO events_chained SELECT organisation, stream, seq, prev, hash, body FROM events
  ORDER BY rowid;
DROP TABLE events;
ALTER TABLE events_chained RENAME TO events;
CREATE TRIGGER events_continue BEFORE INSERT ON events
WHEN EXISTS (SELECT 1 FROM events WHERE rowid = NEW.rowid) OR EXISTS (
    SELECT 1 FROM events
    WHERE organisation = NEW.organisation AND stream = NEW.stream AND seq = NEW.seq
  ) OR (NEW.seq > 1 AND NOT EXISTS (
    SELECT 1 FROM events
    WHERE organisation = NEW.organisation AND stream = NEW.stream AND seq = NEW.seq - 1
      AND hash = NEW.prev
  )) BEGIN
  SELECT RAISE(ABORT, 'an event must continue its stream, and none is ever replaced');
END;
CREATE TRIGGER events_unchanged BEFORE UPDATE ON events BEGIN
  SELECT RAISE(ABORT, 'an event is never changed');
END;
CREATE TRIGGER events_kept BEFORE DELETE ON events BEGIN
  SELECT RAISE(ABORT, 'an event is never deleted');
END;

DROP TRIGGER feed_continues;
CREATE TRIGGER feed_continues BEFORE INSERT ON feed
WHEN EXISTS (
    SELECT 1 FROM feed
    WHERE organisation = NEW.organisation AND run = NEW.run AND position = NEW.position
  ) OR (NEW.position > 1 AND NOT EXISTS (
    SELECT 1 FROM feed
    WHERE organisation = NEW.organisation AND run = NEW.run AND position = NEW.position - 1
  )) BEGIN
  SELECT RAISE(ABORT, 'a feed entry must take the next position');
END;

CREATE TABLE attempts_by_node (
  organisation TEXT NOT NULL,
  node TEXT NOT NULL,
  record TEXT NOT NULL CHECK (json_valid(record)),
  PRIMARY KEY (organisation, node)
) STRICT, WITHOUT ROWID;
INSERT INTO attempts_by_node SELECT organisation, node, record FROM attempts
  ORDER BY organisation, node;
DROP TABLE attempts;
ALTER TABLE attempts_by_node RENAME TO attempts;
`

/** Money that a rail holds for one payee of a run: never more is drawn from it than it has. */
const AUTHORISATIONS = `
CREATE TABLE authorisations (
  organisation TEXT NOT NULL,
  id TEXT NOT NULL,
  ordinal INTEGER NOT NULL,
  run TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('placing', 'open', 'voiding', 'voided', 'failed')),
  amount INTEGER NOT NULL CHECK (amount >= 1),
  drawn INTEGER NOT NULL CHECK (drawn BETWEEN 0 AND amount),
  record TEXT NOT NULL CHECK (json_valid(record)),
  PRIMARY KEY (organisation, id),
  UNIQUE (organisation, ordinal),
  FOREIGN KEY (organisation, run) REFERENCES runs (organisation, id)
) STRICT;
CREATE INDEX authorisations_of_run ON authorisations (organisation, run, ordinal);
CREATE INDEX authorisations_open ON authorisations (organisation, ordinal)
  WHERE state IN ('placing', 'open', 'voiding');
`

/** Which quotes the lookers of a run were given: what a leaf of it presents is its own finding, or it is not. */
const SIGHTINGS = `
CREATE TABLE sightings (
  organisation TEXT NOT NULL,
  run TEXT NOT NULL,
  quote TEXT NOT NULL CHECK (length(quote) = 43),
  node TEXT NOT NULL,
  merchant TEXT NOT NULL,
  seen_at INTEGER NOT NULL CHECK (seen_at >= 0),
  PRIMARY KEY (organisation, run, quote),
  FOREIGN KEY (organisation, run) REFERENCES runs (organisation, id)
) STRICT, WITHOUT ROWID;
`

/** What makes version n of the tables from version n - 1, in order. A step that was once released never changes. */
const STEPS: readonly string[] = [
  FIRST,
  FORGOTTEN_PROOFS,
  EVENTS_IN_THEIR_PLACE,
  REVERSED,
  REFUNDING,
  CHAINED_ONCE,
  AUTHORISATIONS,
  THE_RAILS_WORD,
  SIGHTINGS,
]

/** Written to `user_version`; a file with a higher one was made by a newer program. */
export const SCHEMA_VERSION = STEPS.length

/**
 * What brings a file of that version, 0 for an empty one, up to this program's or to an earlier one: all of it or
 * nothing. A table that others refer to can only be made anew while nobody looks at the references.
 */
export const migrationFrom = (version: number, to = SCHEMA_VERSION): string => `
  PRAGMA foreign_keys = OFF;
  BEGIN IMMEDIATE;
  ${STEPS.slice(version, to).join('')}
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${to};
  COMMIT;
  PRAGMA foreign_keys = ON;`
