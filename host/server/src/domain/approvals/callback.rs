//! Callbacks: the requests to a channel's callback address.

use crate::domain::approvals::answer;
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::{InternalError, Services};
use assent_model::id::ApprovalId;
use assent_plugin_host::{Callback, CallbackContent, ChannelInfo};

/// The largest number of approval requests in one callback.
const MOST_IN_CALLBACK: usize = 32;

/// Processes a request to a channel's callback address. Any client may have sent it. A proof is verified as if the
/// device had sent it directly, and a vendor is asked for the state of the request. A failure is logged.
///
/// # Errors
/// If the database fails, or the challenge for a passkey cannot be created.
pub async fn take_callback(
    services: &Services,
    channel: &ChannelInfo,
    callback: Callback,
) -> Result<(), InternalError> {
    let content = match services.plugins.on_callback(&channel.name, callback).await {
        Ok(content) => content,
        Err(failure) => {
            tracing::info!(channel = channel.name, reason = %failure.kind, "callback rejected");
            return Ok(());
        }
    };
    match content {
        CallbackContent::Evidence(list) if list.len() <= MOST_IN_CALLBACK => {
            for one in list {
                // The decision is not returned to the channel.
                answer::accept_evidence(services, &channel.name, &one).await?;
            }
        }
        CallbackContent::Requests(ids) if ids.len() <= MOST_IN_CALLBACK => {
            let approvals: Vec<ApprovalId> = ids.iter().filter_map(|id| id.parse().ok()).collect();
            if services
                .store
                .expedite_deliveries(&channel.name, &approvals, services.now())
                .await?
                > 0
            {
                services.wakeups.send(Wakeup::Carried);
            }
        }
        CallbackContent::Evidence(_) | CallbackContent::Requests(_) => {
            tracing::warn!(
                plugin = channel.name,
                limit = MOST_IN_CALLBACK,
                "callback rejected: it reports too many requests"
            );
        }
    }
    Ok(())
}
