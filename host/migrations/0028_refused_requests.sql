-- A typed name that a limit refused conflicts with requests that a delegated channel without letters may carry, as a request does:
-- until when, and the digest of the cookie of its browser. Empty where several browsers were refused.
ALTER TABLE approval_subjects ADD COLUMN refused_until BIGINT NOT NULL DEFAULT 0;
ALTER TABLE approval_subjects ADD COLUMN refused_browser TEXT NOT NULL DEFAULT '';
