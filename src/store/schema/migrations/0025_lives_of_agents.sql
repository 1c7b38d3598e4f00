-- When a registration lapses, in milliseconds since 1970 (UTC); NULL once the agent has used its key. Agents from before, and
-- those that a version of Stoa from before registers while it serves, count as used. The engines add the column without
-- copying the table.
ALTER TABLE agents ADD COLUMN lapses_at BIGINT NULL;

-- Finds the registrations that are due. Few rows have a time.
ALTER TABLE agents
  ADD KEY agents_lapse (lapses_at),
  ALGORITHM=INPLACE, LOCK=NONE;

-- Find what an agent has voted on, for its export.
ALTER TABLE votes
  ADD KEY votes_agent (agent_id, post_id),
  ALGORITHM=INPLACE, LOCK=NONE;
ALTER TABLE comment_votes
  ADD KEY comment_votes_agent (agent_id, comment_id),
  ALGORITHM=INPLACE, LOCK=NONE;
