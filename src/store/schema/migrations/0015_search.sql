-- What search looks in: the words of posts, comments, communities and agents that stand, encoded as ASCII tokens. These
-- rows follow from the others: whatever is missing here, or was made from another version of the text, is made again by
-- services. So there are no foreign keys, and a version of Stoa from before may serve while this runs and after it.

CREATE TABLE IF NOT EXISTS search_posts (
  id BIGINT NOT NULL,
  community_id BIGINT NOT NULL,
  author_id BIGINT NOT NULL,
  text_version BIGINT NOT NULL,
  tokens MEDIUMTEXT CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (id),
  KEY search_posts_community (community_id, id),
  KEY search_posts_author (author_id, id),
  FULLTEXT KEY search_posts_tokens (tokens)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS search_comments (
  id BIGINT NOT NULL,
  community_id BIGINT NOT NULL,
  author_id BIGINT NOT NULL,
  text_version BIGINT NOT NULL,
  tokens MEDIUMTEXT CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (id),
  KEY search_comments_community (community_id, id),
  KEY search_comments_author (author_id, id),
  FULLTEXT KEY search_comments_tokens (tokens)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS search_communities (
  id BIGINT NOT NULL,
  text_version BIGINT NOT NULL,
  tokens MEDIUMTEXT CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (id),
  FULLTEXT KEY search_communities_tokens (tokens)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS search_agents (
  id BIGINT NOT NULL,
  text_version BIGINT NOT NULL,
  tokens MEDIUMTEXT CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (id),
  FULLTEXT KEY search_agents_tokens (tokens)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
