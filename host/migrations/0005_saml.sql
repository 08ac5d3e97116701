-- SAML 2.0 service providers.

-- What the settings of an application are those of.
ALTER TABLE applications ADD COLUMN protocol TEXT NOT NULL DEFAULT 'oidc';

-- What a service provider's responses are signed with. Where a key is in its life follows from its moments.
CREATE TABLE saml_keys (
    id             TEXT   NOT NULL PRIMARY KEY,
    application_id TEXT   NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    -- Counts the keys of an application. Of hosts that make the next one at the same moment, one has its row.
    generation     BIGINT NOT NULL,
    sealed         TEXT   NOT NULL,
    -- In PEM form.
    certificate    TEXT   NOT NULL,
    created_at     BIGINT NOT NULL,
    signs_from     BIGINT NOT NULL,
    -- The certificate's end.
    expires_at     BIGINT NOT NULL,
    UNIQUE (application_id, generation)
);

-- Checked AuthnRequests that wait for the browser to come with its cookies.
CREATE TABLE sign_on_requests (
    id         TEXT   NOT NULL PRIMARY KEY,
    request    TEXT   NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at    BIGINT
);

-- The service providers that a person used in a session, and what they call the person.
CREATE TABLE saml_participants (
    sid            TEXT NOT NULL,
    application_id TEXT NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    user_id        TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name_format    TEXT NOT NULL,
    name           TEXT NOT NULL,
    -- A request may ask for another form of name; those that were told before are good as well.
    PRIMARY KEY (sid, application_id, name_format)
);
CREATE INDEX saml_participants_by_name ON saml_participants (application_id, name);
CREATE INDEX saml_participants_by_user ON saml_participants (user_id, application_id);

-- Logouts whose service providers are told one after the other, in the person's browser.
CREATE TABLE saml_logouts (
    id          TEXT   NOT NULL PRIMARY KEY,
    -- The browsers that may tell them.
    holders     TEXT   NOT NULL,
    -- What the browser does when all were told.
    afterwards  TEXT   NOT NULL,
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    finished_at BIGINT
);

-- A service provider of such a logout. The id is that of the LogoutRequest.
CREATE TABLE saml_logout_requests (
    id             TEXT   NOT NULL PRIMARY KEY,
    logout_id      TEXT   NOT NULL REFERENCES saml_logouts (id) ON DELETE CASCADE,
    application_id TEXT   NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    -- Its turn.
    position       BIGINT NOT NULL,
    sid            TEXT   NOT NULL,
    name_format    TEXT   NOT NULL,
    name           TEXT   NOT NULL,
    asked_at       BIGINT,
    outcome        TEXT   CHECK (outcome IN ('told', 'failed'))
);
CREATE INDEX saml_logout_requests_by_logout ON saml_logout_requests (logout_id, position);
