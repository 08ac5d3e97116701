-- An approval is for a component in the place of one plugin, because it runs with the grants of that plugin. Earlier approvals do not
-- say which plugin that was, so they are dropped: the administrator approves again.
DROP TABLE component_approvals;
CREATE TABLE component_approvals (
    session_id  TEXT   NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    -- The name of the plugin as which the component may be tried.
    plugin      TEXT   NOT NULL,
    -- The SHA-256 digest of the component.
    component   TEXT   NOT NULL,
    approved_at BIGINT NOT NULL,
    PRIMARY KEY (session_id, plugin, component)
);
