-- Components that were approved to be tried as candidates, each for one session of the console.
CREATE TABLE component_approvals (
    session_id  TEXT   NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    -- The SHA-256 digest of the component.
    component   TEXT   NOT NULL,
    approved_at BIGINT NOT NULL,
    PRIMARY KEY (session_id, component)
);
