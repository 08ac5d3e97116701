//! Approval channels: plugins that carry the question to a person's authenticator.

mod channel;
pub(super) mod channel_v1;
pub(super) mod delegated_v1;
mod types;
mod wire;

pub(super) use channel::ApprovalChannel;
pub use types::{
    Begun, Callback, CallbackContent, ChannelFailure, ChannelFailureKind, ChannelInfo,
    ChannelState, Evidence, Notice, Opening, Question,
};
