-- Keys get a life: published, signing, retired, forgotten. It is read from the moments of the rows, so that all hosts on
-- one database agree without talking.

CREATE TABLE signing_keys_with_life (
    id         TEXT   NOT NULL PRIMARY KEY,
    purpose    TEXT   NOT NULL,
    -- Counts the keys of a purpose. Of hosts that make the next one at the same moment, one has its row.
    generation BIGINT NOT NULL,
    -- The private key, until it is over or revoked.
    sealed     TEXT,
    -- The public key alone, from then on.
    public_jwk TEXT,
    created_at BIGINT NOT NULL,
    -- When it begins to sign, and the one before it ends to.
    signs_from BIGINT NOT NULL,
    revoked_at BIGINT,
    UNIQUE (purpose, generation),
    CHECK ((sealed IS NULL) <> (public_jwk IS NULL))
);
INSERT INTO signing_keys_with_life
    SELECT id, purpose, 1, sealed, NULL, created_at, created_at, NULL FROM signing_keys;
DROP TABLE signing_keys;
ALTER TABLE signing_keys_with_life RENAME TO signing_keys;
