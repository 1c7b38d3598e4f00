-- The posts of a community are counted in rows of their own, because each new post share-locks the row of its community for
-- the foreign key. Had it to lock that row for writing as well, all posts to a community would be written one after the other.
-- A count is the sum of communities.post_count and of the rows here. So nothing has to be copied, and a version of Stoa from
-- before may serve while this runs and after it: it counts in communities.post_count, and the sum is right. It shows only
-- what is counted there.

-- part: posts of different authors are counted in different rows, so that they seldom wait for each other.
CREATE TABLE IF NOT EXISTS community_post_counts (
  community_id BIGINT NOT NULL,
  part TINYINT NOT NULL,
  posts BIGINT NOT NULL,
  PRIMARY KEY (community_id, part)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
