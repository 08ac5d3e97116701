-- The audit log. It outlives what it tells of, so it refers to nothing.
CREATE TABLE audit_entries (
    id             TEXT   NOT NULL PRIMARY KEY,
    happened_at    BIGINT NOT NULL,
    event          TEXT   NOT NULL,
    -- Who did it: the kind, and the id or name of the one.
    actor_kind     TEXT   NOT NULL,
    actor          TEXT,
    -- What it is about.
    user_id        TEXT,
    application_id TEXT,
    -- JSON, with nothing in it that says who somebody is.
    detail         TEXT   NOT NULL,
    -- JSON: addresses, browsers, names. NULL where there is none, or it was erased.
    personal       TEXT
);
CREATE INDEX audit_entries_by_user ON audit_entries (user_id, id) WHERE user_id IS NOT NULL;
CREATE INDEX audit_entries_by_application ON audit_entries (application_id, id) WHERE application_id IS NOT NULL;
CREATE INDEX audit_entries_by_event ON audit_entries (event, id);

-- A user or an account may be invited: known, and not there yet. A CHECK can't be changed everywhere, so the column is
-- made anew; each row keeps its state.
ALTER TABLE users ADD COLUMN life TEXT NOT NULL DEFAULT 'invited'
    CHECK (life IN ('invited', 'active', 'suspended', 'terminated'));
UPDATE users SET life = state;
ALTER TABLE users DROP COLUMN state;
ALTER TABLE users RENAME COLUMN life TO state;

ALTER TABLE accounts ADD COLUMN life TEXT NOT NULL DEFAULT 'invited'
    CHECK (life IN ('invited', 'active', 'suspended', 'terminated'));
UPDATE accounts SET life = state;
ALTER TABLE accounts DROP COLUMN state;
ALTER TABLE accounts RENAME COLUMN life TO state;

-- The application that a request is for, so that closing an account there ends it.
ALTER TABLE approvals ADD COLUMN application_id TEXT;

-- A person has at most one open request, by whichever name; of a name that reaches nobody there is one as well.
UPDATE approvals SET state = 'replaced', decided_at = requested_at
    WHERE state = 'requested'
      AND EXISTS (SELECT 1 FROM approvals AS newer
                  WHERE newer.user_id = approvals.user_id AND newer.state = 'requested' AND newer.id > approvals.id);
DROP INDEX open_approval_of_name;
CREATE UNIQUE INDEX open_approval_of_person ON approvals (COALESCE(user_id, name_digest)) WHERE state = 'requested';

-- After a denial requests reach no phone of the person for a while, which grows with each.
CREATE TABLE approval_pauses (
    user_id      TEXT   NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    -- How many there were in a row, and when the last.
    denials      BIGINT NOT NULL,
    denied_at    BIGINT NOT NULL,
    paused_until BIGINT NOT NULL
);
