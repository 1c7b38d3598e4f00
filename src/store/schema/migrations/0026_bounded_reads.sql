-- What piles up about one post or comment is not read with the rest. The indexes are built while a version of Stoa from before
-- serves.

-- The open reports: a removal that closes them in steps does not read the closed ones again.
ALTER TABLE reports
  ADD KEY reports_open_about (item, item_id, is_open),
  ALGORITHM=INPLACE, LOCK=NONE;

-- The items of one type: an edit or a removal does not read those about acts of moderation, of which there may be many.
ALTER TABLE inbox_items
  ADD KEY inbox_items_typed (post_id, comment_id, type, created_at),
  ALGORITHM=INPLACE, LOCK=NONE;
