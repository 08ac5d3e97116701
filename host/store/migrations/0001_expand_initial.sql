-- The schema of Assent. SQLite and PostgreSQL run the same text, but for lines that begin with `--sqlite` or `--postgresql`: they are
-- statements of that database, and comments to the other one. Tables with small rows and a key of text have no row id on SQLite.
--
-- Ids, digests and JSON are TEXT. Times are BIGINT milliseconds since 1970-01-01T00:00:00Z. Flags are BIGINT: 0 or 1.
-- A row id begins with its time of creation, so that new rows are appended to the end of each index.
-- Secrets and private keys are stored as digests, or encrypted with a sealing key ("sealed").

---------------------------------------------------------------------------------------------------
-- Users
---------------------------------------------------------------------------------------------------

CREATE TABLE users (
    id                  TEXT   NOT NULL PRIMARY KEY,
    did                 TEXT   NOT NULL UNIQUE,
    -- The value of the `sub` claim.
    subject             TEXT   NOT NULL UNIQUE,
    name                TEXT   NOT NULL,
    -- The full name, or else the user name, without case, accents and width. Lists have the order of its bytes,
    -- whatever the collation of the database.
    search_key          TEXT
--postgresql COLLATE "C"
                        NOT NULL,
    email               TEXT,
    -- Whether an administrator or a mailed link confirmed the email address.
    email_confirmed     BIGINT NOT NULL DEFAULT 0,
    -- JSON: the standard claims of OpenID Connect.
    profile             TEXT   NOT NULL,
    console_role        TEXT,
    state               TEXT   NOT NULL DEFAULT 'invited'
                        CHECK (state IN ('invited', 'active', 'suspended', 'terminated')),
    -- Whether the user was ever active. When a suspension is lifted, a user who never was is invited again.
    was_active          BIGINT NOT NULL DEFAULT 0,
    -- Browsers in which the user signed in before this time are not known browsers any more: the user reported one of them.
    known_browsers_not_before BIGINT NOT NULL DEFAULT 0,
    -- The number of account notifications so far.
    notifications       BIGINT NOT NULL DEFAULT 0,
    -- Incremented by each change (optimistic locking).
    version             BIGINT NOT NULL,
    created_at          BIGINT NOT NULL,
    updated_at          BIGINT NOT NULL
);
-- Lists show users by state or by role, in the order of their creation or of their names.
CREATE INDEX users_by_state ON users (state, id);
CREATE INDEX users_by_search_key ON users (search_key, id);
CREATE INDEX users_by_state_and_search_key ON users (state, search_key, id);
CREATE INDEX users_unconfirmed ON users (id) WHERE email_confirmed = 0 OR email IS NULL;
CREATE INDEX users_by_role ON users (console_role, id) WHERE console_role IS NOT NULL;

-- When a user last signed in with an approval. An update of the user's row would wait for whoever locks it.
CREATE TABLE last_sign_ins (
    user_id      TEXT   NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    signed_in_at BIGINT NOT NULL
)
--sqlite WITHOUT ROWID
;

-- The texts that a user may type at sign-in: the user name and the email address. Each text belongs to one user.
CREATE TABLE login_names (
    name    TEXT NOT NULL PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE
)
--sqlite WITHOUT ROWID
;
CREATE INDEX login_names_by_user ON login_names (user_id);

-- The search index of users: user names, email addresses and the words of full names, without case, accents and width.
-- A search matches the beginning of a term. Terms are stored as bytes, because the order of bytes does not depend on the
-- database's collation.
-- `state` and `console_role` are copies, so that a filtered search reads one range of one index.
CREATE TABLE user_search (
    state        TEXT  NOT NULL,
    term         BYTEA NOT NULL,
    user_id      TEXT  NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    console_role TEXT,
    PRIMARY KEY (state, term, user_id)
)
--sqlite WITHOUT ROWID
;
CREATE INDEX user_search_by_user ON user_search (user_id);
CREATE INDEX user_search_by_role ON user_search (console_role, term, user_id) WHERE console_role IS NOT NULL;

-- Changes of the number of users in a state. The sum of a state's rows is the number of its users. Retention merges the rows. A
-- single row for each state would make all writers wait for each other.
CREATE TABLE user_counts (
    state  TEXT   NOT NULL,
    change BIGINT NOT NULL
);

---------------------------------------------------------------------------------------------------
-- Applications and accounts
---------------------------------------------------------------------------------------------------

CREATE TABLE applications (
    id            TEXT   NOT NULL PRIMARY KEY,
    name          TEXT   NOT NULL,
    -- The name without case, accents and width, by which applications are searched and sorted.
    search_key    TEXT
--postgresql COLLATE "C"
                  NOT NULL,
    -- Which settings the application has: those of an OpenID Connect client or of a SAML service provider.
    protocol      TEXT   NOT NULL DEFAULT 'oidc',
    -- JSON.
    settings      TEXT   NOT NULL,
    -- The digests of the client secrets, at most two, as JSON. Only `client_secret_jwt` also needs the secrets, sealed.
    secrets       TEXT   NOT NULL DEFAULT '[]',
    version       BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL,
    -- Grants of earlier times are not valid: when the application was enabled again, or the end of time while it is
    -- disabled.
    grants_not_before BIGINT NOT NULL DEFAULT 0,
    -- JSON: the roles of each active user; NULL if the application is not assigned to everyone.
    everyone_roles TEXT,
    -- When the application was assigned to everyone.
    everyone_since BIGINT,
    -- Who assigned it to everyone: JSON, the kind and the id of the actor.
    everyone_by TEXT,
    -- Configuration as code: who manages the application by a manifest, and by which key. NULL if no manifest does.
    managed_by    TEXT,
    managed_key   TEXT,
    -- Who manages the assignment to everyone.
    everyone_managed_by TEXT
);
CREATE UNIQUE INDEX applications_by_management ON applications (managed_by, managed_key);

-- The origins of single-page applications, which may call endpoints from a browser (CORS).
CREATE TABLE application_origins (
    application_id TEXT NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    origin         TEXT NOT NULL,
    PRIMARY KEY (origin, application_id)
)
--sqlite WITHOUT ROWID
;
CREATE INDEX application_origins_by_application ON application_origins (application_id);

-- Logos have a table of their own, because most requests that read an application do not need its logo.
CREATE TABLE application_logos (
    application_id TEXT NOT NULL PRIMARY KEY REFERENCES applications (id) ON DELETE CASCADE,
    kind           TEXT NOT NULL CHECK (kind IN ('png', 'jpeg', 'webp')),
    -- The digest of the image, which is the version in its URL.
    digest         TEXT NOT NULL,
    -- Base64.
    content        TEXT NOT NULL
);

-- When a user last signed in to an application. Each instance updates it at most every ten minutes, so that sign-ins do not wait
-- for each other.
CREATE TABLE application_use (
    application_id TEXT   NOT NULL PRIMARY KEY REFERENCES applications (id) ON DELETE CASCADE,
    signed_in_at   BIGINT NOT NULL
)
--sqlite WITHOUT ROWID
;

