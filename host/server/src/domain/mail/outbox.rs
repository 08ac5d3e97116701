//! The outbox of invitations.
//!
//! An email is written to the database with its link. An instance leases it for one attempt. A failed attempt is
//! repeated with a backoff, until the server rejects the message, the link expires or the attempts are used up. If an
//! instance stops in between, another one sends the email after the lease.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tracing::Instrument;

use crate::domain::mail::letter::{Letter, language_of};
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::{InternalError, Services, audit};
use crate::smtp::Mailer;
use crate::smtp::error::SmtpError;
use assent_model::audit::{AuditContext, Event};
use assent_model::device::LinkState;
use assent_model::id::EnrolmentId;
use assent_model::invitation::{LeasedMail, MailOutcome};
use assent_model::user::{LifecycleState, User};
use assent_telemetry::ROOT_SPANS;

use crate::keys::KeyError;

/// The interval between reads of the database without a wake-up. Another instance may have stopped, or a pause may have
/// ended.
const POLL_INTERVAL: Duration = Duration::from_secs(3);
/// The number of emails that this instance sends at the same time.
const AT_ONCE: usize = 4;
/// The part of the lease beyond the timeout of an attempt.
const GRACE: Duration = Duration::from_secs(30);
/// The pauses between the attempts. After the last attempt, within a day, the email is abandoned.
const PAUSES: [Duration; 9] = [
    minutes(1),
    minutes(2),
    minutes(5),
    minutes(15),
    minutes(30),
    minutes(60),
    minutes(2 * 60),
    minutes(4 * 60),
    minutes(8 * 60),
];

/// The least pause after a reply that could not be parsed. The message may have arrived, so a mailbox must not fill
/// with copies of it.
const UNCLEAR_PAUSE: Duration = minutes(60);

const fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}

/// Returns the purpose for which a link is sealed, so that one link cannot replace another.
pub(in crate::domain) fn purpose(id: EnrolmentId) -> String {
    format!("invitation {id}")
}

/// Returns a link, sealed for the outbox.
pub fn seal_link(services: &Services, id: EnrolmentId, link: &str) -> Result<String, KeyError> {
    services.seal(&purpose(id), link.as_bytes())
}

/// Sends emails, until the task is dropped.
pub async fn run(services: Arc<Services>) {
    if services.mailer.is_none() {
        std::future::pending::<()>().await;
    }
    let mut under_way = JoinSet::new();
    loop {
        while under_way.try_join_next().is_some() {}
        let begun = match begin(&services, &mut under_way).await {
            Ok(begun) => begun,
            Err(error) => {
                tracing::warn!(%error, "outbox of invitations not read");
                false
            }
        };
        if begun {
            continue;
        }
        tokio::select! {
            () = services.wakeups.received(Wakeup::MailQueued) => {}
            () = tokio::time::sleep(POLL_INTERVAL) => {}
            Some(_) = under_way.join_next() => {}
        }
    }
}

/// Begins the next attempt. Returns whether one began, so that there may be more.
async fn begin(
    services: &Arc<Services>,
    under_way: &mut JoinSet<()>,
) -> Result<bool, InternalError> {
    let Some(mailer) = services
        .mailer
        .as_ref()
        .filter(|_| under_way.len() < AT_ONCE)
    else {
        return Ok(false);
    };
    let lease = mailer.timeout() + GRACE;
    let leased = services
        .store
        .lease_invitation_mail(lease, services.now())
        .await?;
    let Some(mail) = leased else {
        return Ok(false);
    };
    let services = Arc::clone(services);
    let sampler = &services.span_sampler;
    let span =
        sampler.background(|| tracing::info_span!(target: ROOT_SPANS, "invitation.delivery"));
    let sending = async move {
        // The row remains, so an instance tries again after the lease.
        if let Err(error) = attempt(&services, &mail).await {
            tracing::warn!(enrolment = %mail.enrolment, %error, "invitation not sent, retrying later");
        }
    };
    under_way.spawn(sending.instrument(span));
    Ok(true)
}

