-- Where the browser of a sign-in is, as rate limits distinguish places: an IPv4 address, or the first 64 bits of an IPv6 address.
-- NULL where a user who is signed in began it.
ALTER TABLE logins ADD COLUMN network TEXT;

-- Sign-ins in which nobody has said who they are. Anybody may begin them, so their number is bounded: for each network, and in all.
CREATE INDEX logins_open_of_network ON logins (network, id)
    WHERE approval_id IS NULL AND session_id IS NULL AND answered_at IS NULL AND network IS NOT NULL;
CREATE INDEX logins_open ON logins (id)
    WHERE approval_id IS NULL AND session_id IS NULL AND answered_at IS NULL AND network IS NOT NULL;

-- How often a name was typed in a network lately. Beyond a bound the audit log gets one entry with the count in place of one each.
CREATE TABLE repeated_requests (
    -- The digest of the name: rows are the same for names that nobody has.
    name_digest TEXT   NOT NULL,
    network     TEXT   NOT NULL,
    user_id     TEXT,
    first_at    BIGINT NOT NULL,
    last_at     BIGINT NOT NULL,
    requests    BIGINT NOT NULL,
    PRIMARY KEY (name_digest, network)
);
CREATE INDEX repeated_requests_by_first ON repeated_requests (first_at);
CREATE INDEX repeated_requests_by_user ON repeated_requests (user_id) WHERE user_id IS NOT NULL;
