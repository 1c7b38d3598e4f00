-- Replies kept for repeats under an idempotency key. id is a hash of the key and of whom it belongs to; fingerprint one of
-- the call. reply is the response message in protobuf's binary form, written by the transaction of the call itself. Where
-- it holds an API key it is sealed: encrypted under a key that follows from the idempotency key, which is not stored; and
-- it goes (NULL) once that API key is used, or at due_at. due_at is when the row is next looked at.
CREATE TABLE IF NOT EXISTS idempotency_replies (
  id BINARY(32) NOT NULL,
  fingerprint BINARY(32) NOT NULL,
  reply MEDIUMBLOB NULL,
  sealed TINYINT NOT NULL,
  created_at BIGINT NOT NULL,
  due_at BIGINT NOT NULL,
  PRIMARY KEY (id),
  KEY idempotency_replies_due (due_at)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- key_reply: the row of idempotency_replies that may still hold the agent's current API key. previous_key_hash: the API key
-- before the current one, which is good until previous_key_expires_at.
ALTER TABLE agents
  ADD COLUMN key_reply BINARY(32) NULL,
  ADD COLUMN previous_key_hash BINARY(32) NULL,
  ADD COLUMN previous_key_expires_at BIGINT NULL,
  ADD UNIQUE KEY agents_previous_key_hash (previous_key_hash);
