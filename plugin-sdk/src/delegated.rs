//! Delegated approval channels: they send approval requests to a vendor's authenticator, and the server trusts its
//! decision.
//!
//! ```
//! use assent_plugin_sdk::delegated::{Begun, DelegatedApprovalChannel, Failure, Host};
//! use assent_plugin_sdk::delegated::{Method, Question, Request, State};
//! use assent_plugin_sdk::{Description, fixtures};
//!
//! struct Vendor;
//!
//! #[derive(serde::Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Config {}
//!
//! fn ask(host: &dyn Host, method: Method, request: &str) -> Result<Vec<u8>, Failure> {
//!     let url = format!("https://vendor.example/{request}");
//!     let request = Request { method, url, headers: Vec::new(), body: Vec::new() };
//!     host.send(request).map(|answer| answer.body).map_err(|error| Failure::Rejected(error.to_string()))
//! }
//!
//! impl DelegatedApprovalChannel for Vendor {
//!     type Config = Config;
//!
//!     fn describe() -> Description {
//!         Description::new("vendor", "1.0.0", "Asks the vendor's authenticator").hosts(["vendor.example"])
//!     }
//!
//!     fn begin(host: &dyn Host, _config: &Config, question: &Question) -> Result<Begun, Failure> {
//!         ask(host, Method::Put, &question.request_id)?;
//!         Ok(Begun { handle: question.request_id.clone().into_bytes(), poll_after_ms: 2_000 })
//!     }
//!
//!     fn poll(host: &dyn Host, _config: &Config, handle: &[u8]) -> Result<State, Failure> {
//!         let answer = ask(host, Method::Get, &String::from_utf8_lossy(handle))?;
//!         Ok(if answer == b"yes" { State::Approved } else { State::Pending(2_000) })
//!     }
//! }
//!
//! assent_plugin_sdk::delegated_approval_channel!(Vendor);
//!
//! # let folder = tempfile::tempdir()?;
//! # std::env::set_current_dir(folder.path())?;
//! std::fs::create_dir("fixtures")?;
//! std::fs::write("fixtures/approved.json", r#"{
//!     "poll": "018f",
//!     "http": [{"request": {"method": "get", "url": "https://vendor.example/018f"}, "answer": {"body": "yes"}}],
//!     "expect": "approved"
//! }"#)?;
//! fixtures::assert_delegated_channel::<Vendor>("fixtures");
//! # Ok::<(), std::io::Error>(())
//! ```

use serde::de::DeserializeOwned;

use crate::Description;
use crate::bindings::delegated::exports::assent::approval::delegated_channel as wit;

pub use crate::http::{Host, HttpError, Method, Request, Response};
pub use wit::{Begun, Callback, Failure, Question, State};

/// A plugin that sends an approval request to a vendor's authenticator and polls the decision there.
///
/// The result of [`poll`](Self::poll) decides the sign-in. So the plugin must verify that the vendor's answer belongs
/// to this request. It reaches its environment through a [`Host`], which a test can replace.
pub trait DelegatedApprovalChannel {
    /// The plugin's table of the operator's settings. Use `#[serde(deny_unknown_fields)]`, so that the server finds a
    /// typing error in the settings when it starts.
    type Config: DeserializeOwned;

    /// Returns the name and the version.
    fn describe() -> Description;

    /// Checks the settings beyond their types. Each error is one plain sentence.
    fn validate(_config: &Self::Config) -> Result<(), Vec<String>> {
        Ok(())
    }

    /// Sends the question to the vendor. It must be idempotent: a second call with the same request id must not disturb
    /// the user again.
    fn begin(host: &dyn Host, config: &Self::Config, question: &Question)
    -> Result<Begun, Failure>;

    /// Polls the vendor for the state of the request. Only this result can approve.
    fn poll(host: &dyn Host, config: &Self::Config, handle: &[u8]) -> Result<State, Failure>;

    /// Handles a request to the callback URL. Returns the ids of the requests that may have a new state. The sender of
    /// a callback is not authenticated, so it decides nothing. The server polls these requests.
    fn on_callback(
        _host: &dyn Host,
        _config: &Self::Config,
        _callback: &Callback,
    ) -> Result<Vec<String>, Failure> {
        Ok(Vec::new())
    }

    /// Cancels the question, if the vendor supports this.
    fn cancel(_host: &dyn Host, _config: &Self::Config, _handle: &[u8]) -> Result<(), Failure> {
        Ok(())
    }
}

/// Exports `$channel`, which implements [`DelegatedApprovalChannel`], as the component's delegated approval channel.
/// Use it once in a crate, at the top level.
#[macro_export]
macro_rules! delegated_approval_channel {
    ($channel:ty) => {
        $crate::export_channel!(
            $channel,
            delegated,
            DelegatedApprovalChannel,
            delegated_channel,
            Question,
            String
        );
    };
}

channel_functions!(DelegatedApprovalChannel);
