-- Codes by which a person without an authenticator enrols another, each once. Their digests alone are kept.
CREATE TABLE recovery_codes (
    id         TEXT   NOT NULL PRIMARY KEY,
    user_id    TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    digest     TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    used_at    BIGINT,
    UNIQUE (user_id, digest)
);

-- The entry of the audit log up to which the device showed its owner what is new.
ALTER TABLE devices ADD COLUMN news_seen TEXT;
