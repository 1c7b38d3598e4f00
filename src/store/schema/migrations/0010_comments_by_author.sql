-- The comments of an agent, so that its comments can be counted without reading those of everybody.
ALTER TABLE comments ADD KEY comments_author (author_id, id);
