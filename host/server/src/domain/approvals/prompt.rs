//! Prompts: approval requests as devices show them.

use crate::domain::approvals::purpose;
use crate::domain::approvals::purpose::PurposeText;
use crate::domain::{InternalError, Services, browser_words};
use assent_model::approval::Approval;
use assent_model::language::Language;
use assent_model::login::BrowserContext;

/// An approval request as a device shows it.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// The request.
    pub approval: Approval,
    /// The waiting browser in the language of the device, which signs it.
    pub browser: BrowserContext,
    /// The text of the purpose in the language of the device, which signs it.
    pub text: PurposeText,
    /// The texts of the authorization details in the language of the device, which signs them.
    pub details: Vec<String>,
}

impl Prompt {
    /// Returns the prompt of a request in the language of the device, with the text of its purpose in the same
    /// language. The texts of authorization details are those of the request, even if an administrator changed their
    /// types since.
    pub fn new(approval: Approval, text: PurposeText, language: Language) -> Self {
        let browser = browser_words::signed_words(&approval.shown.browser, language);
        let details = approval.shown.details.in_language(language);
        Self {
            approval,
            browser,
            text,
            details,
        }
    }
}

/// Returns the prompt of a request, in the language of the device. Returns `None` if the summary of its protected
/// action has changed since the request. A pending request ends then.
pub async fn prompt_of(
    services: &Services,
    approval: Approval,
    language: Language,
) -> Result<Option<Prompt>, InternalError> {
    let Some(text) = purpose::text(services, &approval.subject, language).await? else {
        tracing::warn!(
            approval = %approval.id,
            "approval request ended: the summary of the protected action changed"
        );
        services
            .store
            .withdraw_approval(approval.id, services.now())
            .await?;
        return Ok(None);
    };
    Ok(Some(Prompt::new(approval, text, language)))
}

/// Returns the prompts of these requests, without those that ended.
pub async fn prompts_of(
    services: &Services,
    approvals: Vec<Approval>,
    language: Language,
) -> Result<Vec<Prompt>, InternalError> {
    let mut prompts = Vec::with_capacity(approvals.len());
    for approval in approvals {
        prompts.extend(prompt_of(services, approval, language).await?);
    }
    Ok(prompts)
}
