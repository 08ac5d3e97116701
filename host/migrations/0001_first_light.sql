-- One text for SQLite and PostgreSQL: ids, digests and JSON are TEXT, moments are BIGINT milliseconds since the epoch.
-- Row ids begin with the time, so new rows go to the end of each index.

CREATE TABLE users (
    id           TEXT   NOT NULL PRIMARY KEY,
    did          TEXT   NOT NULL UNIQUE,
    subject      TEXT   NOT NULL UNIQUE,
    name         TEXT   NOT NULL,
    email        TEXT,
    profile      TEXT   NOT NULL,
    console_role TEXT,
    state        TEXT   NOT NULL CHECK (state IN ('active', 'suspended', 'terminated')),
    version      BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL
);

-- What people type at sign-in: names and e-mail addresses. One text leads to one person.
CREATE TABLE login_names (
    name    TEXT NOT NULL PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE
);
CREATE INDEX login_names_by_user ON login_names (user_id);

CREATE TABLE applications (
    id            TEXT   NOT NULL PRIMARY KEY,
    name          TEXT   NOT NULL,
    settings      TEXT   NOT NULL,
    secret_digest TEXT,
    version       BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL
);

CREATE TABLE accounts (
    id             TEXT   NOT NULL PRIMARY KEY,
    user_id        TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    application_id TEXT   NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    name           TEXT   NOT NULL,
    roles          TEXT   NOT NULL,
    short_code     TEXT   NOT NULL UNIQUE,
    state          TEXT   NOT NULL CHECK (state IN ('active', 'suspended', 'terminated')),
    version        BIGINT NOT NULL,
    created_at     BIGINT NOT NULL,
    UNIQUE (user_id, application_id),
    UNIQUE (application_id, name)
);

CREATE TABLE devices (
    id           TEXT   NOT NULL PRIMARY KEY,
    user_id      TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name         TEXT   NOT NULL,
    public_key   TEXT   NOT NULL UNIQUE,
    push         TEXT,
    created_at   BIGINT NOT NULL,
    revoked_at   BIGINT
);
CREATE INDEX devices_by_user ON devices (user_id);

CREATE TABLE enrolments (
    id         TEXT   NOT NULL PRIMARY KEY,
    user_id    TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    digest     TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at    BIGINT
);

CREATE INDEX enrolments_by_user ON enrolments (user_id);

CREATE TABLE logins (
    id          TEXT   NOT NULL PRIMARY KEY,
    browser     TEXT   NOT NULL,
    request     TEXT   NOT NULL,
    approval_id TEXT,
    answered_at BIGINT,
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL
);

CREATE TABLE approvals (
    id            TEXT   NOT NULL PRIMARY KEY,
    login_id      TEXT   NOT NULL REFERENCES logins (id) ON DELETE CASCADE,
    user_id       TEXT   REFERENCES users (id) ON DELETE CASCADE,
    name_digest   TEXT   NOT NULL,
    number        TEXT   NOT NULL,
    shown         TEXT   NOT NULL,
    requested_at  BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL,
    attempts_left BIGINT NOT NULL,
    state         TEXT   NOT NULL CHECK (state IN
                  ('requested', 'approved', 'denied', 'expired', 'cancelled', 'replaced', 'wrong_number')),
    decided_at    BIGINT,
    device_id     TEXT,
    amr           TEXT
);
-- One name has at most one open request: the index holds only those.
CREATE UNIQUE INDEX open_approval_of_name ON approvals (name_digest) WHERE state = 'requested';
CREATE INDEX approvals_by_user ON approvals (user_id, id);
CREATE INDEX approvals_by_login ON approvals (login_id);

CREATE TABLE sessions (
    id         TEXT   NOT NULL PRIMARY KEY,
    digest     TEXT   NOT NULL,
    sid        TEXT   NOT NULL UNIQUE,
    user_id    TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    auth_time  BIGINT NOT NULL,
    amr        TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    ended_at   BIGINT
);

CREATE INDEX sessions_by_user ON sessions (user_id);

CREATE TABLE consents (
    id             TEXT   NOT NULL PRIMARY KEY,
    user_id        TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    application_id TEXT   NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    scopes         TEXT   NOT NULL,
    granted_at     BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL,
    UNIQUE (user_id, application_id)
);

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
    claims         TEXT   NOT NULL,
    expires_at     BIGINT NOT NULL,
    used_at        BIGINT
);

CREATE TABLE access_tokens (
    id             TEXT   NOT NULL PRIMARY KEY,
    digest         TEXT   NOT NULL,
    application_id TEXT   NOT NULL,
    user_id        TEXT   NOT NULL,
    account_id     TEXT   NOT NULL,
    session_id     TEXT   NOT NULL,
    code_id        TEXT   NOT NULL,
    scopes         TEXT   NOT NULL,
    issued_at      BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL,
    revoked_at     BIGINT
);
CREATE INDEX access_tokens_by_code ON access_tokens (code_id);

CREATE TABLE admin_tokens (
    id         TEXT   NOT NULL PRIMARY KEY,
    digest     TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE TABLE signing_keys (
    id         TEXT   NOT NULL PRIMARY KEY,
    purpose    TEXT   NOT NULL UNIQUE,
    sealed     TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);

-- What was done once for this database, such as the first start's administrator.
CREATE TABLE milestones (
    name       TEXT   NOT NULL PRIMARY KEY,
    reached_at BIGINT NOT NULL
);
