//! Ids and times, as the API reads and writes them.

use crate::domain::admin;
use crate::http::problem::Problem;
use assent_model::id::UserId;

/// Parses an id in a path. A text of another form is the id of no object.
pub(super) fn id_of<T: std::str::FromStr>(text: &str, what: &'static str) -> Result<T, Problem> {
    text.parse()
        .map_err(|_| admin::AdminError::NotFound(what).into())
}

/// Parses the member `users` of a body: ids of users.
pub(super) fn user_ids(texts: &[String]) -> Result<Vec<UserId>, Problem> {
    let invalid = |_| Problem::field("users", "expected the ids of users");
    texts
        .iter()
        .map(|text| text.parse().map_err(invalid))
        .collect()
}

/// Formats a time (RFC 3339).
pub(super) fn moment(at: assent_model::clock::Timestamp) -> String {
    crate::domain::audit::moment_text(at)
}
