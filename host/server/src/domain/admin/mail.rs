//! The test email, and the preview of emails.

use serde::Serialize;

use super::command::{AdminCommand, AdminContext, ApprovedPlan, Planned};
use super::invitations::NO_MAIL;
use super::users::email_address;
use super::{AdminError, Result};
use crate::domain::admin::execution::Execution;
use crate::domain::mail::letter::Letter;
use crate::domain::{Services, audit};
use assent_model::administration::Permission;
use assent_model::audit::Event;
use assent_model::id::AuditId;
use assent_model::language::Language;

assent_model::admin_command! {
    /// Sends a test email to an address.
    #[derive(Clone, Debug, Serialize)]
    pub struct SendTestMail(target String);
}

impl AdminCommand for SendTestMail {
    type Plan = String;
    type Outcome = String;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<String>> {
        let authorization = context
            .caller
            .authorize(Permission::MailSend, "you may not send email")?;
        if context.services.mailer.is_none() {
            return Err(AdminError::Conflict(NO_MAIL));
        }
        // The form of users' addresses: SMTP servers without SMTPUTF8 (RFC 6531) take a domain only in A-labels.
        let to = email_address(&self.0)?;
        Ok(Planned::harmless(authorization, to.to_string()))
    }

    async fn execute(approved: ApprovedPlan<'_, String>) -> Result<Execution<String>> {
        let (to, recorder) = approved.into_parts();
        let services = recorder.services;
        let Some(mailer) = &services.mailer else {
            return Err(AdminError::Conflict(NO_MAIL));
        };
        let letter = Letter::test(services, services.settings.branding.language);
        let id = AuditId::new(services.now(), &*services.entropy).to_string();
        let message = letter
            .mail_to(services, mailer.from(), None, &to, &id)
            .map_err(|why| super::invalid("to", why))?;
        let answer = mailer
            .send(message.envelope(), &message.formatted())
            .await
            .map_err(|error| AdminError::Mail(error.to_string()))?;
        let entry = audit::entry(services, Event::MailTested, recorder.by).personal("email", to);
        services.store.append_audit(vec![entry]).await?;
        tracing::info!("test email sent");
        Ok(Execution::Done(answer))
    }
}

/// An email as its recipient sees it.
#[derive(Clone, Debug)]
pub struct MailPreview {
    /// The sender; `None` if the server sends no email.
    pub from: Option<String>,
    /// The subject.
    pub subject: String,
    /// The body as plain text.
    pub text: String,
    /// The body as HTML.
    pub html: String,
}

/// Returns the invitation in a language, with a link that does not work.
pub fn mail_preview(services: &Services, language: Language) -> MailPreview {
    let expires_at = services.now() + services.settings.lifetimes.enrolment.get();
    let link = format!("{}/authenticator", services.settings.origin());
    let letter = Letter::invitation(services, language, "Ada Lovelace", &link, expires_at);
    MailPreview {
        from: services
            .mailer
            .as_ref()
            .map(|mailer| mailer.from().to_string()),
        subject: letter.subject(),
        text: letter.text(),
        html: letter.html(),
    }
}
