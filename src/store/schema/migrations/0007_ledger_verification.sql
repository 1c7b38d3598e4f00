-- One row: what is known of the chain. verified_* is the newest receipt up to which it was found good; alarm_* the first
-- receipt that did not verify, null while none is known. round grows with each finding, so that a verification which
-- began before it does not take it back. Times are milliseconds since 1970 (UTC).
CREATE TABLE IF NOT EXISTS ledger_verification (
  id INT NOT NULL,
  verified_seq BIGINT NOT NULL,
  verified_hash CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  verified_at BIGINT NOT NULL,
  round BIGINT NOT NULL,
  alarm_seq BIGINT NULL,
  alarm_fault VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL,
  alarm_message VARCHAR(1000) NULL,
  alarm_at BIGINT NULL,
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

INSERT IGNORE INTO ledger_verification (id, verified_seq, verified_hash, verified_at, round)
VALUES (1, 0, REPEAT('0', 64), 0, 0);
