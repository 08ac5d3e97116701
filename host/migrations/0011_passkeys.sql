-- A device's passkey: what shows that whoever approves with it unlocked the phone. A device has at most one.
CREATE TABLE passkeys (
    device_id     TEXT   NOT NULL PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
    credential_id TEXT   NOT NULL UNIQUE,
    -- JSON, as webauthn-rs keeps it: the public key and what is known of the authenticator.
    credential    TEXT   NOT NULL,
    -- The signature counter, as it was at the last use.
    counter       BIGINT NOT NULL,
    added_at      BIGINT NOT NULL
);

-- A question put to a device's passkey, or to the phone that is to make one. A device has at most one: a newer one takes
-- its place. It is answered once, and then gone.
CREATE TABLE passkey_ceremonies (
    device_id  TEXT   NOT NULL PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
    -- The digest of what it is for; for an approval of the very text that the device signed.
    purpose    TEXT   NOT NULL,
    -- JSON, as webauthn-rs keeps it: the challenge and what is expected.
    state      TEXT   NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX passkey_ceremonies_by_end ON passkey_ceremonies (expires_at);
