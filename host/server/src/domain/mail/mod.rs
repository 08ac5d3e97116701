//! Email: its texts, the outbox of invitations, and the check of the SMTP server.

pub mod letter;
pub mod outbox;

use crate::domain::Services;
use crate::smtp::SmtpError;

/// Connects to the SMTP server and authenticates there, without sending anything. `None` if the settings name none.
///
/// # Errors
/// [`SmtpError`], with the server's answer.
pub async fn check_connection(services: &Services) -> Option<Result<(), SmtpError>> {
    let mailer = services.mailer.as_ref()?;
    Some(mailer.check().await)
}
