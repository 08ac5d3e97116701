-- Several approval requests of a user or name may be pending at the same time.

DROP INDEX open_approval_of_person;

-- `replaced`: a newer request of the same browser took its place. `withdrawn`: the user may no longer sign in there.
-- `reported`: the user reported it, or another one, while it was pending. The pages of the last two show nothing of that.
ALTER TABLE approvals ADD COLUMN stage TEXT NOT NULL DEFAULT 'requested' CHECK (stage IN
    ('requested', 'approved', 'denied', 'expired', 'cancelled', 'replaced', 'withdrawn', 'reported', 'wrong_number'));
UPDATE approvals SET stage = CASE WHEN state = 'replaced' THEN 'withdrawn' ELSE state END;
ALTER TABLE approvals DROP COLUMN state;
ALTER TABLE approvals RENAME COLUMN stage TO state;

-- How the request began.
ALTER TABLE approvals ADD COLUMN kind TEXT NOT NULL DEFAULT 'typed'
    CHECK (kind IN ('typed', 'known_browser', 'stale_browser', 'qr', 'action'));
-- The digest of the cookie of its browser.
ALTER TABLE approvals ADD COLUMN browser TEXT NOT NULL DEFAULT '';
-- The user whose name was typed, whether the request was sent to a device or not.
ALTER TABLE approvals ADD COLUMN known_user TEXT REFERENCES users (id) ON DELETE CASCADE;

CREATE INDEX approvals_by_known_user ON approvals (known_user, expires_at);
CREATE INDEX approvals_by_name ON approvals (name_digest, expires_at);

-- One row for each user or typed name with recent requests. A transaction locks the row before it draws a number.
CREATE TABLE approval_subjects (
    -- The user's id, or the digest of the typed name.
    subject TEXT   NOT NULL PRIMARY KEY,
    held_at BIGINT NOT NULL
);
CREATE INDEX approval_subjects_by_age ON approval_subjects (held_at);

-- Browsers in which the user signed in before this moment are not known browsers any more: the user reported one of them.
ALTER TABLE users ADD COLUMN browsers_known_from BIGINT NOT NULL DEFAULT 0;
