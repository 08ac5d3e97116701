-- The address and browser of a user who acted upon something of somebody else. They are that user's data, and not of the user whom the
-- entry is about: erasing the one leaves the personal data of the other. The chain covers them through a salted digest of their own.
ALTER TABLE audit_entries ADD COLUMN origin TEXT;
ALTER TABLE audit_entries ADD COLUMN origin_salt TEXT;
ALTER TABLE audit_entries ADD COLUMN origin_digest TEXT;

-- The ids that stand in the path or in the answer of a request with an Idempotency-Key: erasing a user deletes the answers about them.
CREATE TABLE idempotent_request_mentions (
    request_id TEXT NOT NULL REFERENCES idempotent_requests (id) ON DELETE CASCADE,
    mentioned  TEXT NOT NULL,
    PRIMARY KEY (request_id, mentioned)
);
CREATE INDEX idempotent_request_mentions_by_id ON idempotent_request_mentions (mentioned);
