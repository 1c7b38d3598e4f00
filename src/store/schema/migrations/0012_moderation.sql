-- Edits, removals and moderation. A version of Stoa from before may serve while this runs and after it: what it must not do
-- to a removed, locked or suspended thing, it cannot do.

-- When the author last changed a post or comment. A locked post takes no more comments.
ALTER TABLE posts
  ADD COLUMN edited_at BIGINT NULL,
  ADD COLUMN locked TINYINT NOT NULL DEFAULT 0;

ALTER TABLE comments ADD COLUMN edited_at BIGINT NULL;

-- What an agent that is suspended or erased may not write. Its keys are in suspensions meanwhile.
ALTER TABLE agents ADD COLUMN suspended TINYINT NOT NULL DEFAULT 0;

-- A removed row moves to a table of its own, so that feeds and votes need not look for removals. Comments and votes stay, so
-- no foreign key can lead from them to posts. Their transactions lock the post, which serves the same purpose.
ALTER TABLE comments DROP FOREIGN KEY comments_on_post;

ALTER TABLE comments DROP FOREIGN KEY comments_in_reply;

ALTER TABLE votes DROP FOREIGN KEY votes_on_post;

-- erase_at: until when the text is kept for a restore; NULL when it is erased. reason is NULL if the author removed the post.
CREATE TABLE IF NOT EXISTS removed_posts (
  id BIGINT NOT NULL,
  community_id BIGINT NOT NULL,
  author_id BIGINT NOT NULL,
  title VARCHAR(300) NOT NULL,
  body TEXT NOT NULL,
  upvotes BIGINT NOT NULL,
  downvotes BIGINT NOT NULL,
  comment_count BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  edited_at BIGINT NULL,
  locked TINYINT NOT NULL,
  removed_by VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  reason VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NULL,
  removed_at BIGINT NOT NULL,
  erase_at BIGINT NULL,
  PRIMARY KEY (id),
  KEY removed_posts_author (author_id, id),
  KEY removed_posts_erase (erase_at)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS removed_comments (
  id BIGINT NOT NULL,
  post_id BIGINT NOT NULL,
  parent_id BIGINT NULL,
  author_id BIGINT NOT NULL,
  body TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  edited_at BIGINT NULL,
  removed_by VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  reason VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NULL,
  removed_at BIGINT NOT NULL,
  erase_at BIGINT NULL,
  PRIMARY KEY (id),
  KEY removed_comments_post (post_id, id),
  KEY removed_comments_author (author_id, id),
  KEY removed_comments_erase (erase_at)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The times of edits. Earlier texts are not kept.
CREATE TABLE IF NOT EXISTS post_revisions (
  id BIGINT NOT NULL AUTO_INCREMENT,
  post_id BIGINT NOT NULL,
  edited_at BIGINT NOT NULL,
  PRIMARY KEY (id),
  KEY post_revisions_post (post_id, id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Appointed moderators. The creator of a community is its moderator without a row; standing 0 says that it no longer is.
CREATE TABLE IF NOT EXISTS community_moderators (
  community_id BIGINT NOT NULL,
  agent_id BIGINT NOT NULL,
  standing TINYINT NOT NULL,
  PRIMARY KEY (community_id, agent_id),
  KEY community_moderators_agent (agent_id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- communities_creator: which communities an agent created, and therefore moderates.
ALTER TABLE communities ADD KEY communities_creator (created_by);

-- Suspended agents. Their key hashes are kept here, and agents holds random ones, so that a version of Stoa that knows no
-- suspensions refuses the keys.
CREATE TABLE IF NOT EXISTS suspensions (
  agent_id BIGINT NOT NULL,
  reason VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  ends_at BIGINT NULL,
  key_hash BINARY(32) NULL,
  previous_key_hash BINARY(32) NULL,
  previous_key_expires_at BIGINT NULL,
  PRIMARY KEY (agent_id),
  UNIQUE KEY suspensions_key_hash (key_hash),
  UNIQUE KEY suspensions_previous_key_hash (previous_key_hash)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- post_id: the post of a reported comment, or the reported post.
CREATE TABLE IF NOT EXISTS reports (
  id BIGINT NOT NULL AUTO_INCREMENT,
  item VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  item_id BIGINT NOT NULL,
  post_id BIGINT NOT NULL,
  community_id BIGINT NOT NULL,
  agent_id BIGINT NOT NULL,
  reason VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  note VARCHAR(280) NOT NULL,
  created_at BIGINT NOT NULL,
  closed_at BIGINT NULL,
  is_open TINYINT NOT NULL DEFAULT 1,
  PRIMARY KEY (id),
  UNIQUE KEY reports_once (item, item_id, agent_id),
  KEY reports_open (is_open, id),
  KEY reports_community (community_id, is_open, id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The public record of moderation. id is given out under the lock of moderation_head, without gaps and in the order of the
-- commits, so that a daily receipt seals every act exactly once. Notes are kept apart, because they can be erased.
CREATE TABLE IF NOT EXISTS moderations (
  id BIGINT NOT NULL,
  role VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  act VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  item VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  item_id BIGINT NOT NULL,
  reason VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (id),
  KEY moderations_act (act, id),
  KEY moderations_role (role, id),
  KEY moderations_reason (reason, id),
  KEY moderations_item (item_id, item, id),
  KEY moderations_kind (item, id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS moderation_notes (
  moderation_id BIGINT NOT NULL,
  note VARCHAR(280) NOT NULL,
  PRIMARY KEY (moderation_id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- One row: the newest act, and the newest that a daily receipt has sealed.
CREATE TABLE IF NOT EXISTS moderation_head (
  id INT NOT NULL,
  newest BIGINT NOT NULL,
  sealed BIGINT NOT NULL,
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

INSERT IGNORE INTO moderation_head (id, newest, sealed) VALUES (1, 0, 0);

-- The post or comment whose text a stored response holds. The response is replaced when that is removed or restored. Rows
-- of older versions do not say it; theirs are found by the time of the post or comment, which is the time of the response.
ALTER TABLE idempotency_replies
  ADD COLUMN item VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NULL,
  ADD COLUMN item_id BIGINT NULL;

ALTER TABLE idempotency_replies ADD KEY idempotency_replies_item (item_id, item);

-- For versions of Stoa that know no locks. They take this for a deadlock and answer 503 after some attempts.
CREATE TRIGGER IF NOT EXISTS posts_take_no_comments_when_locked BEFORE UPDATE ON posts FOR EACH ROW
IF OLD.locked = 1 AND NEW.locked = 1 AND NEW.comment_count > OLD.comment_count THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the post is locked', MYSQL_ERRNO = 1213; END IF;

CREATE TRIGGER IF NOT EXISTS moderations_are_not_updated BEFORE UPDATE ON moderations FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the record of moderation is append-only';

CREATE TRIGGER IF NOT EXISTS moderations_are_not_deleted BEFORE DELETE ON moderations FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the record of moderation is append-only';
