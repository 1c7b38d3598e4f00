-- What makes every step of the service bounded. A version of Stoa from before may serve while this runs, and for an hour after
-- it. Later it answers repeats of what this version has done to posts and comments with 503.

-- attempt: which attempt of a call has committed. item and item_id: what the reply shows, if it is stored with its text.
ALTER TABLE idempotency_replies ADD COLUMN attempt BINARY(16) NULL;

-- The addresses that may be forgotten.
ALTER TABLE address_limits ADD KEY address_limits_arrival (arrival);

-- The reports of an agent.
ALTER TABLE reports ADD KEY reports_agent (agent_id, id);

-- The moderators of a community, and the communities of a moderator, without those that are moderators no more.
ALTER TABLE community_moderators
  ADD KEY community_moderators_standing (community_id, standing, agent_id),
  ADD KEY community_moderators_of (agent_id, standing, community_id);

-- Removals and erasures that are not finished: a post or comment whose reports are still to be closed, or an agent whose
-- traces are still to be erased. began_at is the time of the removal, in milliseconds since 1970 (UTC). Of an agent, reason
-- and note are those of the removal of its posts and comments; reason is NULL if they stay.
CREATE TABLE IF NOT EXISTS unfinished_removals (
  item VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  item_id BIGINT NOT NULL,
  began_at BIGINT NOT NULL,
  reason VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NULL,
  note VARCHAR(280) NOT NULL,
  PRIMARY KEY (item, item_id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- From when on replies are stored without the texts of posts and comments, in milliseconds since 1970 (UTC). Older versions
-- cannot read these, and have an hour to end. A new board has no older versions.
CREATE TABLE IF NOT EXISTS reply_outlines (
  id TINYINT NOT NULL,
  begin_at BIGINT NOT NULL,
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

INSERT IGNORE INTO reply_outlines (id, begin_at)
SELECT 1, IF(EXISTS (SELECT 1 FROM agents), TIMESTAMPDIFF(SECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP()) * 1000 + 3600000, 0);
