//! The action of a restore on each table, and its reason. A restored database lacks later revocations, and codes that
//! were used since are unused in it. So the restore ends everything that can be revoked or used only once, unless its
//! return is harmless.

/// The action of a restore on a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableAction {
    /// The rows stay.
    Keep,
    /// All rows are deleted.
    Empty,
    /// This statement changes the rows. `$1` is the time of the restore in milliseconds.
    Change(&'static str),
}

/// The action of a restore on a table, and its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableRule {
    /// The table.
    pub table: &'static str,
    /// The action.
    pub action: TableAction,
    /// The reason.
    pub reason: &'static str,
}

const fn keep(table: &'static str, reason: &'static str) -> TableRule {
    TableRule {
        table,
        action: TableAction::Keep,
        reason,
    }
}

const fn empty(table: &'static str, reason: &'static str) -> TableRule {
    TableRule {
        table,
        action: TableAction::Empty,
        reason,
    }
}

const fn change(table: &'static str, statement: &'static str, reason: &'static str) -> TableRule {
    TableRule {
        table,
        action: TableAction::Change(statement),
        reason,
    }
}

/// All tables, in the order of the changes: tables with references come before the tables that they refer to. A test
/// compares the list with the schema.
pub const RESTORE_RULES: &[TableRule] = &[
    // Sign-ins and approvals.
    empty(
        "sign_in_ceremonies",
        "a challenge may have been answered after the backup",
    ),
    empty(
        "passkey_ceremonies",
        "a challenge may have been answered after the backup",
    ),
    empty(
        "number_match_failures",
        "the approvals that they belong to end",
    ),
    empty("approval_deliveries", "the approvals that they carry end"),
    empty("approval_dispatches", "the approvals that they carry end"),
    empty(
        "approvals",
        "an approval may have been answered or used after the backup",
    ),
    empty(
        "action_approvals",
        "an approval may have been used after the backup",
    ),
    empty(
        "backchannel_requests",
        "an approval may have been used after the backup",
    ),
    empty("backchannel_deliveries", "the requests ended"),
    empty(
        "device_authorizations",
        "a code may have been entered after the backup",
    ),
    empty(
        "caller_checks",
        "an approval may have been used after the backup",
    ),
    keep(
        "backchannel_choices",
        "a stop only protects its user; a choice after the backup is lost, and the user makes it again",
    ),
    empty(
        "logins",
        "a sign-in may have been answered after the backup",
    ),
    empty(
        "approval_subjects",
        "locks and conflicts of approvals that ended",
    ),
    keep(
        "approval_cooldowns",
        "a cooldown only protects its user, and ends by time",
    ),
    keep(
        "reports",
        "a report that was settled after the backup is open again; an administrator settles it again",
    ),
    keep(
        "receipts",
        "evidence; an answer whose effect the restore ends was given nevertheless",
    ),
    keep("repeated_requests", "counts for the audit log"),
    keep(
        "changes",
        "numbers for waiting requests; an instance that connects again begins after the last one",
    ),
    // Devices, links, recovery.
    empty(
        "invitation_mails",
        "the link in the email may have been used or withdrawn after the backup",
    ),
    empty(
        "enrolments",
        "a link may have been used or withdrawn after the backup",
    ),
    empty(
        "recovery_codes",
        "a code may have been used after the backup",
    ),
    keep(
        "devices",
        "users approve with them again; an audit export revokes those that were revoked after the backup",
    ),
    keep(
        "passkeys",
        "they belong to devices; a counter that is behind the authenticator's is accepted",
    ),
    keep(
        "external_authenticators",
        "settings of administrators; the restore reports later removals",
    ),
    // Sessions and tokens.
    empty(
        "component_approvals",
        "the console sessions that they belong to end",
    ),
    change(
        "sessions",
        "UPDATE sessions SET ended_at = COALESCE(ended_at, $1), signed_out = 1 WHERE signed_out = 0",
        "a session may have been ended after the backup; the rows stay as a history",
    ),
    empty("session_applications", "the sessions ended"),
    empty("saml_participants", "the sessions ended"),
    keep(
        "logout_deliveries",
        "a repeated logout token has no effect, and a missing one leaves a session open",
    ),
    empty("logout_clients", "the sign-outs that they belong to end"),
    empty(
        "saml_logout_requests",
        "the sign-outs that they belong to end",
    ),
    empty(
        "saml_logouts",
        "a sign-out may have been continued or finished after the backup",
    ),
    empty(
        "sign_on_requests",
        "a request may have been used after the backup",
    ),
    empty(
        "pushed_requests",
        "a request may have been used after the backup",
    ),
    empty(
        "token_families",
        "a code or refresh token may have been used or revoked after the backup",
    ),
    empty(
        "revoked_tokens",
        "no token of an earlier epoch is valid any more",
    ),
    keep(
        "token_epochs",
        "the restore begins a new epoch, which ends all tokens that were issued before",
    ),
    keep(
        "replay_cache",
        "assertions and DPoP proofs that were used before the backup; those that were used since can be used again \
         until they expire, at most seven minutes after their creation",
    ),
    empty(
        "consents",
        "a consent may have been withdrawn after the backup; users are asked again",
    ),
    // Administration.
    empty(
        "admin_tokens",
        "the holder of a token may no longer be an operator",
    ),
    empty(
        "test_sign_in_steps",
        "the test sign-ins that they belong to end",
    ),
    empty(
        "test_sign_ins",
        "a test sign-in may have been answered after the backup",
    ),
    keep(
        "idempotent_requests",
        "the backup has the effects of these requests too, so a repeated request must not be executed again",
    ),
    keep(
        "idempotent_request_subjects",
        "they belong to these requests",
    ),
    empty(
        "registration_tokens",
        "a token may have been used or deleted after the backup",
    ),
    // Users and applications. The versions increase by the time in seconds. So no version from the lost time that an
    // instance, a cache or an API client remembers can return with other contents.
    change(
        "users",
        "UPDATE users SET version = version + $1 / 1000, known_browsers_not_before = $1",
        "versions must not return; a browser may have been reported after the backup, so no browser is known any more",
    ),
    keep("last_sign_ins", "history"),
    keep("login_names", "names of users"),
    keep("user_search", "an index of users"),
    keep("user_counts", "the number of users"),
    change(
        "applications",
        "UPDATE applications SET version = version + $1 / 1000",
        "versions must not return",
    ),
    keep("application_origins", "settings of applications"),
    keep("application_logos", "settings of applications"),
    keep("authorization_details_types", "settings of the server"),
    keep(
        "client_registrations",
        "settings of applications; the restore reports applications that were deleted after the backup",
    ),
    keep("application_use", "history"),
    keep("account_use", "history"),
    keep("client_secret_use", "history"),
    change(
        "accounts",
        "UPDATE accounts SET version = version + $1 / 1000",
        "versions must not return",
    ),
    keep("account_search", "an index of accounts"),
    keep("managed_accounts", "who manages accounts by a manifest"),
    change(
        "user_groups",
        "UPDATE user_groups SET version = version + $1 / 1000",
        "versions must not return",
    ),
    keep(
        "group_members",
        "settings of administrators; the restore reports later removals",
    ),
    keep(
        "group_assignments",
        "settings of administrators; the restore reports later removals",
    ),
    // Keys.
    keep(
        "wrapped_keys",
        "identifiers and sealed values need them, and the master key shows that the restore is allowed",
    ),
    keep(
        "signing_keys",
        "the restore reports keys that were revoked after the backup",
    ),
    keep(
        "saml_keys",
        "the restore reports certificates that were withdrawn after the backup",
    ),
    // The audit log.
    keep("audit_entries", "the log"),
    empty(
        "audit_lanes",
        "new entries begin new lanes: after the backup the old lanes continued elsewhere, for example in a stream",
    ),
    keep("audit_anchors", "the beginnings of the lanes"),
    keep("audit_root", "the heads of the lanes"),
    change(
        "audit_streams",
        "UPDATE audit_streams SET instance = NULL, leased_until = 0 WHERE leased_until <= $1 OR leased_until > $1",
        "the instance that had the lease is gone; entries since the position are sent again",
    ),
    keep("sign_in_hours", "history"),
    keep("claim_traces", "history"),
    empty("client_requests", "they explain the last hour only"),
    // Coordination.
    empty("leases", "the instances that had them are gone"),
    empty("instances", "they do not run on this database"),
    keep("row_locks", "names"),
    keep("run_once", "the bootstrap must not be repeated"),
    keep(
        "schema_migrations",
        "the migrations that the backup has, and those that the restore applied",
    ),
];
