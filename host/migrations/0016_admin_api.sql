-- What only one transaction at a time may do: who does it writes the row, and so waits for the one before.
CREATE TABLE latches (
    name TEXT NOT NULL PRIMARY KEY
);
INSERT INTO latches (name) VALUES ('owners');

-- Users by their state and by their role, in the order in which they were made, as lists show them.
CREATE INDEX users_by_state ON users (state, id);
CREATE INDEX users_by_role ON users (console_role, id) WHERE console_role IS NOT NULL;

-- Requests that were made with an Idempotency-Key, and their answers.
CREATE TABLE idempotent_requests (
    -- The digest of who asked, of method and path, and of the key.
    id         TEXT   NOT NULL PRIMARY KEY,
    -- The digest of the request's body.
    body       TEXT   NOT NULL,
    -- The answer, sealed under the master key: it may hold a secret that is shown once. NULL while it is under way.
    answer     TEXT,
    expires_at BIGINT NOT NULL
);
CREATE INDEX idempotent_requests_by_end ON idempotent_requests (expires_at);
