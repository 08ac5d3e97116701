//! Prompts: approval requests as devices show them.
//!
//! The store has no summary of a protected action. The summary is rendered for each prompt, and must have the digest
//! that was stored with the request. The digest differs if a name changed, the subject of the action was deleted, or
//! the stored action was tampered with. Then the request ends.

use crate::domain::protected_actions::{ProtectedAction, SummaryError, summarize};
use crate::domain::{InternalError, Services, browser_words};
use assent_model::action_approval::ActionProposal;
use assent_model::approval::{Approval, ApprovalSubject};
use assent_model::language::Language;
use assent_model::login::BrowserContext;

/// An approval request as a device shows it.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// The request.
    pub approval: Approval,
    /// The waiting browser in the language of the device, which signs it.
    pub browser: BrowserContext,
    /// The summary of the protected action in the language of the device, which signs it. `None` for a sign-in.
    pub summary: Option<String>,
}

impl Prompt {
    /// Returns the prompt of a request in the language of the device, with the summary in the same language.
    pub fn new(approval: Approval, summary: Option<String>, language: Language) -> Self {
        let browser = browser_words::shown(&approval.shown.browser, language);
        Self {
            approval,
            browser,
            summary,
        }
    }
}

/// Returns the prompt of a request, in the language of the device. Returns `None` if the summary of its protected
/// action has changed since the request. A pending request ends then.
///
/// # Errors
/// If the store fails.
pub async fn prompt_of(
    services: &Services,
    approval: Approval,
    language: Language,
) -> Result<Option<Prompt>, InternalError> {
    let summary = match &approval.subject {
        ApprovalSubject::SignIn(_) => None,
        ApprovalSubject::ProtectedAction { id, .. } => {
            let found = services.store.action_approval(*id, services.now()).await?;
            let proposal = found.and_then(|found| found.proposal);
            let Some(summary) = requested_summary(services, proposal, language).await? else {
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
            Some(summary)
        }
    };
    Ok(Some(Prompt::new(approval, summary, language)))
}

/// Returns the prompts of these requests, without those that ended.
///
/// # Errors
/// If the store fails.
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

/// Returns the summary of the stored action, if its digest is the requested one.
async fn requested_summary(
    services: &Services,
    proposal: Option<ActionProposal>,
    language: Language,
) -> Result<Option<String>, InternalError> {
    let Some(ActionProposal {
        action,
        summary_digest,
        ..
    }) = proposal
    else {
        return Ok(None);
    };
    let Ok(action) = serde_json::from_str::<ProtectedAction>(&action) else {
        return Ok(None);
    };
    match summarize(&services.store, &action).await {
        Ok(summary) => {
            let is_requested = summary.digest() == summary_digest;
            Ok(is_requested.then(|| summary.text(language)))
        }
        Err(SummaryError::Gone(_)) => Ok(None),
        Err(SummaryError::Store(error)) => Err(error.into()),
    }
}
