//! Ids and moments, as the API reads and writes them.

use crate::domain::admin;
use crate::http::problem::Problem;

/// Reads an id of a path; what is none names nothing.
pub(super) fn id_of<T: std::str::FromStr>(text: &str, what: &'static str) -> Result<T, Problem> {
    text.parse()
        .map_err(|_| admin::AdminError::NotFound(what).into())
}

/// A moment in the form of RFC 3339.
pub(super) fn moment(at: assent_model::clock::Timestamp) -> String {
    crate::domain::audit::moment_text(at)
}
