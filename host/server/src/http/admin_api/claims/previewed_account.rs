//! The account of a preview.

use crate::domain::admin::PreviewedAccount;
use crate::http::admin_api::values::id_of;
use crate::http::problem::{Problem, ProblemKind};

/// Returns the account that a request names by its id or by its user.
pub(super) fn previewed_account(
    account: Option<&str>,
    user: Option<&str>,
) -> Result<PreviewedAccount, Problem> {
    match (account, user) {
        (Some(account), None) => Ok(PreviewedAccount::Stored(id_of(account, "account")?)),
        (None, Some(user)) => Ok(PreviewedAccount::OfUser(id_of(user, "user")?)),
        _ => Err(Problem::with_kind(
            ProblemKind::Malformed,
            "name either the account or the user",
        )),
    }
}
