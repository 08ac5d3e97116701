-- Whether the person said that a request was not theirs. They may say so of one that they denied a moment ago, and once.
ALTER TABLE approvals ADD COLUMN disowned BIGINT NOT NULL DEFAULT 0 CHECK (disowned IN (0, 1));
