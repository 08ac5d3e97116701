-- The device that scanned the code of the login's page; NULL where somebody typed a name. A request that the person began with
-- their own device gives way to no other's.
ALTER TABLE approvals ADD COLUMN scanned_by TEXT;