async fn attempt(services: &Services, mail: &LeasedMail) -> Result<(), InternalError> {
    let Some(mailer) = &services.mailer else {
        return Ok(());
    };
    // The link and the row are deleted with the user.
    let user = services.store.user(mail.user).await?;
    let Some(user) = user.filter(|user| user.state == LifecycleState::Invited) else {
        return Ok(());
    };
    // Checked after the address was read: a change of the address ends the link, so the link is never sent to another
    // address than the one for which it was created.
    let (id, now) = (mail.enrolment, services.now());
    let link = services.store.enrolment(id, now).await?;
    let is_open = matches!(link, Some((_, LinkState::Open)));
    if mail.expires_at > now && !is_open {
        return Ok(());
    }
    let outcome = match deliver(services, mailer, mail, &user).await? {
        Ok(()) => MailOutcome::Sent,
        Err(Failure::Final(why)) => MailOutcome::GivenUp { why },
        Err(Failure::Passing(why)) => again(services, mail, why, Duration::ZERO),
        Err(Failure::Unclear(why)) => again(services, mail, why, UNCLEAR_PAUSE),
    };
    let entry = |event| {
        let entry = audit::entry(services, event, &AuditContext::SERVER).about(user.id);
        let entry = entry.with("enrolment", mail.enrolment.to_string());
        match &user.email {
            Some(email) => entry.personal("email", email.to_string()),
            None => entry,
        }
    };
    let entry = match &outcome {
        MailOutcome::Sent => Some(entry(Event::InvitationSent)),
        MailOutcome::Retry { .. } => None,
        MailOutcome::GivenUp { why } => {
            Some(entry(Event::InvitationFailed).personal("reason", why.as_str()))
        }
    };
    let (enrolment, attempt) = (mail.enrolment, mail.attempt);
    match &outcome {
        MailOutcome::Sent => tracing::info!(%enrolment, attempt, "invitation sent"),
        MailOutcome::Retry { why, .. } => {
            tracing::info!(%enrolment, attempt, reason = why, "invitation not sent, retrying later");
        }
        MailOutcome::GivenUp { why } => {
            tracing::warn!(%enrolment, attempt, reason = why, "invitation not sent, not retried");
        }
    }
    services
        .store
        .settle_invitation_mail(mail, outcome, entry, services.now())
        .await?;
    Ok(())
}

/// The kind of a failure.
enum Failure {
    /// A retry would fail too.
    Final(String),
    /// A retry may succeed.
    Passing(String),
    /// The server may have accepted the message.
    Unclear(String),
}

async fn deliver(
    services: &Services,
    mailer: &Mailer,
    mail: &LeasedMail,
    user: &User,
) -> Result<Result<(), Failure>, InternalError> {
    let failed = |why: &str| Ok(Err(Failure::Final(why.to_owned())));
    if mail.expires_at <= services.now() {
        return failed("the link expired before the email could be sent");
    }
    let Some(email) = &user.email else {
        return failed("the user has no email address");
    };
    let opened = services
        .sealing_keys
        .open(&purpose(mail.enrolment), &mail.sealed_link)?;
    let Ok(link) = std::str::from_utf8(&opened) else {
        return failed("the link cannot be read");
    };
    let name = user.display_name();
    let letter = Letter::invitation(
        services,
        language_of(services, user),
        name,
        link,
        mail.expires_at,
    );
    let id = mail.enrolment.to_string();
    let message = match letter.mail_to(services, mailer.from(), Some(name), email.as_str(), &id) {
        Ok(message) => message,
        Err(why) => return failed(&why),
    };
    let sent = mailer
        .send(message.envelope(), &message.formatted())
        .await
        .map(drop);
    Ok(sent.map_err(|error| {
        let why = without_link(&error.to_string(), link);
        match error {
            SmtpError {
                is_permanent: true, ..
            } => Failure::Final(why),
            SmtpError {
                may_have_arrived: true,
                ..
            } => Failure::Unclear(why),
            SmtpError { .. } => Failure::Passing(why),
        }
    }))
}

/// Removes the link from a response of the server, which may repeat a part of the message.
fn without_link(why: &str, link: &str) -> String {
    let token = link.rsplit('=').next().unwrap_or(link);
    why.replace(link, "***").replace(token, "***")
}

/// Returns the next attempt after a temporary failure, if there is one, after `least` at the earliest.
fn again(services: &Services, mail: &LeasedMail, why: String, least: Duration) -> MailOutcome {
    let pause = (mail.attempt as usize)
        .checked_sub(1)
        .and_then(|index| PAUSES.get(index));
    match pause {
        Some(pause) => MailOutcome::Retry {
            at: services.now() + (*pause).max(least),
            why,
        },
        None => MailOutcome::GivenUp { why },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_never_repeats_the_link() {
        let link = "https://id.example.org/authenticator#enrol=assent_enr_abc";
        for echo in [
            link,
            "assent_enr_abc",
            "550 link https://id.example.org/authenticator#enrol=assent_enr_abc",
        ] {
            let why = without_link(echo, link);
            assert!(!why.contains("assent_enr_abc"), "{why}");
        }
    }

    #[test]
    fn attempts_end_within_a_day() {
        let total: Duration = PAUSES.iter().map(|pause| (*pause).max(UNCLEAR_PAUSE)).sum();
        assert!(total < Duration::from_secs(24 * 3600), "{total:?}");
        assert!(PAUSES.is_sorted());
    }
}
