//! Email: its texts, the outbox of invitations, and the check of the SMTP server.

pub mod letter;
pub mod outbox;

use crate::domain::Services;
use crate::smtp::error::SmtpError;

/// Connects to the SMTP server and authenticates there, without sending anything. Returns `None` if the settings name
/// no server.
///
/// # Errors
/// [`SmtpError`], with the server's response.
pub async fn check_connection(services: &Services) -> Option<Result<(), SmtpError>> {
    let mailer = services.mailer.as_ref()?;
    Some(mailer.check().await)
}
