//! `assent:approval@1.0.0`, world `delegated-approval-channel`.

use wasmtime::component::Component;

use super::adapter::{IMPORTS, channel_component, linker};
use super::types::{
    Callback, CallbackContent, ChannelFailureKind, ChannelRequest, ChannelState, StartedRequest,
};
use super::wire::{channel_rejection, milliseconds, retry_after, whole_seconds};
use crate::bindings::delegated::DelegatedApprovalChannelPre;
use crate::bindings::delegated::exports::assent::approval::delegated_channel as wit;
use crate::call::state::CallState;
use crate::call::{CallOrigin, Runner, fresh, fresh_for};
use crate::contract::{
    CallFuture, ChannelComponent, ContractVersion, DescribedComponent, LinkedComponent,
};
use crate::usage::CallResult;
use crate::world::World;

/// This version of the contract, with the imports of its components.
pub(crate) const VERSION: ContractVersion = ContractVersion {
    world: World::DelegatedChannel,
    version: "1.0.0",
    imports: IMPORTS,
    link,
};

fn link(component: &Component) -> wasmtime::Result<LinkedComponent> {
    let instance = linker(component)?.instantiate_pre(component)?;
    let channel = V1(DelegatedApprovalChannelPre::new(instance)?);
    Ok(LinkedComponent::Delegated(Box::new(channel)))
}

channel_component!(
    DelegatedApprovalChannelPre,
    assent_approval_delegated_channel
);

fn request(opening: ChannelRequest) -> Option<wit::Question> {
    let ChannelRequest::Question(question) = opening else {
        return None;
    };
    Some(wit::Question {
        request_id: question.request_id,
        expires_at: whole_seconds(question.expires_at),
        address: question.address,
        application: question.application,
        account: question.account,
        place: question.place,
        browser: question.browser,
        binding: question.binding,
        callback_url: question.callback_url,
    })
}

fn started_request(begun: wit::Begun) -> StartedRequest {
    StartedRequest {
        handle: begun.handle,
        poll_after: Some(milliseconds(begun.poll_after_ms)),
    }
}

fn state(state: wit::State) -> ChannelState {
    match state {
        wit::State::Pending(after) => ChannelState::Pending(milliseconds(after)),
        wit::State::Approved => ChannelState::Approved,
        wit::State::Denied => ChannelState::Denied,
        wit::State::Expired => ChannelState::Expired,
    }
}

fn callback_content(requests: Vec<String>) -> CallbackContent {
    CallbackContent::Requests(requests)
}
