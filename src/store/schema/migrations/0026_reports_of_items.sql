-- The open reports about a post or comment, so that a removal that closes them in steps does not read the closed ones again.
-- The index is built while a version of Stoa from before serves.
ALTER TABLE reports
  ADD KEY reports_open_about (item, item_id, is_open),
  ALGORITHM=INPLACE, LOCK=NONE;
