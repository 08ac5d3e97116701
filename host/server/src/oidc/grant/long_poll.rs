//! Long polls of the token endpoint: a token request for a back-channel request waits for the decision, if the client
//! prefers that (`Prefer: wait=30`, RFC 7240 section 4.3).

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::operations::traffic::admission::{AdmittedRequest, PausedRequest};
use crate::domain::{InternalError, Services};
use assent_model::approval::Approval;
use assent_model::backchannel::BackchannelRequest;
use assent_model::change::Change;
use assent_model::id::BackchannelRequestId;

/// The longest wait. Clients and proxies expect a response within a minute.
pub const LONGEST: Duration = Duration::from_secs(30);

/// The time for which a request may wait.
#[derive(Clone, Debug, Default)]
pub struct Patience {
    /// The end of the wait. `None` if the request waits for nothing.
    until: Option<Instant>,
    admitted: Option<Arc<AdmittedRequest>>,
}

impl Patience {
    /// Returns the patience of a client that prefers to wait for `preferred`. `admitted` is the request, which does not
    /// count while it waits.
    pub fn new(preferred: Duration, admitted: Option<Arc<AdmittedRequest>>) -> Self {
        let longest = preferred.min(LONGEST);
        Self {
            until: (!longest.is_zero()).then(|| Instant::now() + longest),
            admitted,
        }
    }

    /// Whether the request may wait.
    pub const fn is_long(&self) -> bool {
        self.until.is_some()
    }

    /// Does not count the request as executing, until the result is dropped.
    fn pause(&self) -> Option<PausedRequest<'_>> {
        self.admitted.as_ref().map(|admitted| admitted.pause())
    }
}

/// Returns the back-channel request with this id, and its approval if the same statement read it. A long poll shares
/// its statement with others, so that few statements read the requests of thousands of polls.
pub(super) async fn read(
    services: &Services,
    id: BackchannelRequestId,
    patience: &Patience,
) -> Result<(Option<BackchannelRequest>, Option<Approval>), InternalError> {
    if !patience.is_long() {
        return Ok((services.store.backchannel_request(id).await?, None));
    }
    let _paused = patience.pause();
    let found = services.store.watched_request(id).await?;
    Ok(match found {
        Some(found) if found.request.second.is_some() => (Some(found.request), None),
        found => found.map(|found| (found.request, found.approval)).unzip(),
    })
}

/// Waits until a pending approval is decided or has expired, and returns it as it is then. Returns the pending approval
/// after the time of the client, at once if too many requests wait, when a newer poll of the same request arrives, and
/// when this instance stops. `None` if the approval was deleted.
///
/// While nothing is decided it executes no statement, except one that it shares with other polls when it begins. The
/// poller of changes wakes it on any instance.
pub(super) async fn decided(
    services: &Services,
    request: &BackchannelRequest,
    approval: Approval,
    patience: &Patience,
) -> Result<Option<Approval>, InternalError> {
    let Some(until) = patience.until else {
        return Ok(Some(approval));
    };
    let Some(place) = services.backchannel_long_polls.begin(request.id) else {
        return Ok(Some(approval));
    };
    let _paused = patience.pause();
    let mut listener = services.store.listen([Change::Approval(approval.id)]);
    // The timeout uses the machine's clock and not the server's, so that a test that stops the latter does not stop
    // this.
    let mut timeout = pin!(tokio::time::sleep_until(until));
    let mut interrupts = pin!(services.draining.interrupts());
    // The decision about a second approval has other rows.
    let mut found = match &request.second {
        None => {
            let found = services.store.watched_request(request.id).await?;
            found.map(|found| found.approval)
        }
        Some(_) => services.store.approval_of_request(request).await?,
    };
    loop {
        let waiting = match found {
            Some(found) if found.stage_at(services.now()).is_waiting() => found,
            ended => return Ok(ended),
        };
        tokio::select! {
            () = listener.changed(Some(waiting.expires_at)) => {}
            () = &mut timeout => return Ok(Some(waiting)),
            () = &mut interrupts => return Ok(Some(waiting)),
            () = place.replaced() => return Ok(Some(waiting)),
        }
        found = services.store.approval_of_request(request).await?;
    }
}
