-- Approval channels: vendors that are asked, and requests that are on their way.

-- What a vendor knows a person by, as an administrator entered it.
CREATE TABLE approval_addresses (
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- The operator's name for the channel.
    channel TEXT NOT NULL,
    address TEXT NOT NULL,
    PRIMARY KEY (user_id, channel)
);

-- The delegated channel that decided, where no device did.
ALTER TABLE approvals ADD COLUMN channel TEXT;
-- And the one that a session began by. Where it serves no longer, the session is not enough.
ALTER TABLE sessions ADD COLUMN channel TEXT;

-- Wrong numbers that devices have proved, each counted once: a channel may bring the same proof again and again.
CREATE TABLE wrong_numbers (
    approval_id TEXT NOT NULL REFERENCES approvals (id) ON DELETE CASCADE,
    device_id   TEXT NOT NULL,
    -- The digest of what was typed.
    number      TEXT NOT NULL,
    PRIMARY KEY (approval_id, device_id, number)
);

-- Requests that a channel has begun and that it is to be asked about. The row goes when there is nothing more to ask.
CREATE TABLE approval_deliveries (
    id           TEXT   NOT NULL PRIMARY KEY,
    approval_id  TEXT   NOT NULL REFERENCES approvals (id) ON DELETE CASCADE,
    channel      TEXT   NOT NULL,
    -- The device that it is on its way to, or what the vendor knew the person by when it was asked.
    device_id    TEXT,
    address      TEXT,
    -- What the channel finds the request by, sealed with the master key.
    handle       TEXT   NOT NULL,
    -- When to look after it: to ask the channel, or, once the approval is over, to take the request back.
    due_at       BIGINT NOT NULL,
    -- Until when one host has it to itself.
    leased_until BIGINT NOT NULL
);
CREATE INDEX approval_deliveries_by_channel ON approval_deliveries (channel, due_at);
CREATE INDEX approval_deliveries_by_approval ON approval_deliveries (approval_id);
