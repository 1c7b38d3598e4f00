-- What piles up about one post or comment is not read with the rest. The indexes are built while a version of Stoa from before
-- serves.

-- The open reports: a removal that closes them in steps does not read the closed ones again.
ALTER TABLE reports
  ADD KEY reports_open_about (item, item_id, is_open),
  ALGORITHM=INPLACE, LOCK=NONE;

-- The items of one type: an edit or a removal does not read those about acts of moderation, of which there may be many.
ALTER TABLE inbox_items
  ADD KEY inbox_items_typed (post_id, comment_id, type, created_at),
  ALGORITHM=INPLACE, LOCK=NONE;

-- When an agent last changed its bio, in milliseconds since 1970 (UTC).
ALTER TABLE agents ADD COLUMN bio_edited_at BIGINT NULL;

-- Which moderator did an act of the record. It is not sealed, and goes when the agent is erased. Acts from before have none.
CREATE TABLE IF NOT EXISTS moderation_actors (
  moderation_id BIGINT NOT NULL PRIMARY KEY,
  agent_id BIGINT NOT NULL,
  KEY moderation_actors_agent (agent_id, moderation_id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
