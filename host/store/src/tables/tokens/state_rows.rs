//! The rows that determine the validity of a token.

use crate::engine::batch::loader::Row;

/// `open` is 1 if the family is not revoked, the consent not withdrawn, and the application not disabled since.
/// `in_session` is 1 if the family has not ended with its session. A session without a row was deleted
/// after its end. PostgreSQL plans up to eight relations together (`join_collapse_limit`), and these are eight.
pub(crate) const FAMILY_STATE: &str = "SELECT f.id, v.column2 AS token,
        f.counter, f.used_counter,
        CASE WHEN f.revoked_at IS NULL AND a.grants_not_before <= f.created_at
                  AND p.grants_not_before <= f.created_at THEN 1 ELSE 0 END AS open,
        CASE WHEN f.offline = 1 OR COALESCE(s.signed_out, 1) = 0 THEN 1 ELSE 0 END AS in_session,
        CASE WHEN r.id IS NULL THEN 0 ELSE 1 END AS token_revoked,
        a.version AS account_version, a.updated_at AS account_updated_at,
        u.version AS user_version, u.updated_at AS user_updated_at,
        p.version AS application_version, p.updated_at AS application_updated_at,
        v.column3 AS caller_id, c.version AS caller_version, c.updated_at AS caller_updated_at,
        (SELECT MAX(epoch) FROM token_epochs) AS epoch
    FROM (VALUES {($, $, $)}) AS v
    JOIN token_families f ON f.id = v.column1
    JOIN accounts a ON a.id = f.account_id
    JOIN users u ON u.id = a.user_id
    JOIN applications p ON p.id = f.application_id
    LEFT JOIN sessions s ON s.id = f.session_id
    LEFT JOIN revoked_tokens r ON r.id = v.column2
    LEFT JOIN applications c ON c.id = v.column3";

pub(crate) const CLIENT_STATE: &str =
    "SELECT p.id, v.column2 AS token, p.version, p.grants_not_before,
        CASE WHEN r.id IS NULL THEN 0 ELSE 1 END AS token_revoked,
        v.column3 AS caller_id, c.version AS caller_version, c.updated_at AS caller_updated_at,
        (SELECT MAX(epoch) FROM token_epochs) AS epoch
    FROM (VALUES {($, $, $)}) AS v
    JOIN applications p ON p.id = v.column1
    LEFT JOIN revoked_tokens r ON r.id = v.column2
    LEFT JOIN applications c ON c.id = v.column3";

/// The token or code that a request presents, the token that may have been revoked separately, and the application that
/// sent the request. The latter two can be empty.
pub(crate) type StateKey = (String, String, String);

/// The versions of an account, of its user and of the application, each with the time of its last change. The times are
/// necessary, because a fail-over may lose a version, and the next change uses its number again. A change of the user's
/// groups increments the user's version. A change of the application's assignments increments that of the application.
pub(crate) type HolderVersion = [(i64, i64); 3];

crate::engine::sql::row! {
    /// The application that sent the request, if the database has it, and the epoch in which tokens are issued now.
    #[derive(Clone, Debug)]
    pub(crate) struct CallerRow {
        pub(super) caller_id: String,
        pub(super) caller_version: Option<i64>,
        pub(super) caller_updated_at: Option<i64>,
        pub(super) epoch: i64,
    }
}

crate::engine::sql::row! {
    #[derive(Clone)]
    pub(crate) struct FamilyStateRow {
        pub(super) id: String,
        pub(super) token: String,
        pub(super) counter: i64,
        pub(super) used_counter: i64,
        pub(super) open: bool,
        pub(super) in_session: bool,
        pub(super) token_revoked: bool,
        pub(super) account_version: i64,
        pub(super) account_updated_at: i64,
        pub(super) user_version: i64,
        pub(super) user_updated_at: i64,
        pub(super) application_version: i64,
        pub(super) application_updated_at: i64,
        pub(super) caller: CallerRow,
    }
}

impl Row for FamilyStateRow {
    type Key = StateKey;
    type Value = Self;
    fn key(&self) -> Self::Key {
        (
            self.id.clone(),
            self.token.clone(),
            self.caller.caller_id.clone(),
        )
    }
}

crate::engine::sql::row! {
    #[derive(Clone)]
    pub(crate) struct ClientStateRow {
        pub(super) id: String,
        pub(super) token: String,
        pub(super) version: i64,
        pub(super) grants_not_before: i64,
        pub(super) token_revoked: bool,
        pub(super) caller: CallerRow,
    }
}

impl Row for ClientStateRow {
    type Key = StateKey;
    type Value = Self;
    fn key(&self) -> Self::Key {
        (
            self.id.clone(),
            self.token.clone(),
            self.caller.caller_id.clone(),
        )
    }
}
