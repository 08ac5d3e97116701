//! `assent:approval@1.0.0`, world `approval-channel`.

use wasmtime::component::Component;

use super::adapter::{IMPORTS, channel_component, linker};
use super::types::{
    Callback, CallbackContent, ChannelFailureKind, ChannelRequest, ChannelState, Evidence,
    StartedRequest,
};
use super::wire::{channel_rejection, milliseconds, retry_after, whole_seconds};
use crate::bindings::approval::ApprovalChannelPre;
use crate::bindings::approval::exports::assent::approval::channel as wit;
use crate::call::state::CallState;
use crate::call::{CallOrigin, Runner, fresh, fresh_for};
use crate::contract::{
    CallFuture, ChannelComponent, ContractVersion, DescribedComponent, LinkedComponent,
};
use crate::usage::CallResult;
use crate::world::World;

/// This version of the contract, with the imports of its components.
pub(crate) const VERSION: ContractVersion = ContractVersion {
    world: World::ApprovalChannel,
    version: "1.0.0",
    imports: IMPORTS,
    link,
};

fn link(component: &Component) -> wasmtime::Result<LinkedComponent> {
    let instance = linker(component)?.instantiate_pre(component)?;
    let channel = V1(ApprovalChannelPre::new(instance)?);
    Ok(LinkedComponent::Channel(Box::new(channel)))
}

channel_component!(ApprovalChannelPre, assent_approval_channel);

fn request(opening: ChannelRequest) -> Option<wit::Notice> {
    let ChannelRequest::Notice(notice) = opening else {
        return None;
    };
    Some(wit::Notice {
        request_id: notice.request_id,
        expires_at: whole_seconds(notice.expires_at),
        address: notice.address,
        sealed: notice.sealed,
        collapse_key: notice.collapse_key,
        callback_url: notice.callback_url,
    })
}

fn started_request(begun: wit::Begun) -> StartedRequest {
    StartedRequest {
        handle: begun.handle,
        poll_after: begun.poll_after_ms.map(milliseconds),
    }
}

fn state(state: wit::State) -> ChannelState {
    match state {
        wit::State::Pending(after) => ChannelState::Pending(milliseconds(after)),
        wit::State::Proof(evidence) => ChannelState::Evidence(evidence.into()),
        wit::State::Denied => ChannelState::Denied,
        wit::State::Expired => ChannelState::Expired,
    }
}

fn callback_content(list: Vec<wit::Evidence>) -> CallbackContent {
    CallbackContent::Evidence(list.into_iter().map(Evidence::from).collect())
}

impl From<wit::Evidence> for Evidence {
    fn from(evidence: wit::Evidence) -> Self {
        Self {
            request_id: evidence.request_id,
            proof: evidence.proof,
        }
    }
}
