-- Votes on comments. A version of Stoa from before may serve while this runs and after it. It makes comments without votes, as
-- before, and may remove and restore those that have none.

ALTER TABLE comments
  ADD COLUMN upvotes BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN downvotes BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN score BIGINT NOT NULL DEFAULT 0;

-- The comments of a post by score, then the newest first.
ALTER TABLE comments ADD KEY comments_top (post_id, score, id);

-- A removed comment keeps its votes, and so its place in each order. They count again after a restore.
ALTER TABLE removed_comments
  ADD COLUMN upvotes BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN downvotes BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN score BIGINT NOT NULL DEFAULT 0;

-- removed_comments_parent: the replies to a comment.
ALTER TABLE removed_comments
  ADD KEY removed_comments_top (post_id, score, id),
  ADD KEY removed_comments_parent (parent_id, id);

-- value is 1 or -1. A vote that is taken back has no row.
CREATE TABLE IF NOT EXISTS comment_votes (
  comment_id BIGINT NOT NULL,
  agent_id BIGINT NOT NULL,
  value TINYINT NOT NULL,
  PRIMARY KEY (comment_id, agent_id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- For versions of Stoa that know no votes on comments: they would lose the counts when they remove or restore a comment, and
-- leave its author's karma as it is. They take this for a deadlock and answer 503 after some attempts.
CREATE TRIGGER IF NOT EXISTS comments_keep_their_votes_when_removed BEFORE DELETE ON comments FOR EACH ROW
IF OLD.upvotes + OLD.downvotes > 0 AND NOT EXISTS (SELECT 1 FROM removed_comments r WHERE r.id = OLD.id AND r.upvotes = OLD.upvotes AND r.downvotes = OLD.downvotes) THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the votes on the comment would be lost', MYSQL_ERRNO = 1213; END IF;

CREATE TRIGGER IF NOT EXISTS comments_keep_their_votes_when_restored BEFORE DELETE ON removed_comments FOR EACH ROW
IF OLD.upvotes + OLD.downvotes > 0 AND NOT EXISTS (SELECT 1 FROM comments c WHERE c.id = OLD.id AND c.upvotes = OLD.upvotes AND c.downvotes = OLD.downvotes) THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the votes on the comment would be lost', MYSQL_ERRNO = 1213; END IF;
