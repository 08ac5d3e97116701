//! The SDK for plugins of Assent.
//!
//! A plugin is a WebAssembly component in one of these roles. A feature of this crate selects the role:
//!
//! - `claim-mapper`: decides which claims about a user an application receives. Implement `ClaimMapper`, then call
//!   `claim_mapper!(YourType);`.
//! - `approval-channel`: carries the question "is it you?" to a user's authenticator. Implement `ApprovalChannel`, then
//!   call `approval_channel!(YourType);`.
//! - `delegated-approval-channel`: sends that question to a vendor's authenticator and trusts its decision. Implement
//!   `DelegatedApprovalChannel`, then call `delegated_approval_channel!(YourType);`.
//!
//! The feature `values` supports claim mappers with templates like `{email}` and SAML attributes in their settings.
//!
//! The crate of a plugin has the types `cdylib` (for the component) and `rlib` (so that `cargo test` runs its logic
//! natively). `assent-plugin build DIR` builds the component. `assent-plugin check FILE` shows the server's view of it.
//! Its test cases are files: see `fixtures`. The guide is `docs/developers/plugins.md`.
//!
//! A plugin has no files, no environment and no randomness. Each call has a fresh instance, so a value in a `static` is
//! lost after the call. A panic ends the call, and the operator's log shows it as a fault of the plugin.
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
//!         Description::new("department", "1.0.0", "Writes the department of the user").writes(["department"])
//!     }
//!
//!     fn map(config: &Config, _input: &Input) -> Result<Vec<Edit>, Failure> {
//!         Ok(vec![Edit::set("department", json!(config.department))])
//!     }
//! }
//!
//! assent_plugin_sdk::claim_mapper!(Department);
//!
//! // The logic runs natively, so a test needs nothing else.
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
    "a component plays one role: enable one of the features of assent-plugin-sdk, and build plugins of different \
     roles with \
     separate cargo commands (`assent-plugin build` does)"
);

/// It takes its memory from the initial memory of the plugin, and only then grows it.
#[cfg(all(target_family = "wasm", feature = "allocator"))]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

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

/// Reads a plugin's settings. The error is a sentence for the operator.
#[cfg(any(
    feature = "claim-mapper",
    feature = "approval-channel",
    feature = "delegated-approval-channel"
))]
fn read_config<C: serde::de::DeserializeOwned>(config: &str) -> Result<C, String> {
    serde_json::from_str(config).map_err(|error| {
        // The operator wrote TOML, so a position in the JSON form of the settings would be misleading.
        let (message, place) = (
            error.to_string(),
            format!(" at line {} column {}", error.line(), error.column()),
        );
        format!(
            "its settings are not as expected: {}",
            message.strip_suffix(&place).unwrap_or(&message)
        )
    })
}

#[cfg(all(test, feature = "claim-mapper"))]
mod tests {
    #[test]
    fn an_error_in_settings_has_a_reason_and_no_position_in_their_json() {
        let error = super::read_config::<bool>("[]").expect_err("no boolean");
        assert_eq!(
            error,
            "its settings are not as expected: invalid type: sequence, expected a boolean"
        );
    }
}
