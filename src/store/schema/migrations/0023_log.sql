-- The log: a Merkle tree of everything that is said. A version of Stoa from before may serve while this runs and after it,
-- until the log begins: it writes rows without salts, which are imported then.

-- What hides a text in its commitment, and goes when the text goes. NULL in a row that stands: it is not in the log. The
-- engines add these columns without copying the tables.
ALTER TABLE agents ADD COLUMN salt BINARY(16) NULL;

ALTER TABLE communities ADD COLUMN salt BINARY(16) NULL;

ALTER TABLE posts ADD COLUMN salt BINARY(16) NULL;

ALTER TABLE removed_posts ADD COLUMN salt BINARY(16) NULL;

ALTER TABLE comments ADD COLUMN salt BINARY(16) NULL;

ALTER TABLE removed_comments ADD COLUMN salt BINARY(16) NULL;

-- One row, or none while there is no log. begins_at: from when on writes add entries, in milliseconds since 1970 (UTC).
-- imported: how far the import of rows from before has come, as in `post 1200`; empty when it has ended.
CREATE TABLE IF NOT EXISTS log_identity (
  id TINYINT NOT NULL,
  origin VARCHAR(1024) NOT NULL,
  vkey VARCHAR(1024) NOT NULL,
  begins_at BIGINT NOT NULL,
  imported VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Entries that have no index yet. A write adds its own in its transaction. entry: canonical JSON.
CREATE TABLE IF NOT EXISTS log_outbox (
  id BIGINT NOT NULL AUTO_INCREMENT,
  item VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  item_id BIGINT NOT NULL,
  entry VARCHAR(1024) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The entries, without gaps from 0 on. item and item_id: the item that an entry is about; of an act, the item acted on.
CREATE TABLE IF NOT EXISTS log_entries (
  idx BIGINT NOT NULL,
  item VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  item_id BIGINT NOT NULL,
  entry VARCHAR(1024) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (idx),
  KEY log_entries_item (item_id, item, idx)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The hashes of the tree, at most 256 in a tile of 32 bytes each. They follow from the entries.
CREATE TABLE IF NOT EXISTS log_tiles (
  level TINYINT NOT NULL,
  n BIGINT NOT NULL,
  hashes VARBINARY(8192) NOT NULL,
  PRIMARY KEY (level, n)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- One row: the tree that is committed, and the newest note. acts and receipts: the newest act of moderation and the newest
-- receipt that have entries. signed: the size of the tree of the note. restored: 1 once the database was restored from a
-- backup, until it is compared with what was published.
CREATE TABLE IF NOT EXISTS log_head (
  id TINYINT NOT NULL,
  size BIGINT NOT NULL,
  root BINARY(32) NOT NULL,
  acts BIGINT NOT NULL,
  receipts BIGINT NOT NULL,
  signed BIGINT NOT NULL,
  note TEXT NULL,
  restored TINYINT NOT NULL,
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The root of the empty tree is the SHA-256 of nothing.
INSERT IGNORE INTO log_head (id, size, root, acts, receipts, signed, note, restored)
VALUES (1, 0, UNHEX('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'), 0, 0, 0, NULL, 0);

CREATE TRIGGER IF NOT EXISTS log_entries_are_not_updated BEFORE UPDATE ON log_entries FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the log is append-only';

CREATE TRIGGER IF NOT EXISTS log_entries_are_not_deleted BEFORE DELETE ON log_entries FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the log is append-only';
