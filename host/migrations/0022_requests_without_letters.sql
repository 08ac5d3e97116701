-- Approval requests that a delegated channel without letters may carry: their users can't see which browser one belongs to.

ALTER TABLE approvals ADD COLUMN letterless BIGINT NOT NULL DEFAULT 0;
-- Whether it ended because another one of the same name or user was pending at the same time. It still counts until it
-- expires: whoever caused the conflict must not have the next request for themselves.
ALTER TABLE approvals ADD COLUMN conflicted BIGINT NOT NULL DEFAULT 0;
