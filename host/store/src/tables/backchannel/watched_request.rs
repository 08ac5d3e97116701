//! The result of a read of a watched request.

use assent_model::approval::Approval;
use assent_model::backchannel::BackchannelRequest;

/// A back-channel request with its approval, at one moment.
#[derive(Clone, Debug)]
pub struct WatchedRequest {
    /// The request. It may have expired.
    pub request: BackchannelRequest,
    /// Its approval.
    pub approval: Approval,
}
