-- The device that made the right to enrol another, or 'code' where a recovery code did; NULL where an administrator or the host
-- did. It ends with that device.
ALTER TABLE enrolments ADD COLUMN made_by TEXT;
-- The device that made the codes; they end with it.
ALTER TABLE recovery_codes ADD COLUMN made_by TEXT;

-- Whether devices tell of an entry. Anybody may have entries about others made, by typing names, so these are found apart.
ALTER TABLE audit_entries ADD COLUMN news BIGINT NOT NULL DEFAULT 0;
UPDATE audit_entries SET news = 1
    WHERE event IN ('enrolment.link-made', 'device.enrolled', 'device.revoked', 'passkey.added', 'passkey.removed',
                    'passkey.counter-back', 'recovery.codes-made', 'recovery.code-used');
CREATE INDEX audit_entries_that_are_news ON audit_entries (user_id, id) WHERE news = 1;
