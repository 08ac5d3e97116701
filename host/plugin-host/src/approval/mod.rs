//! Approval channels: plugins that carry the question to a person's authenticator.

mod adapter;
mod channel;
pub(super) mod channel_v1;
pub(super) mod delegated_v1;
mod types;
mod wire;

pub(super) use channel::ApprovalChannel;
pub use types::{
    Callback, CallbackContent, ChannelFailure, ChannelFailureKind, ChannelInfo, ChannelRequest,
    ChannelState, Evidence, Notice, Question, StartedRequest,
};
