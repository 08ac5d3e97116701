//! Approval channels: plugins that carry the question to a person's authenticator.

use std::time::Duration;

use wasmtime::component::{Component, HasSelf, Linker};

use super::bindings::approval::ApprovalChannelPre;
use super::bindings::approval::exports::assent::approval::channel as wit;
use super::engine::{Call, Runner, one_line};
use super::fault::Fault;
use crate::clock::Timestamp;

/// Bytes of a handle.
const HANDLE: usize = 4 << 10;

/// What is sent to a device. The number that the person types is not in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Names the approval; a channel is idempotent on it.
    pub request_id: String,
    /// After this the notice is of no use; channels see whole seconds.
    pub expires_at: Timestamp,
    /// Where the device is reached, in the terms of the channel.
    pub address: String,
    /// For the device alone to open.
    pub sealed: Vec<u8>,
    /// A later notice with the same key takes the place of this one. At most 32 characters of base64url are carried
    /// by every channel.
    pub collapse_key: String,
}

/// A request that is on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// What the channel needs to find the request again; at most 4 KiB.
    pub handle: Vec<u8>,
    /// When to poll first; `None` if there is nothing to poll for.
    pub poll_after: Option<Duration>,
}

/// What a device sent back: bytes from outside, until they have been verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The approval that it claims to be for.
    pub request_id: String,
    /// What the device signed.
    pub proof: Vec<u8>,
}

/// How a request stands, as the channel tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelState {
    /// Nothing yet; poll again after this.
    Pending(Duration),
    /// The device answered.
    Evidence(Evidence),
    /// The channel says that the person denied.
    Denied,
    /// The channel gave up.
    Expired,
}

/// A request that arrived at the channel's callback address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callback {
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Why a channel did not do what it was asked. A login need not fail for it: the device can pull the request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("channel `{channel}` {kind}")]
pub struct ChannelFailure {
    /// The channel.
    pub channel: String,
    /// What went wrong.
    pub kind: ChannelFailureKind,
}

/// What went wrong with a channel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChannelFailureKind {
    /// No plugin has this name.
    #[error("is not configured")]
    Unknown,
    /// The address is no longer valid: forget it.
    #[error("says that the address is gone")]
    Gone,
    /// Try again after this.
    #[error("asks to try again after {0:?}")]
    RetryAfter(Duration),
    /// It will not work this way; the text is for the log.
    #[error("rejects the request: {0}")]
    Rejected(String),
    /// The plugin failed, or broke its contract.
    #[error("{0}")]
    Fault(Fault),
}

/// One approval channel.
pub(super) struct ApprovalChannel {
    runner: Runner,
    component: ApprovalChannelPre<Call>,
    config: String,
}

/// Links a component with what an approval channel may reach: log, clock, and HTTP through its grant.
pub(super) fn link(component: &Component) -> wasmtime::Result<ApprovalChannelPre<Call>> {
    let mut linker = Linker::<Call>::new(component.engine());
    super::bindings::approval::ApprovalChannel::add_to_linker::<_, HasSelf<Call>>(&mut linker, |call| call)?;
    ApprovalChannelPre::new(linker.instantiate_pre(component)?)
}

/// Asks a component what it is.
pub(super) async fn describe(runner: &Runner, component: &ApprovalChannelPre<Call>) -> Result<String, Fault> {
    let call = async |mut store: wasmtime::Store<Call>| {
        let instance = component.instantiate_async(&mut store).await?;
        instance.assent_approval_channel().call_describe(&mut store).await
    };
    runner.run(call).await
}

/// Calls a function of the channel in a fresh instance and sorts its failures.
macro_rules! call {
    ($channel:expr, $function:ident $(, $argument:expr)*) => {{
        let channel = $channel;
        let call = async |mut store: wasmtime::Store<Call>| {
            let instance = channel.component.instantiate_async(&mut store).await?;
            instance.assent_approval_channel().$function(&mut store, &channel.config $(, $argument)*).await
        };
        match channel.runner.run(call).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(failure)) => Err(channel.failed(failure.into())),
            Err(fault) => Err(channel.failed(ChannelFailureKind::Fault(fault))),
        }
    }};
}

impl ApprovalChannel {
    pub(super) fn new(runner: Runner, component: ApprovalChannelPre<Call>, config: String) -> Self {
        Self { runner, component, config }
    }

    pub(super) fn name(&self) -> &str {
        self.runner.name()
    }

    /// Asks the plugin about its settings; each error is a sentence.
    pub(super) async fn validate(&self) -> Result<Result<(), Vec<String>>, Fault> {
        let call = async |mut store: wasmtime::Store<Call>| {
            let instance = self.component.instantiate_async(&mut store).await?;
            instance.assent_approval_channel().call_validate(&mut store, &self.config).await
        };
        self.runner.run(call).await
    }

    /// Sends a notice on its way.
    pub(super) async fn begin(&self, notice: Notice) -> Result<Begun, ChannelFailure> {
        let notice = wit::Notice {
            request_id: notice.request_id,
            expires_at: u64::try_from(notice.expires_at.seconds()).unwrap_or(0),
            address: notice.address,
            sealed: notice.sealed,
            collapse_key: notice.collapse_key,
        };
        let begun = call!(self, call_begin, &notice)?;
        if begun.handle.len() > HANDLE {
            let what = format!("its handle is larger than {HANDLE} bytes");
            return Err(self.failed(ChannelFailureKind::Fault(Fault::Answer(what))));
        }
        Ok(Begun { handle: begun.handle, poll_after: begun.poll_after_ms.map(milliseconds) })
    }

    /// Asks how a request stands.
    pub(super) async fn poll(&self, handle: &[u8]) -> Result<ChannelState, ChannelFailure> {
        // The generated signature asks for a list of its own.
        let handle = handle.to_vec();
        Ok(match call!(self, call_poll, &handle)? {
            wit::State::Pending(after) => ChannelState::Pending(milliseconds(after)),
            wit::State::Proof(evidence) => ChannelState::Evidence(evidence.into()),
            wit::State::Denied => ChannelState::Denied,
            wit::State::Expired => ChannelState::Expired,
        })
    }

    /// Reads what came to the callback address.
    pub(super) async fn on_callback(&self, callback: Callback) -> Result<Vec<Evidence>, ChannelFailure> {
        let callback = wit::Callback { headers: callback.headers, body: callback.body };
        Ok(call!(self, call_on_callback, &callback)?.into_iter().map(Evidence::from).collect())
    }

    /// Takes a request back.
    pub(super) async fn cancel(&self, handle: &[u8]) -> Result<(), ChannelFailure> {
        let handle = handle.to_vec();
        call!(self, call_cancel, &handle)
    }

    fn failed(&self, kind: ChannelFailureKind) -> ChannelFailure {
        let channel = self.name().to_owned();
        tracing::warn!(plugin = channel, "the channel {kind}");
        ChannelFailure { channel, kind }
    }
}

impl From<wit::Failure> for ChannelFailureKind {
    fn from(failure: wit::Failure) -> Self {
        match failure {
            wit::Failure::Gone => Self::Gone,
            wit::Failure::RetryAfter(seconds) => Self::RetryAfter(Duration::from_secs(seconds.into())),
            wit::Failure::Rejected(why) => Self::Rejected(one_line(&why)),
        }
    }
}

impl From<wit::Evidence> for Evidence {
    fn from(evidence: wit::Evidence) -> Self {
        Self { request_id: evidence.request_id, proof: evidence.proof }
    }
}

fn milliseconds(count: u32) -> Duration {
    Duration::from_millis(count.into())
}
