-- Which receipts are recoveries: a row is inserted in the transaction of its receipt, which says the rest. Finding them by
-- their bytes would mean to read the whole chain.
CREATE TABLE IF NOT EXISTS ledger_recoveries (
  seq BIGINT NOT NULL,
  PRIMARY KEY (seq)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
