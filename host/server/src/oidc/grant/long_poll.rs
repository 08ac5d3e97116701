//! Long polls of the token endpoint: a token request for a back-channel request waits for the decision, if the client
//! prefers that (`Prefer: wait=30`, RFC 7240 section 4.3).

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::operations::traffic::admission::AdmittedRequest;
use crate::domain::{InternalError, Services};
use assent_model::approval::Approval;
use assent_model::backchannel::BackchannelRequest;
use assent_model::change::Change;

/// The longest wait. Clients and proxies expect a response within a minute.
pub const LONGEST: Duration = Duration::from_secs(30);

/// The time for which a request may wait.
#[derive(Clone, Debug, Default)]
pub struct Patience {
    longest: Duration,
    admitted: Option<Arc<AdmittedRequest>>,
}

impl Patience {
    /// Returns the patience of a client that prefers to wait for `preferred`. `admitted` is the request, which does not
    /// count while it waits.
    pub fn new(preferred: Duration, admitted: Option<Arc<AdmittedRequest>>) -> Self {
        Self {
            longest: preferred.min(LONGEST),
            admitted,
        }
    }

    /// Whether the request may wait.
    pub const fn is_long(&self) -> bool {
        !self.longest.is_zero()
    }
}

/// Waits until a pending approval is decided or has expired, and returns it as it is then. Returns the pending approval
/// after the time of the client, at once if too many requests wait, when a newer poll of the same request arrives, and
/// when this instance stops. `None` if the approval was deleted.
///
/// While nothing is decided it executes no statement. The poller of changes wakes it on any instance.
pub(super) async fn decided(
    services: &Services,
    request: &BackchannelRequest,
    approval: Approval,
    patience: &Patience,
) -> Result<Option<Approval>, InternalError> {
    if !patience.is_long() {
        return Ok(Some(approval));
    }
    let Some(place) = services.backchannel_long_polls.begin(request.id) else {
        return Ok(Some(approval));
    };
    let _paused = patience.admitted.as_ref().map(|admitted| admitted.pause());
    let mut listener = services.store.listen([Change::Approval(approval.id)]);
    // The timeout uses the machine's clock and not the server's, so that a test that stops the latter does not stop
    // this.
    let mut timeout = pin!(tokio::time::sleep(patience.longest));
    let mut interrupts = pin!(services.draining.interrupts());
    loop {
        let found = services.store.approval_of_request(request).await?;
        let found = match found {
            Some(found) if found.stage_at(services.now()).is_waiting() => found,
            ended => return Ok(ended),
        };
        tokio::select! {
            () = listener.changed(Some(found.expires_at)) => {}
            () = &mut timeout => return Ok(Some(found)),
            () = &mut interrupts => return Ok(Some(found)),
            () = place.replaced() => return Ok(Some(found)),
        }
    }
}
