//! What a plugin of Assent is written with.
//!
//! A plugin is a WebAssembly component in one of these roles, chosen by a feature of this crate:
//!
//! - `claim-mapper`: decides what an application is told about a person. Implement `ClaimMapper`, then
//!   `claim_mapper!(YourType);`.
//! - `approval-channel`: carries the question "is it you?" to a person's authenticator. Implement `ApprovalChannel`,
//!   then `approval_channel!(YourType);`.
//! - `delegated-approval-channel`: puts that question to a vendor's authenticator and takes its word. Implement
//!   `DelegatedApprovalChannel`, then `delegated_approval_channel!(YourType);`.
//!
//! The feature `values` gives claim mappers what settings with texts like `{email}` and SAML attributes need.
//!
//! The crate is a library of the types `cdylib` (what becomes the component) and `rlib` (so that `cargo test` runs its
//! logic natively). `assent-plugin build DIR` builds the component; `assent-plugin check FILE` shows the server's view
//! of it. Its cases are files: see `fixtures`. The guide is `docs/plugins.md`.
//!
//! A plugin has no files, no environment and no randomness, and a fresh instance for each call: whatever it keeps in a
//! `static` is gone afterwards. A panic ends the call and is the plugin's fault in the operator's log.
//!
//! ```
//! # #[cfg(feature = "claim-mapper")] {
//! use assent_plugin_sdk::claims::{ClaimMapper, Edit, Failure, Input};
//! use assent_plugin_sdk::{Description, json};
//!
//! struct Department;
//!
//! #[derive(serde::Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Config {
//!     department: String,
//! }
//!
//! impl ClaimMapper for Department {
//!     type Config = Config;
//!
//!     fn describe() -> Description {
//!         Description::new("department", "1.0.0", "Tells every application the department").writes(["department"])
//!     }
//!
//!     fn map(config: &Config, _input: &Input) -> Result<Vec<Edit>, Failure> {
//!         Ok(vec![Edit::set("department", json!(config.department))])
//!     }
//! }
//!
//! assent_plugin_sdk::claim_mapper!(Department);
//!
//! // Its logic runs anywhere, so this is all that a test needs.
//! let edits = Department::map(&Config { department: "Claims".into() }, &Input::default());
//! assert_eq!(edits, Ok(vec![Edit::set("department", json!("Claims"))]));
//! # }
//! ```

#[cfg(all(
    target_family = "wasm",
    any(
        all(feature = "claim-mapper", feature = "approval-channel"),
        all(feature = "claim-mapper", feature = "delegated-approval-channel"),
        all(feature = "approval-channel", feature = "delegated-approval-channel"),
    )
))]
compile_error!(
    "a component plays one role: turn on one of the features of assent-plugin-sdk, and build plugins of different \
     roles with \
     separate cargo commands (`assent-plugin build` does)"
);

#[cfg(any(feature = "approval-channel", feature = "delegated-approval-channel"))]
#[macro_use]
mod channel_exports;

#[cfg(feature = "approval-channel")]
pub mod approval;
#[doc(hidden)]
pub mod bindings;
#[cfg(feature = "claim-mapper")]
pub mod claims;
#[cfg(feature = "delegated-approval-channel")]
pub mod delegated;
mod description;
#[cfg(all(
    not(target_family = "wasm"),
    any(
        feature = "claim-mapper",
        feature = "approval-channel",
        feature = "delegated-approval-channel"
    )
))]
pub mod fixtures;
#[cfg(any(feature = "approval-channel", feature = "delegated-approval-channel"))]
pub mod http;
pub mod log;
#[cfg(feature = "values")]
pub mod values;

pub use description::Description;
pub use serde_json::{Map, Value, json};

/// Reads a plugin's settings. An error is the sentence that the operator gets to see.
#[cfg(any(
    feature = "claim-mapper",
    feature = "approval-channel",
    feature = "delegated-approval-channel"
))]
fn read_config<C: serde::de::DeserializeOwned>(config: &str) -> Result<C, String> {
    serde_json::from_str(config).map_err(|error| {
        // The operator wrote TOML, so where it is in the JSON made of that would lead nowhere.
        let (said, place) = (
            error.to_string(),
            format!(" at line {} column {}", error.line(), error.column()),
        );
        format!(
            "its settings are not as expected: {}",
            said.strip_suffix(&place).unwrap_or(&said)
        )
    })
}

#[cfg(all(test, feature = "claim-mapper"))]
mod tests {
    #[test]
    fn an_error_in_settings_says_what_is_wrong_and_no_place_in_their_json() {
        let error = super::read_config::<bool>("[]").expect_err("no boolean");
        assert_eq!(
            error,
            "its settings are not as expected: invalid type: sequence, expected a boolean"
        );
    }
}
