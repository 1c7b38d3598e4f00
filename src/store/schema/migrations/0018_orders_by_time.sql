-- Lists in the order of time have the time and the id in their index: servers of a cluster give out ids in orders of their
-- own, so an id only breaks ties. The indexes are built while a version of Stoa from before serves, which reads by the older
-- ones. comments_top, removed_comments_post, removed_comments_top, removed_comments_parent, reports_open, reports_community
-- and post_revisions_post serve nothing else; a later version drops them.

ALTER TABLE comments
  ADD KEY comments_time (post_id, created_at, id),
  ADD KEY comments_score (post_id, score, created_at, id),
  ADD KEY comments_replies (parent_id, created_at, id),
  ADD KEY comments_written (author_id, created_at, id),
  ALGORITHM=INPLACE, LOCK=NONE;

ALTER TABLE removed_comments
  ADD KEY removed_comments_time (post_id, created_at, id),
  ADD KEY removed_comments_score (post_id, score, created_at, id),
  ADD KEY removed_comments_replies (parent_id, created_at, id),
  ALGORITHM=INPLACE, LOCK=NONE;

ALTER TABLE reports
  ADD KEY reports_oldest (is_open, created_at, id),
  ADD KEY reports_in_community (community_id, is_open, created_at, id),
  ALGORITHM=INPLACE, LOCK=NONE;

ALTER TABLE post_revisions
  ADD KEY post_revisions_time (post_id, edited_at, id),
  ALGORITHM=INPLACE, LOCK=NONE;
