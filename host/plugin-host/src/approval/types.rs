//! The arguments and results of approval channels.

use std::time::Duration;

use crate::fault::Fault;
use crate::spec::Trust;
use assent_model::clock::Timestamp;

/// The largest handle, in bytes.
const HANDLE: usize = 4 << 10;

/// A notice to a device. It never contains the matching number that the user types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Identifies the approval. A channel is idempotent for this id.
    pub request_id: String,
    /// The expiry of the notice. Channels receive whole seconds.
    pub expires_at: Timestamp,
    /// The address of the device, in the format of the channel.
    pub address: String,
    /// The encrypted content, which only the device can open.
    pub sealed: Vec<u8>,
    /// A later notice with the same key replaces this one. Every channel supports a key of up to 32 characters of
    /// base64url.
    pub collapse_key: String,
    /// The URL at which the server accepts callbacks for the channel.
    pub callback_url: String,
}

/// A question in plain text to the authenticator of a vendor. It never contains the matching number that the user
/// types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Identifies the approval. A channel is idempotent for this id.
    pub request_id: String,
    /// The expiry of the question: no sign-in waits for a later answer. Channels receive whole seconds.
    pub expires_at: Timestamp,
    /// The user's identifier at the vendor.
    pub address: String,
    /// The name of the application to which the user signs in.
    pub application: String,
    /// The user name from the login page.
    pub account: String,
    /// The approximate location of the browser.
    pub place: String,
    /// The browser and operating system.
    pub browser: String,
    /// A few letters that the waiting page shows too.
    pub binding: String,
    /// The URL at which the server accepts callbacks for the channel.
    pub callback_url: String,
}

/// The request that a channel carries, by the kind of the channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelRequest {
    /// For a channel that carries requests to a device of this server.
    Notice(Notice),
    /// For a channel that carries requests to a vendor.
    Question(Question),
}

/// The properties of a channel that its users know before they call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelInfo {
    /// The plugin's name in the settings.
    pub name: String,
    /// Whether the server verifies the channel's result or trusts it.
    pub trust: Trust,
    /// Whether a vendor's app shows the letters of the waiting page, so that the user compares them.
    pub shows_letters: bool,
}

/// A request that the channel accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartedRequest {
    /// The data by which the channel finds the request again; at most 4 KiB.
    pub handle: Vec<u8>,
    /// The delay before the first poll. `None` if there is nothing to poll for.
    pub poll_after: Option<Duration>,
}

impl StartedRequest {
    /// Returns the request if its handle is within the limit.
    pub(crate) fn check_handle(self) -> Result<Self, Fault> {
        if self.handle.len() > HANDLE {
            return Err(Fault::Answer(format!(
                "its handle is larger than {HANDLE} bytes"
            )));
        }
        Ok(self)
    }
}

/// The channel proof that a device returned. It is untrusted until the server has verified it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The approval to which the proof claims to belong.
    pub request_id: String,
    /// The data that the device signed.
    pub proof: Vec<u8>,
}

/// The state of a request, as the channel reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelState {
    /// There is no answer yet. Poll again after this delay.
    Pending(Duration),
    /// The device answered.
    Evidence(Evidence),
    /// The vendor reports that the user approved. Only a delegated channel may report this.
    Approved,
    /// The channel reports that the user denied.
    Denied,
    /// The channel ended the request without an answer.
    Expired,
}

/// An HTTP request to the channel's callback URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callback {
    /// The headers, as names and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// The channel's result for a callback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallbackContent {
    /// The channel proofs that devices returned.
    Evidence(Vec<Evidence>),
    /// The ids of the requests that the server should poll at once.
    Requests(Vec<String>),
}

/// A failure of a channel. The sign-in can still succeed, because the device can also fetch the request itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("channel `{channel}` {kind}")]
pub struct ChannelFailure {
    /// The channel.
    pub channel: String,
    /// The reason.
    pub kind: ChannelFailureKind,
}

/// The reason why a channel failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChannelFailureKind {
    /// No plugin has this name.
    #[error("is not configured")]
    Unknown,
    /// The channel is of the other kind: it takes notices instead of questions, or questions instead of notices.
    #[error("has the wrong kind")]
    WrongKind,
    /// The address is invalid from now on. The server must delete it.
    #[error("says that the address is gone")]
    Gone,
    /// The caller may retry after this delay.
    #[error("asks to try again after {0:?}")]
    RetryAfter(Duration),
    /// The channel rejected the request, and a retry would fail too. The text is for the log.
    #[error("rejects the request: {0}")]
    Rejected(String),
    /// The plugin failed or broke its contract.
    #[error("{0}")]
    Fault(Fault),
}
