-- The chain. canonical holds the exact bytes that were hashed: a blob, for engines rewrite JSON. seq is given out under the
-- lock of ledger_head, never by AUTO_INCREMENT, which leaves gaps; its uniqueness, and that of prev_hash, keep a failed
-- lock from forking the chain.

CREATE TABLE IF NOT EXISTS receipts (
  seq BIGINT NOT NULL,
  hash CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  prev_hash CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  canonical MEDIUMBLOB NOT NULL,
  PRIMARY KEY (seq),
  UNIQUE KEY receipts_prev_hash (prev_hash)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- One row, locked by whoever appends. ts is the newest receipt's, in milliseconds since 1970 (UTC).
CREATE TABLE IF NOT EXISTS ledger_head (
  id INT NOT NULL,
  seq BIGINT NOT NULL,
  hash CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  ts BIGINT NOT NULL,
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

INSERT IGNORE INTO ledger_head (id, seq, hash, ts) VALUES (1, 0, REPEAT('0', 64), 0);

-- One row: the date that is city_day 1, and the date of the first receipt, from which on days are sealed.
CREATE TABLE IF NOT EXISTS ledger_epoch (
  id INT NOT NULL,
  epoch CHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  first_day CHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What was sealed already: a row is inserted in the transaction of its receipt.
CREATE TABLE IF NOT EXISTS ledger_days (
  date CHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  seq BIGINT NOT NULL,
  PRIMARY KEY (date)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS ledger_sessions (
  book VARBINARY(256) NOT NULL,
  session CHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  seq BIGINT NOT NULL,
  PRIMARY KEY (book, session)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TRIGGER IF NOT EXISTS receipts_are_not_updated BEFORE UPDATE ON receipts FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'receipts are append-only';

CREATE TRIGGER IF NOT EXISTS receipts_are_not_deleted BEFORE DELETE ON receipts FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'receipts are append-only';
