//! `assent:approval@1.0.0`, world `delegated-approval-channel`.

use wasmtime::component::{Component, HasSelf, Linker};

use super::types::{Begun, Callback, CallbackContent, ChannelFailureKind, ChannelState, Opening};
use super::wire::{milliseconds, rejected, retry_after, whole_seconds};
use crate::bindings::approval::assent::host::{clock, http, log};
use crate::bindings::delegated::DelegatedApprovalChannelPre;
use crate::bindings::delegated::exports::assent::approval::delegated_channel as wit;
use crate::call::{Asker, Call, Runner, fresh, fresh_for};
use crate::contract::{Carrier, Described, Later, Linked, Version};
use crate::usage::Ran;
use crate::world::World;

/// The version, with what its components get: log, clock, and HTTP through their grant.
pub(crate) const VERSION: Version = Version {
    world: World::DelegatedChannel,
    version: "1.0.0",
    imports: &[
        "assent:host/log@1.0.0",
        "assent:host/http@1.0.0",
        "assent:host/clock@1.0.0",
    ],
    link,
};

fn link(component: &Component) -> wasmtime::Result<Linked> {
    let mut linker = Linker::<Call>::new(component.engine());
    log::add_to_linker::<_, HasSelf<Call>>(&mut linker, |call| call)?;
    http::add_to_linker::<_, HasSelf<Call>>(&mut linker, |call| call)?;
    clock::add_to_linker::<_, HasSelf<Call>>(&mut linker, |call| call)?;
    Ok(Linked::Delegated(Box::new(V1(
        DelegatedApprovalChannelPre::new(linker.instantiate_pre(component)?)?,
    ))))
}

struct V1(DelegatedApprovalChannelPre<Call>);

impl Described for V1 {
    fn describe<'a>(&'a self, runner: &'a Runner) -> Later<'a, String> {
        Box::pin(async move {
            fresh!(
                runner,
                self.0,
                assent_approval_delegated_channel.call_describe
            )
        })
    }

    fn validate<'a>(
        &'a self,
        runner: &'a Runner,
        config: &'a str,
    ) -> Later<'a, Result<(), Vec<String>>> {
        Box::pin(async move {
            fresh!(
                runner,
                self.0,
                assent_approval_delegated_channel.call_validate,
                config
            )
        })
    }
}

impl Carrier for V1 {
    fn begin<'a>(
        &'a self,
        runner: &'a Runner,
        config: &'a str,
        opening: Opening,
    ) -> Later<'a, Result<Begun, ChannelFailureKind>> {
        Box::pin(async move {
            let Opening::Question(question) = opening else {
                return Ran::unasked(Err(ChannelFailureKind::WrongKind));
            };
            let question = wit::Question {
                request_id: question.request_id,
                expires_at: whole_seconds(question.expires_at),
                address: question.address,
                application: question.application,
                account: question.account,
                place: question.place,
                browser: question.browser,
                binding: question.binding,
                callback_url: question.callback_url,
            };
            let ran = fresh!(
                runner,
                self.0,
                assent_approval_delegated_channel.call_begin,
                config,
                &question
            );
            sorted(ran, |begun| Begun {
                handle: begun.handle,
                poll_after: Some(milliseconds(begun.poll_after_ms)),
            })
        })
    }

    fn poll<'a>(
        &'a self,
        runner: &'a Runner,
        config: &'a str,
        handle: Vec<u8>,
    ) -> Later<'a, Result<ChannelState, ChannelFailureKind>> {
        Box::pin(async move {
            let ran = fresh!(
                runner,
                self.0,
                assent_approval_delegated_channel.call_poll,
                config,
                &handle
            );
            sorted(ran, |state| match state {
                wit::State::Pending(after) => ChannelState::Pending(milliseconds(after)),
                wit::State::Approved => ChannelState::Approved,
                wit::State::Denied => ChannelState::Denied,
                wit::State::Expired => ChannelState::Expired,
            })
        })
    }

    fn on_callback<'a>(
        &'a self,
        runner: &'a Runner,
        config: &'a str,
        callback: Callback,
    ) -> Later<'a, Result<CallbackContent, ChannelFailureKind>> {
        Box::pin(async move {
            let callback = wit::Callback {
                headers: callback.headers,
                body: callback.body,
            };
            let ran = fresh_for!(
                runner,
                Asker::Stranger,
                self.0,
                assent_approval_delegated_channel.call_on_callback,
                config,
                &callback
            );
            sorted(ran, CallbackContent::Requests)
        })
    }

    fn cancel<'a>(
        &'a self,
        runner: &'a Runner,
        config: &'a str,
        handle: Vec<u8>,
    ) -> Later<'a, Result<(), ChannelFailureKind>> {
        Box::pin(async move {
            sorted(
                fresh!(
                    runner,
                    self.0,
                    assent_approval_delegated_channel.call_cancel,
                    config,
                    &handle
                ),
                |()| (),
            )
        })
    }
}

/// The answer in the host's own terms.
fn sorted<T, U>(
    ran: Ran<Result<T, wit::Failure>>,
    change: impl FnOnce(T) -> U,
) -> Ran<Result<U, ChannelFailureKind>> {
    ran.map(|answer| match answer {
        Ok(value) => Ok(change(value)),
        Err(wit::Failure::Gone) => Err(ChannelFailureKind::Gone),
        Err(wit::Failure::RetryAfter(seconds)) => Err(retry_after(seconds)),
        Err(wit::Failure::Rejected(why)) => Err(rejected(&why)),
    })
}
