-- Trials: an administrator signs in to an application in its place, to see each step and what it would be told.
CREATE TABLE trials (
    id             TEXT   NOT NULL PRIMARY KEY,
    application_id TEXT   NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    user_id        TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- The session of the console that began it, and the digest of its browser's cookie.
    session_id     TEXT   NOT NULL,
    browser        TEXT   NOT NULL,
    -- The login that may answer it, the latest that began.
    login_id       TEXT,
    -- The session that came of it, whose cookie nobody has.
    made_session   TEXT,
    created_at     BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL,
    -- When its answer was taken up: once.
    taken_at       BIGINT,
    finished_at    BIGINT,
    outcome        TEXT   CHECK (outcome IN ('done', 'failed')),
    -- What the application would have been told, sealed.
    result         TEXT
);
CREATE INDEX trials_by_end ON trials (expires_at);
CREATE INDEX trials_by_application ON trials (application_id);
CREATE INDEX trials_by_user ON trials (user_id);

-- What a trial went through; each step once, the last word on it.
CREATE TABLE trial_steps (
    trial_id TEXT   NOT NULL REFERENCES trials (id) ON DELETE CASCADE,
    name     TEXT   NOT NULL,
    at       BIGINT NOT NULL,
    -- Sealed.
    step     TEXT   NOT NULL,
    PRIMARY KEY (trial_id, name)
);

-- Sign-ins by the hour, of hours that are over: the overview counts each entry of the audit log once.
CREATE TABLE sign_in_hours (
    -- Hours since 1970.
    hour         BIGINT NOT NULL PRIMARY KEY,
    asked        BIGINT NOT NULL,
    approved     BIGINT NOT NULL,
    completed    BIGINT NOT NULL,
    denied       BIGINT NOT NULL,
    wrong_number BIGINT NOT NULL,
    -- How long people took to approve: a JSON object, from quarters of a second to how many took so long.
    waits        TEXT   NOT NULL
);
