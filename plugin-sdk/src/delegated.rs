//! Delegated approval channels: how the question reaches a vendor's authenticator, whose word counts.
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

/// A plugin that puts an approval request to a vendor's authenticator and asks there how it stands.
///
/// What [`poll`](Self::poll) says decides, so it has to be sure that the vendor speaks of this very request. What it
/// needs of the outside comes in as a [`Host`], so that a test can put its own in the place.
pub trait DelegatedApprovalChannel {
    /// The plugin's table of the operator's settings. Give it `#[serde(deny_unknown_fields)]`, so that a typing error
    /// in the settings is found when the host starts.
    type Config: DeserializeOwned;

    /// Name and version.
    fn describe() -> Description;

    /// Checks settings beyond their types. Each error is one plain sentence.
    fn validate(_config: &Self::Config) -> Result<(), Vec<String>> {
        Ok(())
    }

    /// Puts the question to the vendor. Called again with the same request id it does not disturb the person twice.
    fn begin(host: &dyn Host, config: &Self::Config, question: &Question)
    -> Result<Begun, Failure>;

    /// Asks the vendor how the request stands. This answer alone can approve.
    fn poll(host: &dyn Host, config: &Self::Config, handle: &[u8]) -> Result<State, Failure>;

    /// Reads what came to the callback address: the request ids of which there may be news. Anybody may have sent it,
    /// so it decides nothing; the host polls them.
    fn on_callback(
        _host: &dyn Host,
        _config: &Self::Config,
        _callback: &Callback,
    ) -> Result<Vec<String>, Failure> {
        Ok(Vec::new())
    }

    /// Takes the question back, where the vendor can.
    fn cancel(_host: &dyn Host, _config: &Self::Config, _handle: &[u8]) -> Result<(), Failure> {
        Ok(())
    }
}

/// Makes `$channel`, which implements [`DelegatedApprovalChannel`], the component's delegated approval channel. Once in
/// a crate, at its top level.
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
