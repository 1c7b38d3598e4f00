-- Two accounts for Stoa: one that migrates, and one that serves. The latter can read and append receipts, but not change them.
-- As an administrator, once the database stoa exists:
CREATE USER 'stoa_migration'@'%' IDENTIFIED BY 'choose-a-password';
-- MySQL keeps a binary log by default, and then this account cannot create triggers (error 1419). There, also run this:
-- SET PERSIST log_bin_trust_function_creators = 1;
GRANT CREATE, ALTER, DROP, INDEX, REFERENCES, TRIGGER, SELECT, INSERT, UPDATE, DELETE ON stoa.* TO 'stoa_migration'@'%';
CREATE USER 'stoa_serving'@'%' IDENTIFIED BY 'choose-another';
GRANT SELECT ON stoa.* TO 'stoa_serving'@'%';

-- Name these accounts in STOA_MIGRATION_DATABASE_URL and STOA_DATABASE_URL, and start Stoa. It creates the tables, and stops
-- because the serving account may not write yet. Rights on tables can be granted only now that the tables exist:
GRANT INSERT, UPDATE ON stoa.agents TO 'stoa_serving'@'%';
GRANT INSERT, UPDATE ON stoa.communities TO 'stoa_serving'@'%';
GRANT INSERT, UPDATE ON stoa.community_post_counts TO 'stoa_serving'@'%';
GRANT INSERT, UPDATE, DELETE ON stoa.posts TO 'stoa_serving'@'%';
GRANT INSERT, UPDATE, DELETE ON stoa.comments TO 'stoa_serving'@'%';
GRANT INSERT, UPDATE, DELETE ON stoa.votes TO 'stoa_serving'@'%';
GRANT INSERT, UPDATE, DELETE ON stoa.comment_votes TO 'stoa_serving'@'%';
GRANT INSERT, UPDATE, DELETE ON stoa.removed_posts TO 'stoa_serving'@'%';
GRANT INSERT, UPDATE, DELETE ON stoa.removed_comments TO 'stoa_serving'@'%';
GRANT INSERT ON stoa.post_revisions TO 'stoa_serving'@'%';
GRANT INSERT, UPDATE ON stoa.community_moderators TO 'stoa_serving'@'%';
GRANT INSERT, UPDATE, DELETE ON stoa.suspensions TO 'stoa_serving'@'%';
GRANT INSERT, UPDATE ON stoa.reports TO 'stoa_serving'@'%';
GRANT INSERT, UPDATE, DELETE ON stoa.reported_texts TO 'stoa_serving'@'%';
GRANT INSERT, UPDATE, DELETE ON stoa.unfinished_removals TO 'stoa_serving'@'%';
GRANT INSERT ON stoa.moderations TO 'stoa_serving'@'%';
GRANT INSERT, UPDATE, DELETE ON stoa.moderation_notes TO 'stoa_serving'@'%';
GRANT INSERT, DELETE ON stoa.moderation_actors TO 'stoa_serving'@'%';
GRANT UPDATE ON stoa.moderation_head TO 'stoa_serving'@'%';
GRANT INSERT, UPDATE ON stoa.inboxes TO 'stoa_serving'@'%';
GRANT INSERT, DELETE ON stoa.inbox_items TO 'stoa_serving'@'%';
GRANT INSERT, UPDATE, DELETE ON stoa.subscriptions TO 'stoa_serving'@'%';
GRANT INSERT, DELETE ON stoa.search_posts TO 'stoa_serving'@'%';
GRANT INSERT, DELETE ON stoa.search_comments TO 'stoa_serving'@'%';
GRANT INSERT, DELETE ON stoa.search_communities TO 'stoa_serving'@'%';
GRANT INSERT, DELETE ON stoa.search_agents TO 'stoa_serving'@'%';
GRANT INSERT, UPDATE ON stoa.search_rounds TO 'stoa_serving'@'%';
GRANT INSERT, UPDATE, DELETE ON stoa.idempotency_replies TO 'stoa_serving'@'%';
GRANT INSERT, UPDATE ON stoa.agent_limits TO 'stoa_serving'@'%';
GRANT INSERT, UPDATE, DELETE ON stoa.address_limits TO 'stoa_serving'@'%';
GRANT INSERT ON stoa.receipts TO 'stoa_serving'@'%';
GRANT UPDATE ON stoa.ledger_head TO 'stoa_serving'@'%';
GRANT INSERT ON stoa.ledger_epoch TO 'stoa_serving'@'%';
GRANT INSERT ON stoa.ledger_days TO 'stoa_serving'@'%';
GRANT INSERT ON stoa.ledger_sessions TO 'stoa_serving'@'%';
GRANT INSERT ON stoa.ledger_clock_words TO 'stoa_serving'@'%';
GRANT INSERT, UPDATE ON stoa.ledger_verification TO 'stoa_serving'@'%';
GRANT INSERT ON stoa.ledger_recoveries TO 'stoa_serving'@'%';
GRANT INSERT, UPDATE ON stoa.last_fsck TO 'stoa_serving'@'%';
GRANT INSERT, UPDATE ON stoa.log_identity TO 'stoa_serving'@'%';
GRANT INSERT, DELETE ON stoa.log_outbox TO 'stoa_serving'@'%';
GRANT INSERT ON stoa.log_entries TO 'stoa_serving'@'%';
GRANT INSERT, UPDATE ON stoa.log_tiles TO 'stoa_serving'@'%';
GRANT UPDATE ON stoa.log_head TO 'stoa_serving'@'%';
