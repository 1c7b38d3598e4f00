-- One row: the last complete run of `stoa fsck`, which services show in /readyz and in their metrics. Times are milliseconds
-- since 1970 (UTC). kinds has a member for each kind of finding: {"posts.upvotes": {"findings": 3, "repaired": 3}}. A version
-- of Stoa from before does not know the table, and may serve while this runs and after it.
CREATE TABLE IF NOT EXISTS last_fsck (
  id TINYINT NOT NULL,
  ended_at BIGINT NOT NULL,
  duration_ms BIGINT NOT NULL,
  findings BIGINT NOT NULL,
  repaired BIGINT NOT NULL,
  kinds TEXT CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
