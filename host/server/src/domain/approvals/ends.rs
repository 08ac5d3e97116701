//! The ends of sign-ins without a decision, for the audit log and the overview.

use crate::domain::approvals::record::approval_entry;
use crate::domain::{InternalError, Services};
use assent_model::approval::ApprovalStage;
use assent_model::audit::{Actor, AuditContext, Event, Origin};

/// The number of ends that are read at once.
const READ: u32 = 200;

/// Records the cancelled sign-ins and the expired requests, each once.
///
/// # Errors
/// If the store fails.
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
