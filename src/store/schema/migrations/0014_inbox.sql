-- Inboxes. The tables are new, so nobody waits for this migration. A version of Stoa from before writes no items.

-- newest: the id of the newest item there ever was; it is given out under the lock of this row, so that ids follow the order
-- of commits. unread counts the items above read_up_to. closed: 0, or 1 from the moment when the agent is erased, and 2 when
-- its items are deleted, too.
CREATE TABLE IF NOT EXISTS inboxes (
  agent_id BIGINT NOT NULL,
  newest BIGINT NOT NULL,
  read_up_to BIGINT NOT NULL,
  unread BIGINT NOT NULL,
  closed TINYINT NOT NULL DEFAULT 0,
  PRIMARY KEY (agent_id),
  KEY inboxes_closed (closed)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- comment_id is NULL if the item is about a post. actor_id: who wrote; NULL for acts of moderation. created_at: when the item
-- came into the inbox.
CREATE TABLE IF NOT EXISTS inbox_items (
  agent_id BIGINT NOT NULL,
  id BIGINT NOT NULL,
  type VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  post_id BIGINT NOT NULL,
  comment_id BIGINT NULL,
  actor_id BIGINT NULL,
  act VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NULL,
  reason VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (agent_id, id),
  KEY inbox_items_cause (post_id, comment_id),
  KEY inbox_items_created (created_at)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
