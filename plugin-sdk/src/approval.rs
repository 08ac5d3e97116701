//! Approval channels: how the question reaches a person's authenticator.
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
//!     // The device answers the host by itself, so there is never anything new.
//!     fn poll(_host: &dyn Host, _config: &Config, _handle: &[u8]) -> Result<State, Failure> {
//!         Ok(State::Pending(60_000))
//!     }
//! }
//!
//! assent_plugin_sdk::approval_channel!(Knock);
//!
//! # let folder = tempfile::tempdir()?;
//! # std::env::set_current_dir(folder.path())?;
//! // In a test, what the other side answers comes from the fixture.
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

/// A plugin that carries an approval request to a device, and evidence back.
///
/// What it needs of the outside comes in as a [`Host`], so that a test can put its own in the place.
pub trait ApprovalChannel {
    /// The plugin's table of the operator's settings. Give it `#[serde(deny_unknown_fields)]`, so that a typing error
    /// in the settings is found when the host starts.
    type Config: DeserializeOwned;

    /// Name and version.
    fn describe() -> Description;

    /// Checks settings beyond their types. Each error is one plain sentence.
    fn validate(_config: &Self::Config) -> Result<(), Vec<String>> {
        Ok(())
    }

    /// Sends the notice on its way. Called again with the same request id it does not disturb the person twice.
    fn begin(host: &dyn Host, config: &Self::Config, notice: &Notice) -> Result<Begun, Failure>;

    /// Asks how the request stands.
    fn poll(host: &dyn Host, config: &Self::Config, handle: &[u8]) -> Result<State, Failure>;

    /// Reads what came to the callback address.
    fn on_callback(
        _host: &dyn Host,
        _config: &Self::Config,
        _callback: &Callback,
    ) -> Result<Vec<Evidence>, Failure> {
        Ok(Vec::new())
    }

    /// Takes the request back, where the channel can.
    fn cancel(_host: &dyn Host, _config: &Self::Config, _handle: &[u8]) -> Result<(), Failure> {
        Ok(())
    }
}

/// Makes `$channel`, which implements [`ApprovalChannel`], the component's approval channel. Once in a crate, at its
/// top level.
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