-- The types of authorization details (RFC 9396).
CREATE TABLE authorization_details_types (
    name       TEXT   NOT NULL PRIMARY KEY,
    -- JSON: the name, the schema and the template of each language.
    definition TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

-- Initial access tokens, with which applications register themselves (RFC 7591).
CREATE TABLE registration_tokens (
    id          TEXT   NOT NULL PRIMARY KEY,
    digest      TEXT   NOT NULL,
    name        TEXT   NOT NULL,
    -- The id of the administrator, operator token or service account.
    created_by  TEXT,
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    -- The numbers of applications that it may register in total, and on one day (UTC).
    quota       BIGINT NOT NULL,
    daily_quota BIGINT NOT NULL,
    used        BIGINT NOT NULL DEFAULT 0,
    -- The number on `day`, which is the day of the last registration since the epoch.
    used_on_day BIGINT NOT NULL DEFAULT 0,
    day         BIGINT NOT NULL DEFAULT 0,
    -- JSON: the limits of the applications.
    limits      TEXT   NOT NULL
);

-- The applications that registered themselves.
CREATE TABLE client_registrations (
    application_id TEXT   NOT NULL PRIMARY KEY REFERENCES applications (id) ON DELETE CASCADE,
    -- The digest of the registration access token.
    digest         TEXT   NOT NULL,
    -- The initial access token, which may be deleted, and its name at that time.
    token_id       TEXT   NOT NULL,
    token_name     TEXT   NOT NULL,
    registered_at  BIGINT NOT NULL,
    -- JSON: the limits of that token, which stay in force for updates.
    limits         TEXT   NOT NULL,
    -- JSON: the accepted metadata without a setting of the application.
    metadata       TEXT   NOT NULL
);

-- When an application last used each of its client secrets. Each instance writes it at most once a minute.
CREATE TABLE client_secret_use (
    secret_id      TEXT   NOT NULL PRIMARY KEY,
    application_id TEXT   NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    used_at        BIGINT NOT NULL
)
--sqlite WITHOUT ROWID
;
CREATE INDEX client_secret_use_by_application ON client_secret_use (application_id);

-- A user's membership in an application.
CREATE TABLE accounts (
    id                TEXT   NOT NULL PRIMARY KEY,
    user_id           TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    application_id    TEXT   NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    name              TEXT   NOT NULL,
    -- JSON.
    roles             TEXT   NOT NULL,
    short_code        TEXT   NOT NULL UNIQUE,
    state             TEXT   NOT NULL DEFAULT 'invited'
                   CHECK (state IN ('invited', 'active', 'suspended', 'terminated')),
    -- Grants from before this time are revoked: the user withdrew the consent, or the account was suspended.
    grants_not_before BIGINT NOT NULL DEFAULT 0,
    -- 1 if the account itself gives access; 0 if only groups and everyone's assignment do.
    individual        BIGINT NOT NULL DEFAULT 1,
    -- Who gave the access by the account itself: JSON, the kind and the id of the actor, as in the audit log. NULL if it gives none.
    granted_by        TEXT,
    -- When an account that existed before began to give access itself. NULL: with its creation.
    granted_at        BIGINT,
    version           BIGINT NOT NULL,
    created_at        BIGINT NOT NULL,
    -- When the version began. A fail-over may lose a version, and the next change uses its number again.
    updated_at        BIGINT NOT NULL,
    UNIQUE (user_id, application_id),
    UNIQUE (application_id, name)
);
CREATE INDEX accounts_in_order ON accounts (application_id, id);
CREATE INDEX accounts_by_state ON accounts (application_id, state, id);
-- The list of users with access has the order of the users, and contains the accounts that grant access themselves.
CREATE INDEX accounts_individual ON accounts (application_id, user_id) WHERE individual = 1;

-- Accounts that a manifest manages. The application and the user identify an account, so it has no key. A table of its
-- own, because few of the many accounts are managed.
CREATE TABLE managed_accounts (
    account_id TEXT NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    managed_by TEXT NOT NULL
);
CREATE INDEX managed_accounts_by_owner ON managed_accounts (managed_by, account_id);

-- When a user last signed in to an application. Each instance updates it at most every ten minutes. A table of its own, because
-- an update of the account's row would wait for its locks, and because it survives the account.
CREATE TABLE account_use (
    user_id        TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    application_id TEXT   NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    signed_in_at   BIGINT NOT NULL,
    PRIMARY KEY (user_id, application_id)
)
--sqlite WITHOUT ROWID
;
CREATE INDEX account_use_by_application ON account_use (application_id);

-- The search index of accounts: the terms of the user, and the account's name.
CREATE TABLE account_search (
    application_id TEXT  NOT NULL,
    state          TEXT  NOT NULL,
    term           BYTEA NOT NULL,
    account_id     TEXT  NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    PRIMARY KEY (application_id, state, term, account_id)
)
--sqlite WITHOUT ROWID
;
CREATE INDEX account_search_by_account ON account_search (account_id);

-- Groups of users, to which applications are assigned.
CREATE TABLE user_groups (
    id          TEXT   NOT NULL PRIMARY KEY,
    name        TEXT   NOT NULL,
    -- The name without case and in one form (NFKC), by which groups are compared.
    name_key    TEXT
--postgresql COLLATE "C"
                NOT NULL UNIQUE,
    -- The name without case, accents and width, by which groups are searched and sorted.
    search_key  TEXT
--postgresql COLLATE "C"
                NOT NULL,
    description TEXT   NOT NULL,
    version     BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    -- Who manages the group by a manifest, and by which key. NULL if no manifest does.
    managed_by  TEXT,
    managed_key TEXT
);

CREATE INDEX user_groups_by_search_key ON user_groups (search_key, name_key);
CREATE UNIQUE INDEX user_groups_by_management ON user_groups (managed_by, managed_key);

CREATE TABLE group_members (
    group_id TEXT   NOT NULL REFERENCES user_groups (id) ON DELETE CASCADE,
    user_id  TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    added_at BIGINT NOT NULL,
    -- JSON: the kind and the id of the actor.
    added_by TEXT,
    PRIMARY KEY (group_id, user_id)
)
--sqlite WITHOUT ROWID
;
CREATE INDEX group_members_by_user ON group_members (user_id, group_id);

-- The groups whose members have access to an application, with the roles that they have there.
CREATE TABLE group_assignments (
    application_id TEXT   NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    group_id       TEXT   NOT NULL REFERENCES user_groups (id) ON DELETE CASCADE,
    -- JSON.
    roles          TEXT   NOT NULL,
    assigned_at    BIGINT NOT NULL,
    -- JSON: the kind and the id of the actor.
    assigned_by    TEXT,
    -- Who manages the assignment by a manifest. The application and the group identify it, so it has no key.
    managed_by     TEXT,
    PRIMARY KEY (application_id, group_id)
)
--sqlite WITHOUT ROWID
;
CREATE INDEX group_assignments_by_group ON group_assignments (group_id, application_id);

CREATE TABLE consents (
    id             TEXT   NOT NULL PRIMARY KEY,
    user_id        TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    application_id TEXT   NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    scopes         TEXT   NOT NULL,
    granted_at     BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL,
    UNIQUE (user_id, application_id)
)
--sqlite WITHOUT ROWID
;
CREATE INDEX consents_by_application ON consents (application_id);

---------------------------------------------------------------------------------------------------
-- Devices, passkeys, recovery
---------------------------------------------------------------------------------------------------

CREATE TABLE devices (
    id                TEXT   NOT NULL PRIMARY KEY,
    user_id           TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name              TEXT   NOT NULL,
    public_key        TEXT   NOT NULL UNIQUE,
    -- JSON: the Web Push subscription.
    push              TEXT,
    -- The number of the last account notification that the device has shown.
    last_notification BIGINT NOT NULL DEFAULT 0,
    created_at        BIGINT NOT NULL,
    -- When the device last answered a request.
    used_at           BIGINT,
    revoked_at        BIGINT,
    -- The link that enrolled it, how that link reached the user, and when it was sent or created. Retention deletes the link.
    enrolment_id      TEXT   NOT NULL,
    enrolled_by       TEXT   NOT NULL CHECK (enrolled_by IN ('email', 'link', 'device', 'recovery_code')),
    link_issued_at    BIGINT NOT NULL,
    -- The IP address of the enrolment; NULL if it is unknown.
    enrolled_from     TEXT
);
CREATE INDEX devices_by_user ON devices (user_id);

-- Permissions to enrol a device: one-time links and QR codes.
CREATE TABLE enrolments (
    id         TEXT   NOT NULL PRIMARY KEY,
    user_id    TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    digest     TEXT   NOT NULL,
    -- The device that created it, or 'code' for a recovery code; NULL for an administrator or the server. Revoking the device
    -- also revokes the enrolment.
    created_by TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at    BIGINT,
    -- 1 if it was ended before its use. The row stays, so that the holder of the link learns the reason.
    is_withdrawn BIGINT NOT NULL DEFAULT 0,
    -- Who created it for another user, as in the audit log.
    inviter_kind TEXT,
    inviter_id TEXT,
    -- How its email fares; NULL if it is not sent by email.
    delivery   TEXT   CHECK (delivery IN ('queued', 'sent', 'failed')),
    -- When it was queued, sent or given up.
    delivery_at BIGINT,
    -- Why the last attempt failed.
    delivery_error TEXT
);
CREATE INDEX enrolments_by_user ON enrolments (user_id);

-- The outbox of invitations: emails that are not sent yet. The row is written with the enrolment. An instance leases it for an
-- attempt by moving `next_attempt_at`; it is deleted when the email was sent or given up.
CREATE TABLE invitation_mails (
    enrolment_id    TEXT   NOT NULL PRIMARY KEY REFERENCES enrolments (id) ON DELETE CASCADE,
    -- The link, sealed.
    sealed_link     TEXT   NOT NULL,
    attempts        BIGINT NOT NULL,
    next_attempt_at BIGINT NOT NULL
);
CREATE INDEX invitation_mails_by_attempt ON invitation_mails (next_attempt_at);

-- A device's passkey, with which the device verifies the user. A device has at most one.
CREATE TABLE passkeys (
    device_id     TEXT   NOT NULL PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
    credential_id TEXT   NOT NULL UNIQUE,
    -- JSON of webauthn-rs: the public key and properties of the authenticator.
    credential    TEXT   NOT NULL,
    -- The signature counter at the last use.
    counter       BIGINT NOT NULL,
    added_at      BIGINT NOT NULL,
    -- Whether it signs in on login pages: `unavailable` for one that no login page finds, `declined` for one whose user withdrew.
    sign_in       TEXT   NOT NULL DEFAULT 'unavailable' CHECK (sign_in IN ('unavailable', 'declined', 'agreed')),
    -- When the user agreed to that.
    agreed_at     BIGINT,
    CHECK ((sign_in = 'agreed') = (agreed_at IS NOT NULL))
);

-- Pending WebAuthn ceremonies: a registration or an authentication. A device has at most one; a new one replaces the old one. The
-- answer deletes the row.
CREATE TABLE passkey_ceremonies (
    device_id  TEXT   NOT NULL PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
    -- The digest of the purpose: for an approval, of the text that the device signed.
    purpose    TEXT   NOT NULL,
    -- JSON of webauthn-rs: the challenge and the expected values.
    state      TEXT   NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX passkey_ceremonies_by_end ON passkey_ceremonies (expires_at);

-- Recovery codes: each permits one enrolment to a user without a device.
CREATE TABLE recovery_codes (
    id         TEXT   NOT NULL PRIMARY KEY,
    user_id    TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    digest     TEXT   NOT NULL,
    -- The device that created or approved the codes. Revoking the device also revokes them.
    created_by TEXT   NOT NULL,
    -- The codes that were created together: for those of the portal the approval that permitted them. They are pending until
    -- the user confirms that they are saved.
    batch      TEXT   NOT NULL,
    is_pending BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    used_at    BIGINT,
    -- The link that the use of the code created.
    enrolment_id TEXT,
    UNIQUE (user_id, digest)
);

-- The ids by which vendors' authenticators know a user, as an administrator entered them.
CREATE TABLE external_authenticators (
    user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- The channel's name in the settings.
    channel    TEXT NOT NULL,
    identifier TEXT NOT NULL,
    PRIMARY KEY (user_id, channel)
)
--sqlite WITHOUT ROWID
;

---------------------------------------------------------------------------------------------------
-- Sign-ins and approvals
---------------------------------------------------------------------------------------------------

-- A sign-in: one attempt of a browser, from the application's request to the answer.
CREATE TABLE logins (
    id          TEXT   NOT NULL PRIMARY KEY,
    -- The digest of the browser's cookie.
    browser     TEXT   NOT NULL,
    -- JSON: the application's request.
    request     TEXT   NOT NULL,
    -- JSON: the browser's location and name, which the authenticator shows after scanning the page's QR code.
    context     TEXT   NOT NULL,
    -- The network of the browser for rate limits: an IPv4 address, or the first 64 bits of an IPv6 address. NULL if a user with a
    -- session began the sign-in.
    network     TEXT,
    -- The first 56 and 48 bits of an IPv6 address, of which one client may have all. NULL for an IPv4 address.
    network_56  TEXT,
    network_48  TEXT,
    -- 1 if a user signed in in this browser before.
    known       BIGINT NOT NULL DEFAULT 0,
    approval_id TEXT,
    -- The existing session that the sign-in uses, for example to ask for consent.
    session_id  TEXT,
    -- The session that the user did not want to continue with.
    declined_session_id TEXT,
    answered_at BIGINT,
    -- JSON: the kind of the answer and the ids of its session and code, so that the same browser can receive the answer again.
    -- Codes and cookies are derived from them, and not stored.
    answer      TEXT,
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    CHECK ((answered_at IS NULL) = (answer IS NULL))
);
-- Sign-ins without a user. Anybody can begin them, so their number is limited for each network and in total.
CREATE INDEX logins_open_of_network ON logins (network, known, id)
    WHERE approval_id IS NULL AND session_id IS NULL AND answered_at IS NULL AND network IS NOT NULL;
CREATE INDEX logins_open_of_network_56 ON logins (network_56, known, id)
    WHERE approval_id IS NULL AND session_id IS NULL AND answered_at IS NULL AND network IS NOT NULL
      AND network_56 IS NOT NULL;
CREATE INDEX logins_open_of_network_48 ON logins (network_48, known, id)
    WHERE approval_id IS NULL AND session_id IS NULL AND answered_at IS NULL AND network IS NOT NULL
      AND network_48 IS NOT NULL;
CREATE INDEX logins_open_of_known_browser ON logins (browser, id)
    WHERE approval_id IS NULL AND session_id IS NULL AND answered_at IS NULL AND network IS NOT NULL AND known = 1;
CREATE INDEX logins_open ON logins (id)
    WHERE approval_id IS NULL AND session_id IS NULL AND answered_at IS NULL AND network IS NOT NULL;
CREATE INDEX logins_by_session ON logins (session_id) WHERE session_id IS NOT NULL;

-- Pending WebAuthn ceremonies of login pages. A sign-in has at most one; a new one replaces the old one, and the answer deletes the
-- row. It ends with the sign-in.
CREATE TABLE sign_in_ceremonies (
    login_id TEXT NOT NULL PRIMARY KEY REFERENCES logins (id) ON DELETE CASCADE,
    -- JSON of webauthn-rs: the challenge and the expected values.
    state    TEXT NOT NULL
);

-- The approvals of protected actions. The request goes to the administrator's own devices.
CREATE TABLE action_approvals (
    id                 TEXT   NOT NULL PRIMARY KEY,
    -- The administrator.
    actor              TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- The console session in which the approval can be used; NULL for the request of a caller with a token.
    session_id         TEXT,
    -- The digest of the cookie of the console's browser, or of the caller with a token.
    browser            TEXT   NOT NULL,
    -- The digest of the action in its command. The approval permits no other.
    action_digest      TEXT   NOT NULL,
    -- The kind of the action, and the ids of what it concerns; NULL if it concerns no user or no application.
    action_kind        TEXT   NOT NULL,
    target_user        TEXT,
    target_application TEXT,
    -- JSON: the typed action; and the digest of its summary, which is rendered from the action for the device. Both are NULL once the
    -- approval was used or ended.
    action             TEXT,
    summary_digest     TEXT,
    -- The digests of the names in the action that a user would sign in with, separated by spaces; later names of these users are added.
    -- The erasure of a user deletes the row, or these digests if the approval ended.
    names              TEXT,
    requested_at       BIGINT NOT NULL,
    expires_at         BIGINT NOT NULL,
    -- When the approval was used, which succeeds once.
    claimed_at         BIGINT
);
CREATE INDEX action_approvals_by_actor ON action_approvals (actor);
CREATE INDEX action_approvals_by_target_user ON action_approvals (target_user) WHERE target_user IS NOT NULL;
CREATE INDEX action_approvals_with_action ON action_approvals (expires_at) WHERE action IS NOT NULL;

-- Back-channel authentication requests (OpenID CIBA Core 1.0): an application asks for a user without a browser.
CREATE TABLE backchannel_requests (
    id              TEXT   NOT NULL PRIMARY KEY,
    -- The digest of the `auth_req_id`, or of the `device_code`.
    digest          TEXT   NOT NULL,
    application_id  TEXT   NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    user_id         TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    scopes          TEXT   NOT NULL,
    -- What the user compares with the text of the application.
    binding_message TEXT,
    -- How the user connects the request with the application. The digits to type are the number of its approval.
    binding         TEXT   NOT NULL CHECK (binding IN ('shown', 'typed', 'none')),
    -- JSON: the authorization details with their texts.
    authorization_details TEXT NOT NULL,
    -- The code of a device that the user entered, and when the device asked; NULL if the application asked for the user.
    user_code       TEXT,
    asked_at        BIGINT,
    -- The group of which a member must approve beside the user, and JSON: the user as the second approver sees the user. NULL if
    -- nobody must. The id refers to no row: without the group nobody can approve.
    second_group    TEXT,
    second_for      TEXT,
    requested_at    BIGINT NOT NULL,
    expires_at      BIGINT NOT NULL,
    -- When the application received its tokens, or withdrew the request. Either succeeds once, and excludes the other.
    claimed_at      BIGINT,
    CHECK ((user_code IS NULL) = (asked_at IS NULL)),
    CHECK (user_code IS NULL OR binding_message IS NULL),
    CHECK ((second_group IS NULL) = (second_for IS NULL))
);
CREATE INDEX backchannel_requests_by_user ON backchannel_requests (user_id, id);
CREATE INDEX backchannel_requests_by_application ON backchannel_requests (application_id, id);
CREATE INDEX backchannel_requests_by_end ON backchannel_requests (expires_at);

-- What a user decided in the portal about the back-channel requests of an application.
CREATE TABLE backchannel_choices (
    user_id        TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    application_id TEXT   NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    -- 1 if no device receives the requests of the application.
    stopped        BIGINT NOT NULL CHECK (stopped IN (0, 1)),
    -- When the user decided. Earlier denials, reports and requests without an answer do not pause the application any more.
    chosen_at      BIGINT NOT NULL,
    PRIMARY KEY (user_id, application_id)
)
--sqlite WITHOUT ROWID
;
CREATE INDEX backchannel_choices_by_application ON backchannel_choices (application_id);

-- Checks of callers: a help desk asks the device of a user whether the user is on the phone. They end with the request.
CREATE TABLE caller_checks (
    id                 TEXT   NOT NULL PRIMARY KEY,
    user_id            TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- Who asks: an administrator, an operator token or a service account.
    asked_by_kind      TEXT   NOT NULL,
    asked_by           TEXT,
    -- The name of the administrator, as the device shows it.
    administrator_name TEXT   NOT NULL,
    requested_at       BIGINT NOT NULL,
    expires_at         BIGINT NOT NULL
);
CREATE INDEX caller_checks_by_user ON caller_checks (user_id, requested_at);

-- Device authorization requests (RFC 8628): a device shows a code, and waits for a user who enters it. The entry adds a
-- back-channel request with the same id.
CREATE TABLE device_authorizations (
    id             TEXT   NOT NULL PRIMARY KEY,
    -- The digest of the `device_code`.
    digest         TEXT   NOT NULL,
    -- The digest of the `user_code`, by a key that the database does not have: a code has only 34 bits.
    user_code      TEXT   NOT NULL,
    application_id TEXT   NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    scopes         TEXT   NOT NULL,
    -- JSON: the location from which the device asked.
    origin         TEXT   NOT NULL,
    requested_at   BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL,
    -- When a user entered the code, which succeeds once.
    entered_at     BIGINT
);
CREATE UNIQUE INDEX device_authorizations_by_code ON device_authorizations (user_code);
CREATE INDEX device_authorizations_by_application ON device_authorizations (application_id);
CREATE INDEX device_authorizations_by_end ON device_authorizations (expires_at);

-- The results of back-channel requests that the server sends to the application (OpenID CIBA Core 1.0, modes ping and
-- push). The row is added with its request, is due at the expiry of the request, and at once after a decision.
CREATE TABLE backchannel_deliveries (
    -- The back-channel request.
    id              TEXT   NOT NULL PRIMARY KEY REFERENCES backchannel_requests (id) ON DELETE CASCADE,
    application_id  TEXT   NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    -- The `auth_req_id` and the client's notification token, sealed for this request.
    sealed          TEXT   NOT NULL,
    -- The grant of the tokens that are pushed, once the request is claimed for them.
    family_id       TEXT,
    attempts        BIGINT NOT NULL,
    -- The time of the decision, or the expiry of the request.
    due_at          BIGINT NOT NULL,
    next_attempt_at BIGINT NOT NULL,
    give_up_at      BIGINT NOT NULL
);
CREATE INDEX backchannel_deliveries_by_application ON backchannel_deliveries (application_id, next_attempt_at);
CREATE INDEX backchannel_deliveries_by_due ON backchannel_deliveries (due_at);

-- Approval requests and their answers. Each has one subject: a sign-in, a protected action, a back-channel request, the second
-- approval of one, or the check of a caller.
CREATE TABLE approvals (
    id                 TEXT   NOT NULL PRIMARY KEY,
    login_id           TEXT   REFERENCES logins (id) ON DELETE CASCADE,
    action_approval_id TEXT   REFERENCES action_approvals (id) ON DELETE CASCADE,
    backchannel_id     TEXT   REFERENCES backchannel_requests (id) ON DELETE CASCADE,
    -- The back-channel request that needs this second approval. Each user who may give it has a row.
    second_of          TEXT   REFERENCES backchannel_requests (id) ON DELETE CASCADE,
    caller_check_id    TEXT   REFERENCES caller_checks (id) ON DELETE CASCADE,
    -- The application that the request is for. Suspending the user's account there ends the request.
    application_id     TEXT,
    -- The user whose devices receive the request; NULL if the typed name belongs to no user who can sign in.
    user_id            TEXT   REFERENCES users (id) ON DELETE CASCADE,
    -- The user with the typed name, whether or not devices receive the request.
    named_user         TEXT   REFERENCES users (id) ON DELETE CASCADE,
    -- The user whose cooldown holds the request: it is sent to the devices when the cooldown ends. NULL for all others.
    held_for           TEXT   REFERENCES users (id) ON DELETE CASCADE,
    name_digest        TEXT   NOT NULL,
    -- How the request began.
    kind               TEXT   NOT NULL
                   CHECK (kind IN ('typed', 'known_browser', 'stale_browser', 'qr', 'action', 'passkey', 'backchannel',
                                   'device_authorization', 'caller_check', 'second_approval')),
    -- The digest of the browser's cookie. No browser has that of a back-channel request.
    browser            TEXT   NOT NULL,
    -- The device that scanned the QR code of the login page, or whose passkey was used there.
    scanned_by         TEXT,
    -- 1 if that device is in the browser that waits.
    same_browser       BIGINT NOT NULL DEFAULT 0,
    -- The matching number; NULL for a passkey, which approves as the row begins, and for a back-channel request without
    -- digits to type.
    number             TEXT,
    attempts_left      BIGINT NOT NULL,
    -- JSON: what the device shows and signs. The summary of a protected action comes to it, which is not stored.
    prompt             TEXT   NOT NULL,
    -- 1 if a delegated channel without letters may carry the request. Its user cannot see which browser a request belongs to.
    without_binding    BIGINT NOT NULL DEFAULT 0,
    -- 1 if the request ended because another one of the same name or user was pending. It still counts until it expires: the
    -- originator of the conflict must not have the next request without competition.
    conflicted         BIGINT NOT NULL DEFAULT 0,
    -- `replaced`: a newer request of the same browser took its place. `withdrawn`: the user may no longer sign in to the
    -- application. `reported`: the user reported this or another request while it was pending. The pages of the last two show
    -- nothing of that.
    state              TEXT   NOT NULL DEFAULT 'requested' CHECK (state IN
                   ('requested', 'approved', 'denied', 'expired', 'cancelled', 'replaced', 'withdrawn', 'reported', 'number_mismatch')),
    -- 1 if the user reported the request. A request can be reported once, also shortly after its denial.
    reported           BIGINT NOT NULL DEFAULT 0 CHECK (reported IN (0, 1)),
    -- Who decided: a device, or a delegated channel.
    device_id          TEXT,
    channel            TEXT,
    -- JSON: the `amr` claim of the sign-in.
    amr                TEXT,
    requested_at       BIGINT NOT NULL,
    expires_at         BIGINT NOT NULL,
    decided_at         BIGINT,
    -- 1 if the audit log has the entry about the expiry or the cancellation. The entry is not written with the cancellation, whose
    -- response time would then tell whether the name belongs to a user.
    end_recorded       BIGINT NOT NULL DEFAULT 0,
    CHECK ((CASE WHEN login_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN action_approval_id IS NULL THEN 0 ELSE 1 END)
           + (CASE WHEN backchannel_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN caller_check_id IS NULL THEN 0 ELSE 1 END)
           + (CASE WHEN second_of IS NULL THEN 0 ELSE 1 END) = 1),
    CHECK ((kind IN ('backchannel', 'device_authorization')) = (backchannel_id IS NOT NULL)),
    CHECK ((kind = 'caller_check') = (caller_check_id IS NOT NULL)),
    CHECK ((kind = 'second_approval') = (second_of IS NOT NULL)),
    CHECK ((number IS NULL) = (kind IN ('passkey', 'device_authorization', 'second_approval')) OR kind = 'backchannel'),
    CHECK (kind <> 'passkey' OR state IN ('approved', 'withdrawn'))
);
CREATE UNIQUE INDEX approvals_by_action ON approvals (action_approval_id) WHERE action_approval_id IS NOT NULL;
CREATE UNIQUE INDEX approvals_by_backchannel ON approvals (backchannel_id) WHERE backchannel_id IS NOT NULL;
CREATE INDEX approvals_by_second ON approvals (second_of) WHERE second_of IS NOT NULL;
CREATE UNIQUE INDEX approvals_by_caller_check ON approvals (caller_check_id) WHERE caller_check_id IS NOT NULL;
CREATE INDEX approvals_by_user ON approvals (user_id, id);
CREATE INDEX approvals_by_login ON approvals (login_id);
CREATE INDEX approvals_by_named_user ON approvals (named_user, expires_at);
CREATE INDEX approvals_by_name ON approvals (name_digest, expires_at);
CREATE INDEX approvals_held ON approvals (held_for) WHERE held_for IS NOT NULL;

-- One row for each user or typed name with recent requests. A transaction locks the row before it draws a matching number.
CREATE TABLE approval_subjects (
    -- The user's id, or the digest of the typed name.
    subject          TEXT   NOT NULL PRIMARY KEY,
    locked_at        BIGINT NOT NULL,
    -- A request that a rate limit rejected conflicts with requests on a delegated channel without letters until this time, as if it
    -- were pending.
    rejected_until   BIGINT NOT NULL DEFAULT 0,
    -- The digest of the rejected browser's cookie; empty if several browsers were rejected.
    rejected_browser TEXT   NOT NULL DEFAULT ''
)
--sqlite WITHOUT ROWID
;
CREATE INDEX approval_subjects_by_age ON approval_subjects (locked_at);

-- Failed number matches, each counted once: a channel may deliver the same proof several times.
CREATE TABLE number_match_failures (
    approval_id TEXT NOT NULL REFERENCES approvals (id) ON DELETE CASCADE,
    device_id   TEXT NOT NULL,
    -- The digest of the typed number.
    number      TEXT NOT NULL,
    PRIMARY KEY (approval_id, device_id, number)
)
--sqlite WITHOUT ROWID
;

-- Requests that an approval channel has accepted for delivery. The row is deleted when there is nothing left to ask the channel.
CREATE TABLE approval_deliveries (
    id           TEXT   NOT NULL PRIMARY KEY,
    approval_id  TEXT   NOT NULL REFERENCES approvals (id) ON DELETE CASCADE,
    channel      TEXT   NOT NULL,
    -- The recipient: a device, or the user's id at the vendor when the delivery began.
    device_id    TEXT,
    identifier   TEXT,
    -- The channel's handle of the request, sealed.
    handle       TEXT   NOT NULL,
    -- When to ask the channel next or, after the approval has ended, to cancel the delivery.
    due_at       BIGINT NOT NULL,
    -- Until when one instance has an exclusive lease.
    leased_until BIGINT NOT NULL
);
CREATE INDEX approval_deliveries_by_channel ON approval_deliveries (channel, due_at);
CREATE INDEX approval_deliveries_by_approval ON approval_deliveries (approval_id);
CREATE INDEX approval_deliveries_by_next ON approval_deliveries ((CASE WHEN due_at > leased_until THEN due_at ELSE leased_until END));

-- The outbox of approval requests: the row of a request is inserted with the request, and deleted after the request was sent
-- through an approval channel.
CREATE TABLE approval_dispatches (
    approval_id  TEXT   NOT NULL PRIMARY KEY REFERENCES approvals (id) ON DELETE CASCADE,
    -- Until when the instance that sends the request has an exclusive lease. Afterwards any instance sends it. For a held request:
    -- the end of the cooldown.
    leased_until BIGINT NOT NULL
);
CREATE INDEX approval_dispatches_by_lease ON approval_dispatches (leased_until);

-- Users' reports that an approval request was not theirs. An open report stays until an administrator settles it.
CREATE TABLE reports (
    id              TEXT   NOT NULL PRIMARY KEY,
    user_id         TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    device_id       TEXT   NOT NULL,
    -- What the request was for; the application is NULL for a protected action, the console and the portal.
    kind            TEXT   NOT NULL CHECK (kind IN ('sign-in', 'action', 'backchannel', 'caller-check')),
    application_id  TEXT,
    -- What the user saw: the place, and the browser.
    requested_from  TEXT   NOT NULL,
    requested_with  TEXT   NOT NULL,
    reported_at     BIGINT NOT NULL,
    -- When, by whom and with which note it was settled; NULL for an open report.
    settled_at      BIGINT,
    settled_by_kind TEXT,
    settled_by      TEXT,
    note            TEXT
);
CREATE INDEX reports_by_user ON reports (user_id, id);
CREATE INDEX reports_open ON reports (id) WHERE settled_at IS NULL;
CREATE INDEX reports_settled ON reports (settled_at) WHERE settled_at IS NOT NULL;

-- Receipts: the signed evidence of answers. A report of a denied request replaces the receipt of the denial.
CREATE TABLE receipts (
    -- The id of the approval request, which retention deletes before.
    id         TEXT   NOT NULL PRIMARY KEY,
    user_id    TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- The user that the protected action or the second approval concerns, and the digests of the names in it, separated by spaces, as
    -- in action_approvals; NULL without names. Of the check of a caller: the administrator. The erasure of such a user deletes the row,
    -- because the signed text has the name.
    about_user TEXT,
    names      TEXT,
    -- The application that may read the receipt: the one whose back-channel request the user approved. NULL for all others.
    application_id TEXT,
    decided_at BIGINT NOT NULL,
    -- The receipt: a JWS in the compact form.
    receipt    TEXT   NOT NULL
);
CREATE INDEX receipts_by_user ON receipts (user_id);
CREATE INDEX receipts_by_about_user ON receipts (about_user) WHERE about_user IS NOT NULL;
CREATE INDEX receipts_with_names ON receipts (id) WHERE names IS NOT NULL;

-- Changes that waiting requests of any instance wait for. Each instance polls the table while requests wait. Retention deletes the
-- rows after some minutes.
CREATE TABLE changes (
    -- Transactions may commit in another order.
--sqlite     seq    INTEGER PRIMARY KEY,
--postgresql     seq    BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    -- What changed, with its id: an approval that ended, the inbox of a user's devices, a login, or a test sign-in.
    change TEXT   NOT NULL
);

-- Cooldowns: after a denial no request reaches a device of the user for a time that grows with each denial.
CREATE TABLE approval_cooldowns (
    user_id        TEXT   NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    -- The number of consecutive denials.
    denials        BIGINT NOT NULL,
    denied_at      BIGINT NOT NULL,
    cooldown_until BIGINT NOT NULL
);
CREATE INDEX approval_cooldowns_by_end ON approval_cooldowns (cooldown_until, user_id);

-- How often a name was typed recently in a network. Above a threshold, the audit log gets one entry with the count in place of an
-- entry for each.
CREATE TABLE repeated_requests (
    -- The digest of the name. Names without a user have rows, too.
    name_digest TEXT   NOT NULL,
    network     TEXT   NOT NULL,
    user_id     TEXT,
    first_at    BIGINT NOT NULL,
    last_at     BIGINT NOT NULL,
    requests    BIGINT NOT NULL,
    PRIMARY KEY (name_digest, network)
)
--sqlite WITHOUT ROWID
;
CREATE INDEX repeated_requests_by_first ON repeated_requests (first_at);
CREATE INDEX repeated_requests_by_user ON repeated_requests (user_id) WHERE user_id IS NOT NULL;

---------------------------------------------------------------------------------------------------
-- Sessions and logout
---------------------------------------------------------------------------------------------------

CREATE TABLE sessions (
    id         TEXT   NOT NULL PRIMARY KEY,
    digest     TEXT   NOT NULL,
    -- The `sid` claim. It survives another sign-in of the same user in the same browser, so it is not unique.
    sid        TEXT   NOT NULL,
    user_id    TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    auth_time  BIGINT NOT NULL,
    amr        TEXT   NOT NULL,
    -- The device or the delegated channel that approved the sign-in. A session of a channel that is no longer in the settings is
    -- not accepted.
    device_id  TEXT,
    channel    TEXT,
    -- The IP address and the browser's name at sign-in.
    ip_address TEXT,
    browser    TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    -- When the session last signed the user in to an application.
    used_at    BIGINT,
    ended_at   BIGINT,
    -- 1 if the user signed out. That also revokes the grants of the session, except those with `offline_access`.
    signed_out BIGINT NOT NULL,
    -- 1 if the approval of a back-channel request began the session, so that no browser has its cookie.
    without_browser BIGINT NOT NULL DEFAULT 0 CHECK (without_browser IN (0, 1))
);
CREATE INDEX sessions_by_user ON sessions (user_id);
CREATE INDEX sessions_by_sid ON sessions (sid);

-- The OpenID Connect clients that a user signed in to in a session. Each receives a logout token when the session ends.
CREATE TABLE session_applications (
    sid            TEXT NOT NULL,
    application_id TEXT NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    user_id        TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- The `sub` claim for that client.
    subject        TEXT NOT NULL,
    PRIMARY KEY (sid, application_id)
)
--sqlite WITHOUT ROWID
;
CREATE INDEX session_applications_by_user ON session_applications (user_id, application_id);
CREATE INDEX session_applications_by_application ON session_applications (application_id);

-- Pending logout tokens (OpenID Connect Back-Channel Logout 1.0).
CREATE TABLE logout_deliveries (
    id              TEXT   NOT NULL PRIMARY KEY,
    application_id  TEXT   NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    sid             TEXT   NOT NULL,
    subject         TEXT   NOT NULL,
    attempts        BIGINT NOT NULL,
    next_attempt_at BIGINT NOT NULL,
    created_at      BIGINT NOT NULL
);
CREATE INDEX logout_deliveries_by_application ON logout_deliveries (application_id, next_attempt_at);

-- The clients of sessions that ended recently, for the page of the logout.
CREATE TABLE logout_clients (
    sid            TEXT   NOT NULL,
    application_id TEXT   NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    -- 'notified': the client accepted a logout token. 'loaded': the browser loaded its sign-out page.
    outcome        TEXT   CHECK (outcome IN ('notified', 'loaded')),
    ended_at       BIGINT NOT NULL,
    PRIMARY KEY (sid, application_id)
)
--sqlite WITHOUT ROWID
;
CREATE INDEX logout_clients_by_application ON logout_clients (application_id);
CREATE INDEX logout_clients_by_end ON logout_clients (ended_at);

---------------------------------------------------------------------------------------------------
-- OpenID Connect: codes and tokens
---------------------------------------------------------------------------------------------------

-- Token families: all that comes of one authorization. The row is created with the authorization code and outlives it. Tokens are
-- sealed texts and have no rows: one update of this row revokes the code and all its tokens. The family of a back-channel request
-- has no code and no redirect URI.
CREATE TABLE token_families (
    id                TEXT   NOT NULL PRIMARY KEY,
    code_digest       TEXT,
    application_id    TEXT   NOT NULL,
    redirect_uri      TEXT,
    code_challenge    TEXT,
    scopes            TEXT   NOT NULL,
    user_id           TEXT   NOT NULL,
    account_id        TEXT   NOT NULL,
    session_id        TEXT   NOT NULL,
    -- JSON: what later ID tokens repeat (`sid`, `auth_time`, `amr`), and the `claims` parameter of the request.
    context           TEXT   NOT NULL,
    -- JSON: the claims of the ID token. The exchange of the code clears them.
    claims            TEXT   NOT NULL,
    -- 1 if the grant survives the session (`offline_access`).
    offline           BIGINT NOT NULL,
    created_at        BIGINT NOT NULL,
    code_expires_at   BIGINT NOT NULL,
    -- Until when a request may refer to this row: the expiry of the code or, after its exchange, of the family's last token.
    retain_until      BIGINT NOT NULL,
    exchanged_at      BIGINT,
    -- The number of refreshes. A refresh token with a smaller number was used before.
    counter           BIGINT NOT NULL DEFAULT 0,
    -- The access token of the last refresh. A retry of the refresh revokes it.
    access_token      TEXT,
    access_expires_at BIGINT,
    refreshed_at      BIGINT,
    -- The retry of the last refresh: 0 none, -1 answered, otherwise the time at which it was requested.
    retry_at          BIGINT NOT NULL DEFAULT 0,
    -- The largest number of a refresh whose access token was used. A refresh may be retried only before that.
    used_counter      BIGINT NOT NULL DEFAULT 0,
    revoked_at        BIGINT,
    CHECK ((code_digest IS NULL) = (redirect_uri IS NULL)),
    CHECK (code_digest IS NOT NULL OR exchanged_at IS NOT NULL)
)
-- A refresh finds room for the new version of its row in the same page, so that no index changes.
--postgresql WITH (fillfactor = 80)
;
CREATE INDEX token_families_by_end ON token_families (retain_until);

-- Pushed authorization requests (RFC 9126), until they expire. The answer of a sign-in claims `digest` in `replay_cache`.
CREATE TABLE pushed_requests (
    id             TEXT   NOT NULL PRIMARY KEY,
    -- The digest of the `request_uri`.
    digest         TEXT   NOT NULL,
    application_id TEXT   NOT NULL,
    -- JSON: the parameters by name, without those that authenticated the application.
    parameters     TEXT   NOT NULL,
    expires_at     BIGINT NOT NULL
)
--sqlite WITHOUT ROWID
;
-- The number of requests of an application is bounded.
CREATE INDEX pushed_requests_of_application ON pushed_requests (application_id, id);

-- Access tokens that were revoked one by one, until they expire.
CREATE TABLE revoked_tokens (
    id         TEXT   NOT NULL PRIMARY KEY,
    expires_at BIGINT NOT NULL
)
--sqlite WITHOUT ROWID
;
CREATE INDEX revoked_tokens_by_end ON revoked_tokens (expires_at);

-- Tokens contain the number of the epoch in which they were issued, and only those of the last one are valid. An operator begins a new
-- epoch after the restore of a backup, which has forgotten revocations and refreshes. The number of a new epoch is at least the time in
-- seconds, so that it differs from the epochs that the restored backup has forgotten.
CREATE TABLE token_epochs (
    epoch    BIGINT NOT NULL PRIMARY KEY,
    began_at BIGINT NOT NULL
)
--sqlite WITHOUT ROWID
;
INSERT INTO token_epochs (epoch, began_at) VALUES (1, 0);

-- The replay cache of client assertions (RFC 7523 section 3): a client may use each `jti` once.
CREATE TABLE replay_cache (
    id          TEXT   NOT NULL PRIMARY KEY,
    expires_at  BIGINT NOT NULL,
    -- Of a message that a session answered at once: the time, and the digest of the sign-on, its browser and its session, which may
    -- receive the answer again.
    answered_at BIGINT,
    answered_to TEXT
)
--sqlite WITHOUT ROWID
;
CREATE INDEX replay_cache_by_end ON replay_cache (expires_at);

---------------------------------------------------------------------------------------------------
-- SAML 2.0
---------------------------------------------------------------------------------------------------

-- The keys that sign responses to a service provider. The stage of a key follows from its times.
CREATE TABLE saml_keys (
    id             TEXT   NOT NULL PRIMARY KEY,
    application_id TEXT   NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    -- The number of the key for its application. If several instances create the next key at the same time, one succeeds.
    generation     BIGINT NOT NULL,
    sealed         TEXT   NOT NULL,
    -- PEM.
    certificate    TEXT   NOT NULL,
    created_at     BIGINT NOT NULL,
    signs_from     BIGINT NOT NULL,
    -- The end of the certificate's validity.
    expires_at     BIGINT NOT NULL,
    UNIQUE (application_id, generation)
);

-- Verified AuthnRequests until the browser continues with its cookies.
CREATE TABLE sign_on_requests (
    id         TEXT   NOT NULL PRIMARY KEY,
    request    TEXT   NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at    BIGINT,
    -- The digest of the cookie of the browser that continued with the request, and the session in its cookie. The same browser may
    -- continue again within 30 seconds, because the response may have been lost.
    browser    TEXT,
    session_id TEXT,
    uses       BIGINT NOT NULL DEFAULT 0
);

-- The service providers that a user signed in to in a session, with the NameIDs that they received.
CREATE TABLE saml_participants (
    sid            TEXT NOT NULL,
    application_id TEXT NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    user_id        TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name_format    TEXT NOT NULL,
    name           TEXT NOT NULL,
    -- All spellings of the name have this key.
    name_key       TEXT NOT NULL,
    -- The digest of the SessionIndex by which the service provider names the session.
    session_index  TEXT NOT NULL,
    -- A request may ask for another NameID format; the names of all formats remain valid.
    PRIMARY KEY (sid, application_id, name_format)
)
--sqlite WITHOUT ROWID
;
CREATE INDEX saml_participants_by_name_key ON saml_participants (application_id, name_key);
CREATE INDEX saml_participants_by_user ON saml_participants (user_id, application_id);
CREATE INDEX saml_participants_by_index ON saml_participants (application_id, session_index);

-- Single logouts, which visit one service provider after the other in the user's browser.
CREATE TABLE saml_logouts (
    id           TEXT   NOT NULL PRIMARY KEY,
    -- JSON: the browsers that may continue the logout.
    browsers     TEXT   NOT NULL,
    -- JSON: what the browser does at the end.
    continuation TEXT   NOT NULL,
    -- The digest of the cookie of the browser that signed out. NULL if a service provider began the logout.
    browser      TEXT,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    finished_at  BIGINT,
    -- When the time of the clients' frames ends. NULL until the browser loads the page with them.
    frames_until BIGINT
);
CREATE INDEX saml_logouts_by_browser ON saml_logouts (browser) WHERE browser IS NOT NULL;

-- The service providers of a single logout. The id is that of the LogoutRequest.
CREATE TABLE saml_logout_requests (
    id             TEXT   NOT NULL PRIMARY KEY,
    logout_id      TEXT   NOT NULL REFERENCES saml_logouts (id) ON DELETE CASCADE,
    application_id TEXT   NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    -- The position in the sequence.
    position       BIGINT NOT NULL,
    sid            TEXT   NOT NULL,
    name_format    TEXT   NOT NULL,
    name           TEXT   NOT NULL,
    requested_at   BIGINT,
    outcome        TEXT   CHECK (outcome IN ('notified', 'failed'))
);
CREATE INDEX saml_logout_requests_by_logout ON saml_logout_requests (logout_id, position);
CREATE INDEX saml_logout_requests_by_sid ON saml_logout_requests (sid);
CREATE INDEX saml_logout_requests_by_application ON saml_logout_requests (application_id);

---------------------------------------------------------------------------------------------------
-- Keys
---------------------------------------------------------------------------------------------------

-- The root secret and the sealing keys, each encrypted ("wrapped") with a master key. While the master key is
-- replaced, they are wrapped with both.
CREATE TABLE wrapped_keys (
    purpose    TEXT   NOT NULL CHECK (purpose IN ('root', 'sealing')),
    -- The number of a sealing key, from 1: sealed values begin with it. 0 for the root secret.
    generation BIGINT NOT NULL,
    -- The fingerprint of the master key.
    master_key TEXT   NOT NULL,
    wrapped    TEXT   NOT NULL,
    -- From when a sealing key seals: by then all instances know it.
    seals_from BIGINT NOT NULL,
    -- Until when tokens may be valid that a replaced sealing key sealed; NULL while it seals.
    needed_until BIGINT,
    PRIMARY KEY (purpose, generation, master_key),
    CHECK (generation >= 0 AND (purpose = 'root') = (generation = 0))
)
--sqlite WITHOUT ROWID
;

-- The keys that sign tokens and push messages.
-- The stage of a key (published, signing, retired, expired) follows from its times, so all instances agree without messages.
CREATE TABLE signing_keys (
    id         TEXT   NOT NULL PRIMARY KEY,
    purpose    TEXT   NOT NULL,
    -- The number of the key for its purpose. If several instances create the next key at the same time, one succeeds.
    generation BIGINT NOT NULL,
    -- The private key, sealed, until the key expires or is revoked.
    sealed     TEXT,
    -- The public key from then on.
    public_jwk TEXT,
    created_at BIGINT NOT NULL,
    -- When the key begins to sign and the one before it stops.
    signs_from BIGINT NOT NULL,
    revoked_at BIGINT,
    UNIQUE (purpose, generation),
    CHECK ((sealed IS NULL) <> (public_jwk IS NULL))
);

---------------------------------------------------------------------------------------------------
-- Audit log
---------------------------------------------------------------------------------------------------

-- Entries outlive the rows that they name, so there are no foreign keys. Lists are in the order of the ids. On PostgreSQL the table
-- has a partition for each week, which is dropped as a whole.
CREATE TABLE audit_entries (
    id              TEXT   NOT NULL PRIMARY KEY,
    -- The lane, and the position in its hash chain, from 1. Within a lane, later positions have greater ids.
    lane            BIGINT NOT NULL,
    seq             BIGINT NOT NULL,
    -- The digest of the previous entry in the lane, and of this one.
    previous        TEXT   NOT NULL,
    digest          TEXT   NOT NULL,
    -- Of the last entry of a transaction: the number of the newest root that the instance knew, and the message authentication code of
    -- the position, the digest and that number. NULL in the others.
    known_root      BIGINT,
    mac             TEXT,
    happened_at     BIGINT NOT NULL,
    event           TEXT   NOT NULL,
    -- Who acted: the kind of actor, and its id or name.
    actor_kind      TEXT   NOT NULL,
    actor           TEXT,
    -- What the entry is about.
    user_id         TEXT,
    application_id  TEXT,
    -- The approval that permitted the action.
    approval_id     TEXT,
    -- JSON without personal data.
    detail          TEXT   NOT NULL,
    -- JSON: personal data, such as IP addresses, browsers and names. NULL if there is none, or after its erasure. The digest of the
    -- entry covers it by a salted digest, so that the data and the salt can be erased.
    personal        TEXT,
    personal_salt   TEXT,
    personal_digest TEXT,
    -- JSON: the IP address and the browser of a user who acted on the data of another user. They are personal data of the first
    -- user, so erasing the second leaves them, and the other way round.
    origin          TEXT,
    origin_salt     TEXT,
    origin_digest   TEXT,
    -- The number among the user's account notifications, from 1; NULL if the user's devices show none.
    notification    BIGINT
)
--postgresql PARTITION BY RANGE (id)
--sqlite WITHOUT ROWID
;
--postgresql CREATE TABLE audit_entries_default PARTITION OF audit_entries DEFAULT;
CREATE INDEX audit_entries_in_order ON audit_entries (lane, seq);
CREATE INDEX audit_entries_by_user ON audit_entries (user_id, id) WHERE user_id IS NOT NULL;
CREATE INDEX audit_entries_by_application ON audit_entries (application_id, id) WHERE application_id IS NOT NULL;
CREATE INDEX audit_entries_by_event ON audit_entries (event, id);
-- The entries of actors about themselves are in the index of the users.
CREATE INDEX audit_entries_by_actor ON audit_entries (actor, id)
    WHERE actor IS NOT NULL AND (user_id IS NULL OR actor <> user_id);
-- Anybody can cause other entries about a user by typing the name, so notifications have an index of their own.
CREATE INDEX audit_entries_that_notify ON audit_entries (user_id, notification) WHERE notification IS NOT NULL;

-- The lanes of the audit log: hash chains with one writer at a time. The holder appends without waiting for other writers. After
-- `held_until` another writer may take the lane, which waits for a transaction of the holder.
CREATE TABLE audit_lanes (
    lane       BIGINT NOT NULL PRIMARY KEY,
    holder     TEXT   NOT NULL,
    held_until BIGINT NOT NULL
)
--sqlite WITHOUT ROWID
;

-- The last entry of each lane that retention deleted, with its message authentication code. Position 0: none was deleted.
CREATE TABLE audit_anchors (
    lane   BIGINT NOT NULL PRIMARY KEY,
    seq    BIGINT NOT NULL,
    digest TEXT   NOT NULL,
    mac    TEXT   NOT NULL
)
--sqlite WITHOUT ROWID
;

-- The root: the heads of all lanes at one moment, with their message authentication code. It shows that entries at the end of a lane
-- were deleted. `heads` has `LANE:SEQ:DIGEST` for each lane, separated by spaces.
CREATE TABLE audit_root (
    name   TEXT   NOT NULL PRIMARY KEY CHECK (name = 'root'),
    number BIGINT NOT NULL,
    heads  TEXT   NOT NULL,
    mac    TEXT   NOT NULL
);

-- How far each audit stream has come (`LANE:SEQ` for each lane, separated by commas), and the instance that has the lease on it.
CREATE TABLE audit_streams (
    name         TEXT   NOT NULL PRIMARY KEY,
    positions    TEXT   NOT NULL,
    instance     TEXT,
    leased_until BIGINT NOT NULL
);

-- The sign-ins of past hours, for the console's overview. Each audit entry is counted once.
CREATE TABLE sign_in_hours (
    -- Hours since 1970.
    hour              BIGINT NOT NULL PRIMARY KEY,
    completed         BIGINT NOT NULL,
    denied            BIGINT NOT NULL,
    reported          BIGINT NOT NULL,
    number_mismatches BIGINT NOT NULL,
    cancelled         BIGINT NOT NULL,
    expired           BIGINT NOT NULL,
    -- JSON object, the histogram of the time until approval: from quarters of a second to the number of approvals.
    approval_times    TEXT   NOT NULL
);

---------------------------------------------------------------------------------------------------
-- Plugins
---------------------------------------------------------------------------------------------------

-- The calls of claim mappers for an ID token or an assertion, to explain its claims. Retention: `plugins.trace_retention`. On
-- PostgreSQL the table has a partition for each day, which is dropped as a whole.
CREATE TABLE claim_traces (
    id             TEXT   NOT NULL PRIMARY KEY,
    -- The `jti` of the token, or the ID of the assertion.
    token          TEXT   NOT NULL,
    user_id        TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    application_id TEXT   NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    -- Where the claims went, such as an ID token.
    sink           TEXT   NOT NULL,
    created_at     BIGINT NOT NULL,
    -- JSON: the calls.
    calls          TEXT   NOT NULL
)
--postgresql PARTITION BY RANGE (id)
;
--postgresql CREATE TABLE claim_traces_default PARTITION OF claim_traces DEFAULT;
CREATE INDEX claim_traces_by_token ON claim_traces (token);
CREATE INDEX claim_traces_by_user ON claim_traces (user_id, id);
CREATE INDEX claim_traces_by_application ON claim_traces (application_id);

-- Requests of applications in the last hour, for their administrators.
CREATE TABLE client_requests (
    id             TEXT   NOT NULL PRIMARY KEY,
    application_id TEXT   NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    -- The path.
    endpoint       TEXT   NOT NULL,
    created_at     BIGINT NOT NULL,
    -- The error code; empty if it was accepted.
    error          TEXT   NOT NULL,
    reason         TEXT   NOT NULL,
    -- JSON: the parameters, and the claims of the JWTs, without secrets.
    parts          TEXT   NOT NULL
);
CREATE INDEX client_requests_by_application ON client_requests (application_id, id);

-- Candidate components that an administrator may run in a console session. The approval is for one plugin, because the component runs
-- with the grants of that plugin.
CREATE TABLE component_approvals (
    session_id  TEXT   NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    plugin      TEXT   NOT NULL,
    -- The SHA-256 digest of the component.
    component   TEXT   NOT NULL,
    approved_at BIGINT NOT NULL,
    PRIMARY KEY (session_id, plugin, component)
)
--sqlite WITHOUT ROWID
;

---------------------------------------------------------------------------------------------------
-- Administration
---------------------------------------------------------------------------------------------------

CREATE TABLE admin_tokens (
    id         TEXT   NOT NULL PRIMARY KEY,
    digest     TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

-- Requests with an Idempotency-Key, and their responses.
CREATE TABLE idempotent_requests (
    -- The digest of the caller, the method, the path and the key.
    id          TEXT   NOT NULL PRIMARY KEY,
    -- The digest of the request's body.
    body_digest TEXT   NOT NULL,
    -- The response, sealed, because it may contain a secret that is shown once. NULL while the request is in progress.
    response    TEXT,
    -- 1 once the request has made a change. The transaction of the change sets it.
    is_executed BIGINT NOT NULL DEFAULT 0,
    in_progress_until BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    -- The attempt that has claimed the key: random text. Another attempt makes no changes.
    attempt     TEXT   NOT NULL
);
CREATE INDEX idempotent_requests_by_end ON idempotent_requests (expires_at);

-- The ids in the path or the response of such a request. Erasing a user deletes the responses about the user.
CREATE TABLE idempotent_request_subjects (
    request_id TEXT NOT NULL REFERENCES idempotent_requests (id) ON DELETE CASCADE,
    subject    TEXT NOT NULL,
    PRIMARY KEY (request_id, subject)
)
--sqlite WITHOUT ROWID
;
CREATE INDEX idempotent_request_subjects_by_id ON idempotent_request_subjects (subject);

-- Test sign-ins: an administrator signs in to an application, sees each step, and what the application would receive.
CREATE TABLE test_sign_ins (
    id              TEXT   NOT NULL PRIMARY KEY,
    application_id  TEXT   NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    user_id         TEXT   NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- The console session that began it, and the digest of its browser's cookie.
    session_id      TEXT   NOT NULL,
    browser         TEXT   NOT NULL,
    -- The latest sign-in of it, the only one that may finish it.
    login_id        TEXT,
    -- The session that the sign-in created. No browser has its cookie.
    created_session TEXT,
    created_at      BIGINT NOT NULL,
    expires_at      BIGINT NOT NULL,
    -- When its answer was claimed, which succeeds once.
    claimed_at      BIGINT,
    finished_at     BIGINT,
    outcome         TEXT   CHECK (outcome IN ('completed', 'failed')),
    -- What the application would have received, sealed.
    result          TEXT
);
CREATE INDEX test_sign_ins_by_end ON test_sign_ins (expires_at);
CREATE INDEX test_sign_ins_by_application ON test_sign_ins (application_id);
CREATE INDEX test_sign_ins_by_user ON test_sign_ins (user_id);
CREATE INDEX test_sign_ins_by_created_session ON test_sign_ins (created_session) WHERE created_session IS NOT NULL;

-- The steps of a test sign-in. A later record of the same step replaces the earlier one.
CREATE TABLE test_sign_in_steps (
    test_sign_in_id TEXT   NOT NULL REFERENCES test_sign_ins (id) ON DELETE CASCADE,
    name            TEXT   NOT NULL,
    at              BIGINT NOT NULL,
    -- Sealed.
    step            TEXT   NOT NULL,
    PRIMARY KEY (test_sign_in_id, name)
);

---------------------------------------------------------------------------------------------------
-- Coordination of instances
---------------------------------------------------------------------------------------------------

-- Rows that a transaction locks for work that must not run in two transactions at the same time.
CREATE TABLE row_locks (
    name TEXT NOT NULL PRIMARY KEY
)
--sqlite WITHOUT ROWID
;
INSERT INTO row_locks (name) VALUES ('owners');

-- Work that is done once for a database, such as the bootstrap.
CREATE TABLE run_once (
    name    TEXT   NOT NULL PRIMARY KEY,
    done_at BIGINT NOT NULL
)
--sqlite WITHOUT ROWID
;

-- Work that one instance does for all, such as retention, and until when that instance has the lease on it.
CREATE TABLE leases (
    name         TEXT   NOT NULL PRIMARY KEY,
    instance     TEXT   NOT NULL,
    leased_until BIGINT NOT NULL
)
--sqlite WITHOUT ROWID
;

-- The runs of server processes.
CREATE TABLE instances (
    id             TEXT   NOT NULL PRIMARY KEY,
    release        TEXT   NOT NULL,
    -- The machine, and the process on it, for messages to operators.
    host           TEXT   NOT NULL,
    process_id     BIGINT NOT NULL,
    -- The newest migration that the release knows. A newer contracting migration waits for the end of the run.
    schema_version BIGINT NOT NULL,
    -- The fingerprint of its master key. A sealing key is replaced only when all instances have the new master key.
    master_key     TEXT   NOT NULL,
    started_at     BIGINT NOT NULL,
    -- The last heartbeat, by the database's clock: the database took a write.
    seen_at        BIGINT NOT NULL,
    -- Set when the instance stopped; NULL if it crashed.
    ended_at       BIGINT
);
