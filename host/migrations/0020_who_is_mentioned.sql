-- Who is mentioned in the words of an administrator's step, besides the administrator: a user's id or, where there is nobody yet, the
-- digest of the name that somebody would have. By it the words are found when that person is erased.
ALTER TABLE approvals ADD COLUMN mentions TEXT;
CREATE INDEX approvals_by_mentions ON approvals (mentions) WHERE mentions IS NOT NULL;

ALTER TABLE audit_entries ADD COLUMN mentions TEXT;
CREATE INDEX audit_entries_by_mentions ON audit_entries (mentions) WHERE mentions IS NOT NULL;
