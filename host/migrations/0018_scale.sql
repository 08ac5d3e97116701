-- What people are found by: their names, e-mail addresses and the words of their names, in lower case. Of whoever has an
-- account, that too. A search looks for how they begin. They are kept as bytes, whose order no database's language changes.
CREATE TABLE user_terms (
    state        TEXT  NOT NULL,
    term         BYTEA NOT NULL,
    user_id      TEXT  NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    console_role TEXT,
    PRIMARY KEY (state, term, user_id)
);
CREATE INDEX user_terms_by_user ON user_terms (user_id);
CREATE INDEX user_terms_by_role ON user_terms (console_role, term, user_id) WHERE console_role IS NOT NULL;

CREATE TABLE account_terms (
    application_id TEXT  NOT NULL,
    state          TEXT  NOT NULL,
    term           BYTEA NOT NULL,
    account_id     TEXT  NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    PRIMARY KEY (application_id, state, term, account_id)
);
CREATE INDEX account_terms_by_account ON account_terms (account_id);

CREATE INDEX accounts_in_order ON accounts (application_id, id);
CREATE INDEX accounts_by_state ON accounts (application_id, state, id);

-- How many users more, or fewer, are in a state since a change. Their sum is how many there are; a sweep makes one row of many.
-- A row for each state would be one that all wait for.
CREATE TABLE user_counts (
    state  TEXT   NOT NULL,
    change BIGINT NOT NULL
);
INSERT INTO user_counts (state, change) SELECT state, COUNT(*) FROM users GROUP BY state;

-- With the moment, so that the sign-ins of each hour are counted in the index alone.
DROP INDEX audit_entries_by_event;
CREATE INDEX audit_entries_by_event ON audit_entries (event, seq, happened_at);
