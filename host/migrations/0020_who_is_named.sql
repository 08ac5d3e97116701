-- Who is named in the words of an administrator's step, besides the administrator: a user's id or, where there is nobody yet, the
-- digest of the name that somebody would have. By it the words are found when that person is erased.
ALTER TABLE approvals ADD COLUMN names TEXT;
CREATE INDEX approvals_by_names ON approvals (names) WHERE names IS NOT NULL;

ALTER TABLE audit_entries ADD COLUMN names TEXT;
CREATE INDEX audit_entries_by_names ON audit_entries (names) WHERE names IS NOT NULL;
