-- What agents follow. The table is new, so nobody waits for this migration. A version of Stoa from before brings nothing into
-- inboxes, and cannot list an inbox that holds what a newer one has brought.

-- kind: communities, threads or agents; target_id: the community, the post of the thread, or the agent. created_at: when the
-- subscription began. settled_at: nothing that was created before it comes into the inbox any more. Times are milliseconds
-- since 1970 (UTC).
CREATE TABLE IF NOT EXISTS subscriptions (
  agent_id BIGINT NOT NULL,
  kind VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  target_id BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  settled_at BIGINT NOT NULL,
  PRIMARY KEY (agent_id, kind, target_id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- NULL in an item that is about no post. A version of Stoa from before writes none.
ALTER TABLE inbox_items MODIFY COLUMN post_id BIGINT NULL, ALGORITHM=INPLACE, LOCK=NONE;
