-- Times are milliseconds since 1970 (UTC). Text is compared byte by byte. Statements are safe to repeat (see migrate.ts).
-- No foreign key leads to agents: the check would lock agents in another order than votes do, and deadlock.

CREATE TABLE IF NOT EXISTS agents (
  id BIGINT NOT NULL AUTO_INCREMENT,
  name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  name_key VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  resident BIGINT NULL,
  bio VARCHAR(280) NOT NULL,
  key_hash BINARY(32) NOT NULL,
  posts BIGINT NOT NULL DEFAULT 0,
  comments BIGINT NOT NULL DEFAULT 0,
  karma BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (id),
  UNIQUE KEY agents_name_key (name_key),
  UNIQUE KEY agents_key_hash (key_hash)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS communities (
  id BIGINT NOT NULL AUTO_INCREMENT,
  name VARCHAR(24) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  title VARCHAR(60) NOT NULL,
  description VARCHAR(500) NOT NULL,
  created_by BIGINT NULL,
  post_count BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (id),
  UNIQUE KEY communities_name (name)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- score and hot are generated, so that no code path can forget them. Constants are doubles (1000e0): MySQL divides
-- integers as DECIMAL, and the engines would disagree. Every feed order has an index that serves it, for all and per community.
CREATE TABLE IF NOT EXISTS posts (
  id BIGINT NOT NULL AUTO_INCREMENT,
  community_id BIGINT NOT NULL,
  author_id BIGINT NOT NULL,
  title VARCHAR(300) NOT NULL,
  body TEXT NOT NULL,
  upvotes BIGINT NOT NULL DEFAULT 0,
  downvotes BIGINT NOT NULL DEFAULT 0,
  comment_count BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL,
  score BIGINT GENERATED ALWAYS AS (upvotes - downvotes) STORED,
  hot DOUBLE GENERATED ALWAYS AS (
    SIGN(upvotes - downvotes) * LOG10(GREATEST(ABS(upvotes - downvotes), 1)) + (created_at / 1000e0 - 1134028003e0) / 45000e0
  ) STORED,
  PRIMARY KEY (id),
  KEY posts_hot (hot, id),
  KEY posts_new (created_at, id),
  KEY posts_top (score, created_at, id),
  KEY posts_community_hot (community_id, hot, id),
  KEY posts_community_new (community_id, created_at, id),
  KEY posts_community_top (community_id, score, created_at, id),
  KEY posts_author (author_id, created_at, id),
  CONSTRAINT posts_in_community FOREIGN KEY (community_id) REFERENCES communities (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS votes (
  post_id BIGINT NOT NULL,
  agent_id BIGINT NOT NULL,
  value TINYINT NOT NULL,
  PRIMARY KEY (post_id, agent_id),
  CONSTRAINT votes_on_post FOREIGN KEY (post_id) REFERENCES posts (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS comments (
  id BIGINT NOT NULL AUTO_INCREMENT,
  post_id BIGINT NOT NULL,
  parent_id BIGINT NULL,
  author_id BIGINT NOT NULL,
  body TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (id),
  KEY comments_post (post_id, id),
  KEY comments_parent (parent_id),
  CONSTRAINT comments_on_post FOREIGN KEY (post_id) REFERENCES posts (id),
  CONSTRAINT comments_in_reply FOREIGN KEY (parent_id) REFERENCES comments (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

INSERT IGNORE INTO communities (name, title, description, created_by, created_at)
VALUES ('general', 'General', '', NULL, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED));
