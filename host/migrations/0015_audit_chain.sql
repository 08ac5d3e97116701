-- Each entry of the audit log has its place, and a digest of all that it says and of the entry before.
ALTER TABLE audit_entries ADD COLUMN seq BIGINT;
ALTER TABLE audit_entries ADD COLUMN previous TEXT;
ALTER TABLE audit_entries ADD COLUMN digest TEXT;
-- What is personal is covered through a salted digest of its own, so that it can be erased, and the salt with it.
ALTER TABLE audit_entries ADD COLUMN personal_salt TEXT;
ALTER TABLE audit_entries ADD COLUMN personal_digest TEXT;
-- The approval on a phone that allowed it.
ALTER TABLE audit_entries ADD COLUMN approval_id TEXT;

-- Entries of one millisecond have no order by id, so lists go by the place.
CREATE UNIQUE INDEX audit_entries_in_order ON audit_entries (seq);
DROP INDEX audit_entries_by_user;
DROP INDEX audit_entries_by_application;
DROP INDEX audit_entries_by_event;
DROP INDEX audit_entries_that_are_news;
CREATE INDEX audit_entries_by_user ON audit_entries (user_id, seq) WHERE user_id IS NOT NULL;
CREATE INDEX audit_entries_by_application ON audit_entries (application_id, seq) WHERE application_id IS NOT NULL;
CREATE INDEX audit_entries_by_event ON audit_entries (event, seq);
CREATE INDEX audit_entries_by_actor ON audit_entries (actor, seq) WHERE actor IS NOT NULL;
CREATE INDEX audit_entries_that_are_news ON audit_entries (user_id, seq) WHERE news = 1;

-- Where the chain begins (the last entry that retention took away) and ends, each with a code that only a holder of the
-- master key can make.
CREATE TABLE audit_chain (
    name   TEXT   NOT NULL PRIMARY KEY CHECK (name IN ('anchor', 'head')),
    seq    BIGINT NOT NULL,
    digest TEXT   NOT NULL,
    code   TEXT   NOT NULL
);

-- How far each stream of the log has come, and which host carries it on.
CREATE TABLE audit_streams (
    name       TEXT   NOT NULL PRIMARY KEY,
    seq        BIGINT NOT NULL,
    holder     TEXT,
    held_until BIGINT NOT NULL
);
