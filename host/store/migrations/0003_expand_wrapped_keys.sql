-- The root secret and the sealing keys, each encrypted ("wrapped") with a master key. While the master key is rotated, they are wrapped
-- with both. An installation that began without this table has keys that are copies of its master key.
CREATE TABLE wrapped_keys (
    purpose    TEXT   NOT NULL CHECK (purpose IN ('root', 'sealing')),
    -- The number of a sealing key: sealed values begin with it. 0 for values that do not name a key, and for the root secret.
    generation BIGINT NOT NULL,
    -- The fingerprint of the master key.
    master_key TEXT   NOT NULL,
    wrapped    TEXT   NOT NULL,
    -- From when a sealing key seals: by then all instances know it.
    seals_from BIGINT NOT NULL,
    -- Until when tokens may be valid that a replaced sealing key sealed; NULL while it seals.
    needed_until BIGINT,
    PRIMARY KEY (purpose, generation, master_key)
)
--sqlite WITHOUT ROWID
;

-- The fingerprint of the instance's master key; NULL in releases without this column. A sealing key is replaced only when all instances
-- have the new master key.
ALTER TABLE instances ADD COLUMN master_key TEXT;
