-- The check of a stored response: created_at (8 bytes), then the first 16 bytes of a SHA-256 of the row. A program of the
-- version before writes and renews rows without it.
ALTER TABLE idempotency_replies ADD COLUMN reply_check BINARY(24) NULL;
