-- The rate limits of writes: a row for each agent and kind, and for each client address that registers. arrival is the
-- theoretical arrival time of the generic cell rate algorithm, in microseconds since 1970 (UTC). A row is locked last by
-- the transaction that it limits, and belongs to one caller: nobody waits for another's. There is no other unique index,
-- nor one on arrival: the insert-or-update of a charge then locks one row and no gap.
CREATE TABLE IF NOT EXISTS agent_limits (
  agent_id BIGINT NOT NULL,
  kind VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  arrival BIGINT NOT NULL,
  PRIMARY KEY (agent_id, kind)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS address_limits (
  address VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  kind VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  arrival BIGINT NOT NULL,
  PRIMARY KEY (address, kind)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
