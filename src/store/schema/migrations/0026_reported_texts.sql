-- Texts that were reported, kept for moderators after their authors have changed or deleted them. A version of Stoa from before
-- may serve while this runs and after it: what its authors change and delete is not kept.

-- Which version of the text is reported: when it was written, in milliseconds since 1970 (UTC); 0 before the first edit.
ALTER TABLE reports ADD COLUMN version BIGINT NOT NULL DEFAULT 0;

-- An edit or a deletion looks here for open reports of the text, and for the reasons that have it kept.
ALTER TABLE reports
  ADD KEY reports_of_text (item, item_id, is_open, version, reason),
  ALGORITHM=INPLACE, LOCK=NONE;

-- One row for each reported version of a post or comment, and one for its deletion, written under the lock of the post or
-- comment. The text is empty where the reasons of the reports do not allow to keep it. It has no salt: the log proves nothing
-- about it. erase_at: when the row goes, in milliseconds since 1970 (UTC).
CREATE TABLE IF NOT EXISTS reported_texts (
  item_id BIGINT NOT NULL,
  item VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  version BIGINT NOT NULL,
  author_id BIGINT NOT NULL,
  title VARCHAR(300) NOT NULL,
  body TEXT NOT NULL,
  erase_at BIGINT NOT NULL,
  PRIMARY KEY (item_id, item, version),
  KEY reported_texts_author (author_id),
  KEY reported_texts_erase (erase_at)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
