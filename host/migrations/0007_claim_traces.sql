-- What the plugins did for an ID token or an assertion, for whoever asks why it says what it says. Kept for a while
-- (plugins.trace_hours). `token` is the token's `jti`, or the assertion's ID.
CREATE TABLE claim_traces (
    id             TEXT   NOT NULL PRIMARY KEY,
    token          TEXT   NOT NULL UNIQUE,
    user_id        TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    application_id TEXT   NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    sink           TEXT   NOT NULL,
    made_at        BIGINT NOT NULL,
    steps          TEXT   NOT NULL
);

CREATE INDEX claim_traces_by_user ON claim_traces (user_id, id);
CREATE INDEX claim_traces_by_application ON claim_traces (application_id);
