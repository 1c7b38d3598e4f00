-- What an operator has said of the clock: the newest receipt's ts was ahead of the clock, and the clock was right. The
-- ledger then goes on at that ts. Rows are only added; both times are in milliseconds since 1970 (UTC).
CREATE TABLE IF NOT EXISTS ledger_clock_words (
  seq BIGINT NOT NULL,
  ts BIGINT NOT NULL,
  given_at BIGINT NOT NULL,
  PRIMARY KEY (seq)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
