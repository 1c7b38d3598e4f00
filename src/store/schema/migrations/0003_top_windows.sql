-- The band of age in which a post was last seen (see age-bands.ts): 0, as new posts have it, until the service moves it on.
-- It lets the top posts of a window be read by score without stepping over older ones. Existing posts are moved by the
-- running service in small batches; feeds are right meanwhile. Neither statement copies the table.

ALTER TABLE posts ADD COLUMN age_band TINYINT NOT NULL DEFAULT 0;

ALTER TABLE posts
  ADD KEY posts_band (age_band, created_at),
  ADD KEY posts_band_top (age_band, score, created_at, id),
  ADD KEY posts_community_band_top (community_id, age_band, score, created_at, id);
