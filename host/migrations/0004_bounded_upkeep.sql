-- Looking after what is over costs what there is to do, and not what there is.

-- Of the logouts that wait, those of one application are found without reading another's.
DROP INDEX logout_deliveries_by_attempt;
CREATE INDEX logout_deliveries_by_application ON logout_deliveries (application_id, next_attempt_at);

-- From now on they go together with the last session of their name.
DELETE FROM session_applications WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.sid = session_applications.sid);

-- A code that nobody exchanges holds claims, so its row lasts no longer than the code.
UPDATE codes SET kept_until = expires_at WHERE used_at IS NULL;
