-- The rank of hot counts the first vote: LOG10(1 + |s|). In the column hot, LOG10(GREATEST(|s|, 1)), it counts nothing.
-- The column is virtual, because a stored one would copy the table and stop writes meanwhile. The indexes are built while a
-- version of Stoa from before serves, which reads by hot and its indexes; a later version drops these.

ALTER TABLE posts
  ADD COLUMN hot_rank DOUBLE GENERATED ALWAYS AS (
    SIGN(upvotes - downvotes) * LOG10(1 + ABS(upvotes - downvotes)) + (created_at / 1000e0 - 1134028003e0) / 45000e0
  ) VIRTUAL,
  ALGORITHM=INPLACE, LOCK=NONE;

ALTER TABLE posts
  ADD KEY posts_hot_rank (hot_rank, id),
  ADD KEY posts_community_hot_rank (community_id, hot_rank, id),
  ALGORITHM=INPLACE, LOCK=NONE;
