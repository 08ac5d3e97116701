//! Audit entries about approval requests, their answers, and their ends without a decision.

use crate::domain::approvals::purpose;
use crate::domain::{InternalError, Services, audit};
use assent_model::approval::{Approval, ApprovalStage, ApprovalSubject, CooldownPolicy};
use assent_model::audit::{Actor, AuditContext, Entry, Event, Origin};
use assent_store::AuditNote;

/// Returns an audit entry about a request.
pub(crate) fn approval_entry(
    services: &Services,
    event: Event,
    approval: &Approval,
    by: &AuditContext,
) -> Entry {
    let entry = audit::entry(services, event, by).with("request", approval.id.to_string());
    // The entry contains the details that the user saw, so that the user recognises the request in the recent activity.
    let shown = &approval.shown;
    let mut entry = entry
        .personal("name", shown.account.as_str())
        .personal("requested_from", shown.browser.place.as_str())
        .personal("requested_with", shown.browser.browser.as_str());
    entry = purpose::with_details(entry, &approval.subject);
    entry.user = approval.user_id;
    entry.application.clone_from(&approval.shown.application);
    entry
}

/// Returns the entry about a sign-in that a passkey approved on the login page.
pub(crate) fn passkey_entry(services: &Services, approval: &Approval, by: &AuditContext) -> Entry {
    approval_entry(services, Event::SignInApproved, approval, by).with("method", "passkey")
}

/// Returns the audit note about an answer to a request, which is stored if the answer counts.
pub(crate) fn audit_note(
    services: &Services,
    event: Event,
    approval: &Approval,
    by: &AuditContext,
) -> AuditNote {
    let settings = &services.settings.approvals;
    let pause = CooldownPolicy {
        steps: settings.cooldowns(),
        forgotten_after: settings.denial_reset_after.get(),
        within: settings.denial_window.get(),
        report: (event == Event::SignInReported).then(|| settings.report_cooldown.get()),
    };
    let begun = approval_entry(services, Event::CooldownStarted, approval, by);
    let mut entry = approval_entry(services, event, approval, by);
    // The time to the approval, for the overview.
    if event == Event::SignInApproved && matches!(approval.subject, ApprovalSubject::SignIn(_)) {
        entry = entry.with(
            "approval_time_ms",
            (services.now().millis() - approval.requested_at.millis()).max(0),
        );
    }
    AuditNote {
        entry,
        cooldown: (pause, begun),
        receipt: None,
    }
}

/// The number of ends that are read at once.
const READ: u32 = 200;

/// Records the cancelled sign-ins and the expired requests, each once.
pub async fn record_ends(services: &Services) -> Result<(), InternalError> {
    loop {
        let now = services.now();
        let ended = services.store.unrecorded_ends(now, READ).await?;
        for approval in &ended {
            let event = match approval.stage_at(now) {
                ApprovalStage::Expired => Event::SignInExpired,
                _ => Event::SignInCancelled,
            };
            let application = approval.shown.application.clone();
            let actor = application.map_or(Actor::Server, Actor::Application);
            let by = AuditContext::new(actor, Origin::default());
            let entry = approval_entry(services, event, approval, &by);
            services.store.record_end(approval.id, entry, now).await?;
        }
        if ended.len() < READ as usize {
            return Ok(());
        }
    }
}
