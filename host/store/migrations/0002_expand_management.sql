-- Configuration as code: who manages an object by a manifest, and by which key. NULL for objects that no manifest manages.

ALTER TABLE applications ADD COLUMN managed_by TEXT;
ALTER TABLE applications ADD COLUMN managed_key TEXT;
-- Who manages the assignment to everyone.
ALTER TABLE applications ADD COLUMN everyone_managed_by TEXT;
CREATE UNIQUE INDEX applications_by_management ON applications (managed_by, managed_key);

ALTER TABLE user_groups ADD COLUMN managed_by TEXT;
ALTER TABLE user_groups ADD COLUMN managed_key TEXT;
CREATE UNIQUE INDEX user_groups_by_management ON user_groups (managed_by, managed_key);

-- The application and the group identify an assignment, so it has no key.
ALTER TABLE group_assignments ADD COLUMN managed_by TEXT;

-- The application and the user identify an account. A table of its own, because few of the many accounts are managed.
CREATE TABLE managed_accounts (
    account_id TEXT NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    managed_by TEXT NOT NULL
);
CREATE INDEX managed_accounts_by_owner ON managed_accounts (managed_by, account_id);
