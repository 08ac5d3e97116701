-- The digest of the SessionIndex by which a service provider names a session.
ALTER TABLE saml_participants ADD COLUMN session_index TEXT NOT NULL DEFAULT '';
CREATE INDEX saml_participants_by_index ON saml_participants (application_id, session_index);
