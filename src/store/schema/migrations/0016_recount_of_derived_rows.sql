-- What the recount needs to tell a missing item of an inbox, or missing tokens, from those that a version of Stoa from before
-- has not written. A version from before may serve while this runs and after it. Engines add these columns without
-- rebuilding the tables.

-- noted: edited_at, or 0, of the text whose items are all in the inboxes. NULL, or another value than that of edited_at: a
-- version that writes no items, or does not say so, has written or changed the text.
ALTER TABLE posts ADD COLUMN noted BIGINT NULL;

ALTER TABLE comments ADD COLUMN noted BIGINT NULL;

-- noted: 1 if an item about the act is in the author's inbox.
ALTER TABLE moderations ADD COLUMN noted TINYINT NOT NULL DEFAULT 0;

-- One row: when the last complete round through everything that can be searched began, in milliseconds since 1970 (UTC). What
-- has not changed since has its tokens. Without a row, as after a restore, nothing is known.
CREATE TABLE IF NOT EXISTS search_rounds (
  id TINYINT NOT NULL,
  began_at BIGINT NOT NULL,
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
