//! Approval channels: they carry approval requests to a user's authenticator.
//!
//! ```
//! use assent_plugin_sdk::approval::{ApprovalChannel, Begun, Failure, Host, Method, Notice, Request, State};
//! use assent_plugin_sdk::{Description, fixtures};
//!
//! struct Knock;
//!
//! #[derive(serde::Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Config {}
//!
//! impl ApprovalChannel for Knock {
//!     type Config = Config;
//!
//!     fn describe() -> Description {
//!         Description::new("knock", "1.0.0", "Knocks at the address of the device")
//!     }
//!
//!     fn begin(host: &dyn Host, _config: &Config, notice: &Notice) -> Result<Begun, Failure> {
//!         let request = Request {
//!             method: Method::Post,
//!             url: notice.address.clone(),
//!             headers: Vec::new(),
//!             body: notice.sealed.clone(),
//!         };
//!         match host.send(request) {
//!             Ok(answer) if answer.status == 410 => Err(Failure::Gone),
//!             Ok(_) => Ok(Begun { handle: notice.request_id.clone().into_bytes(), poll_after_ms: None }),
//!             Err(error) => Err(Failure::Rejected(error.to_string())),
//!         }
//!     }
//!
//!     // The device calls the server itself, so a poll never finds an answer.
//!     fn poll(_host: &dyn Host, _config: &Config, _handle: &[u8]) -> Result<State, Failure> {
//!         Ok(State::Pending(60_000))
//!     }
//! }
//!
//! assent_plugin_sdk::approval_channel!(Knock);
//!
//! # let folder = tempfile::tempdir()?;
//! # std::env::set_current_dir(folder.path())?;
//! // In a test, the fixture contains the responses of the other side.
//! std::fs::create_dir("fixtures")?;
//! std::fs::write("fixtures/gone.json", r#"{
//!     "begin": {"address": "https://knock.example/ada"},
//!     "http": [{
//!         "request": {"method": "post", "url": "https://knock.example/ada"},
//!         "answer": {"status": 410}
//!     }],
//!     "expect": "gone"
//! }"#)?;
//! fixtures::assert_channel::<Knock>("fixtures");
//! # Ok::<(), std::io::Error>(())
//! ```

use serde::de::DeserializeOwned;

use crate::Description;
use crate::bindings::approval::exports::assent::approval::channel as wit;

pub use crate::http::{Host, HttpError, Method, Request, Response};
pub use wit::{Begun, Callback, Evidence, Failure, Notice, State};

/// A plugin that carries an approval request to a device, and returns a channel proof.
///
/// It reaches its environment through a [`Host`], which a test can replace.
pub trait ApprovalChannel {
    /// The plugin's table of the operator's settings. Use `#[serde(deny_unknown_fields)]`, so that the server finds a
    /// typing error in the settings when it starts.
    type Config: DeserializeOwned;

    /// Returns the name and the version.
    fn describe() -> Description;

    /// Checks the settings beyond their types. Each error is one plain sentence.
    fn validate(_config: &Self::Config) -> Result<(), Vec<String>> {
        Ok(())
    }

    /// Sends the notice. It must be idempotent: a second call with the same request id must not disturb the user again.
    fn begin(host: &dyn Host, config: &Self::Config, notice: &Notice) -> Result<Begun, Failure>;

    /// Polls the state of the request.
    fn poll(host: &dyn Host, config: &Self::Config, handle: &[u8]) -> Result<State, Failure>;

    /// Handles a request to the callback URL.
    fn on_callback(
        _host: &dyn Host,
        _config: &Self::Config,
        _callback: &Callback,
    ) -> Result<Vec<Evidence>, Failure> {
        Ok(Vec::new())
    }

    /// Cancels the request, if the channel supports this.
    fn cancel(_host: &dyn Host, _config: &Self::Config, _handle: &[u8]) -> Result<(), Failure> {
        Ok(())
    }
}

/// Exports `$channel`, which implements [`ApprovalChannel`], as the component's approval channel. Use it once in a
/// crate, at the top level.
#[macro_export]
macro_rules! approval_channel {
    ($channel:ty) => {
        $crate::export_channel!(
            $channel,
            approval,
            ApprovalChannel,
            channel,
            Notice,
            $crate::approval::Evidence
        );
    };
}

channel_functions!(ApprovalChannel);
