//! The common part of the adapters of the two approval contracts. Their generated bindings have the same functions with
//! different types.

use wasmtime::component::{Component, HasSelf, Linker};

use crate::bindings::approval::assent::host::{clock, http, log};
use crate::call::state::CallState;

/// The imports of the components of both contracts: the log, the clock, and HTTP to the granted hosts.
pub(super) const IMPORTS: &[&str] = &[
    "assent:host/log@1.0.0",
    "assent:host/http@1.0.0",
    "assent:host/clock@1.0.0",
];

pub(super) fn linker(component: &Component) -> wasmtime::Result<Linker<CallState>> {
    let mut linker = Linker::<CallState>::new(component.engine());
    log::add_to_linker::<_, HasSelf<CallState>>(&mut linker, |call| call)?;
    http::add_to_linker::<_, HasSelf<CallState>>(&mut linker, |call| call)?;
    clock::add_to_linker::<_, HasSelf<CallState>>(&mut linker, |call| call)?;
    Ok(linker)
}

/// Implements a channel component over the bindings of a contract. The module that uses the macro must define the types
/// of the contract as `wit`. It must also define the functions `request`, `started_request`, `state` and
/// `callback_content` for the differences between the contracts.
macro_rules! channel_component {
    ($pre:ident, $interface:ident) => {
        struct V1($pre<CallState>);

        impl DescribedComponent for V1 {
            fn describe<'a>(&'a self, runner: &'a Runner) -> CallFuture<'a, String> {
                Box::pin(async move { fresh!(runner, self.0, $interface.call_describe) })
            }

            fn validate<'a>(
                &'a self,
                runner: &'a Runner,
                config: &'a str,
            ) -> CallFuture<'a, Result<(), Vec<String>>> {
                Box::pin(async move { fresh!(runner, self.0, $interface.call_validate, config) })
            }
        }

        impl ChannelComponent for V1 {
            fn begin<'a>(
                &'a self,
                runner: &'a Runner,
                config: &'a str,
                opening: ChannelRequest,
            ) -> CallFuture<'a, Result<StartedRequest, ChannelFailureKind>> {
                Box::pin(async move {
                    let Some(request) = request(opening) else {
                        return CallResult::without_call(Err(ChannelFailureKind::WrongKind));
                    };
                    let result = fresh!(runner, self.0, $interface.call_begin, config, &request);
                    translate(result, started_request)
                })
            }

            fn poll<'a>(
                &'a self,
                runner: &'a Runner,
                config: &'a str,
                handle: Vec<u8>,
            ) -> CallFuture<'a, Result<ChannelState, ChannelFailureKind>> {
                Box::pin(async move {
                    let result = fresh!(runner, self.0, $interface.call_poll, config, &handle);
                    translate(result, state)
                })
            }

            fn on_callback<'a>(
                &'a self,
                runner: &'a Runner,
                config: &'a str,
                callback: Callback,
            ) -> CallFuture<'a, Result<CallbackContent, ChannelFailureKind>> {
                Box::pin(async move {
                    let callback = wit::Callback {
                        headers: callback.headers,
                        body: callback.body,
                    };
                    let result = fresh_for!(
                        runner,
                        CallOrigin::Stranger,
                        self.0,
                        $interface.call_on_callback,
                        config,
                        &callback
                    );
                    translate(result, callback_content)
                })
            }

            fn cancel<'a>(
                &'a self,
                runner: &'a Runner,
                config: &'a str,
                handle: Vec<u8>,
            ) -> CallFuture<'a, Result<(), ChannelFailureKind>> {
                Box::pin(async move {
                    let result = fresh!(runner, self.0, $interface.call_cancel, config, &handle);
                    translate(result, |()| ())
                })
            }
        }

        /// Translates the result to the types of this crate.
        fn translate<T, U>(
            result: CallResult<Result<T, wit::Failure>>,
            change: impl FnOnce(T) -> U,
        ) -> CallResult<Result<U, ChannelFailureKind>> {
            result.map(|answer| match answer {
                Ok(value) => Ok(change(value)),
                Err(wit::Failure::Gone) => Err(ChannelFailureKind::Gone),
                Err(wit::Failure::RetryAfter(seconds)) => Err(retry_after(seconds)),
                Err(wit::Failure::Rejected(why)) => Err(channel_rejection(&why)),
            })
        }
    };
}
pub(super) use channel_component;
