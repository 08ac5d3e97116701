-- The portal: what people see of their sessions and devices there, and what applications look like.

-- Where a session's browser was when it began, as far as that was known, and the device that approved it. Sessions from
-- before have none of it.
ALTER TABLE sessions ADD COLUMN address TEXT;
ALTER TABLE sessions ADD COLUMN browser TEXT;
ALTER TABLE sessions ADD COLUMN device_id TEXT;
-- When it last let its person in to an application without asking.
ALTER TABLE sessions ADD COLUMN used_at BIGINT;

-- When a device last decided something.
ALTER TABLE devices ADD COLUMN used_at BIGINT;

-- The pictures of applications, apart from what each request reads of these.
CREATE TABLE application_logos (
    application_id TEXT NOT NULL PRIMARY KEY REFERENCES applications (id) ON DELETE CASCADE,
    kind           TEXT NOT NULL CHECK (kind IN ('png', 'jpeg', 'webp')),
    -- Of the picture; it is the version in its address.
    digest         TEXT NOT NULL,
    -- In base64.
    content        TEXT NOT NULL
);
