//! Approval channels: plugins that carry approval requests to a user's authenticator.

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
