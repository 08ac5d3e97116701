-- Refresh tokens, client credentials, logout, every way to authenticate a client.
--
-- What comes of one sign-in is a family, and its row is the code's: tokens name it, so that one update of that row ends
-- them all. Codes under way are forgotten: who was about to exchange one signs in again.

DELETE FROM codes;
DROP TABLE codes;
CREATE TABLE codes (
    id             TEXT   NOT NULL PRIMARY KEY,
    digest         TEXT   NOT NULL,
    application_id TEXT   NOT NULL,
    redirect_uri   TEXT   NOT NULL,
    code_challenge TEXT,
    scopes         TEXT   NOT NULL,
    user_id        TEXT   NOT NULL,
    account_id     TEXT   NOT NULL,
    session_id     TEXT   NOT NULL,
    -- What later ID tokens repeat of the sign-in: sid, auth_time, amr, and what the `claims` parameter asked for.
    context        TEXT   NOT NULL,
    -- The ID token's claims; emptied when the code is exchanged.
    claims         TEXT   NOT NULL,
    -- 1 where the grant outlives the session (`offline_access`).
    offline        BIGINT NOT NULL,
    created_at     BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL,
    -- Until when anything may ask for this row.
    kept_until     BIGINT NOT NULL,
    used_at        BIGINT,
    revoked_at     BIGINT
);
CREATE INDEX codes_by_end ON codes (kept_until);

DROP TABLE access_tokens;
CREATE TABLE access_tokens (
    id             TEXT   NOT NULL PRIMARY KEY,
    digest         TEXT   NOT NULL,
    application_id TEXT   NOT NULL,
    -- The code that it came from; none for an application's own token (`client_credentials`).
    family_id      TEXT,
    scopes         TEXT   NOT NULL,
    -- The SHA-256 of the client certificate that it is bound to (RFC 8705).
    certificate    TEXT,
    issued_at      BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL,
    -- Until when the first use is noted, since a refresh may be repeated only while its answer was not used.
    watched_until  BIGINT,
    used_at        BIGINT,
    revoked_at     BIGINT
);

CREATE TABLE refresh_tokens (
    id             TEXT   NOT NULL PRIMARY KEY,
    digest         TEXT   NOT NULL,
    application_id TEXT   NOT NULL,
    family_id      TEXT   NOT NULL,
    issued_at      BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL,
    used_at        BIGINT,
    -- What its use gave.
    answer_access  TEXT,
    answer_refresh TEXT,
    -- How far a repeat of that use has come: 0 none, 1 asked for, 2 answered.
    repeated       BIGINT NOT NULL,
    revoked_at     BIGINT
);

-- The session's name outlives a new sign-in of the same person in the same browser, so it is no longer unique.
CREATE TABLE sessions_with_logout (
    id           TEXT   NOT NULL PRIMARY KEY,
    digest       TEXT   NOT NULL,
    sid          TEXT   NOT NULL,
    user_id      TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    auth_time    BIGINT NOT NULL,
    amr          TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    ended_at     BIGINT,
    -- 1 where the person signed out: what the session's sign-ins gave ends with it, but for `offline_access`.
    logged_out   BIGINT NOT NULL
);
INSERT INTO sessions_with_logout
    SELECT id, digest, sid, user_id, auth_time, amr, created_at, expires_at, ended_at, 0 FROM sessions;
DROP TABLE sessions;
ALTER TABLE sessions_with_logout RENAME TO sessions;
CREATE INDEX sessions_by_user ON sessions (user_id);
CREATE INDEX sessions_by_sid ON sessions (sid);

-- The applications that a person used in a session: each is told when it ends.
CREATE TABLE session_applications (
    sid            TEXT NOT NULL,
    application_id TEXT NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    user_id        TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- The `sub` claim that it was given.
    subject        TEXT NOT NULL,
    PRIMARY KEY (sid, application_id)
);
CREATE INDEX session_applications_by_user ON session_applications (user_id, application_id);

-- Logout tokens that are still to be delivered (OpenID Connect Back-Channel Logout).
CREATE TABLE logout_deliveries (
    id              TEXT   NOT NULL PRIMARY KEY,
    application_id  TEXT   NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    sid             TEXT   NOT NULL,
    subject         TEXT   NOT NULL,
    attempts        BIGINT NOT NULL,
    next_attempt_at BIGINT NOT NULL,
    created_at      BIGINT NOT NULL
);
CREATE INDEX logout_deliveries_by_attempt ON logout_deliveries (next_attempt_at);

-- A login that goes on with the session that was there, to ask for consent.
ALTER TABLE logins ADD COLUMN session_id TEXT;

-- Grants that began before this moment are over: the consent was withdrawn, or the account was closed.
ALTER TABLE accounts ADD COLUMN grants_from BIGINT NOT NULL DEFAULT 0;

-- The client secret itself, sealed with the master key: for `client_secret_jwt` alone.
ALTER TABLE applications ADD COLUMN secret_sealed TEXT;

-- Where single-page applications run: their origins may call from the browser (CORS).
CREATE TABLE application_origins (
    application_id TEXT NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    origin         TEXT NOT NULL,
    PRIMARY KEY (origin, application_id)
);
CREATE INDEX application_origins_by_application ON application_origins (application_id);

-- Client assertions that were used (RFC 7523 section 3): each `jti` of a client counts once.
CREATE TABLE used_assertions (
    id         TEXT   NOT NULL PRIMARY KEY,
    expires_at BIGINT NOT NULL
);
CREATE INDEX used_assertions_by_end ON used_assertions (expires_at);
