//! The settings of the first start.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use assent_model::application::{ApplicationType, InitiateLoginUri};
use assent_model::name::LoginName;
use assent_model::redirect::RedirectUri;

/// The bootstrap of an empty database at the first start.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bootstrap {
    /// The first administrator's name.
    pub administrator: String,
    /// The demo application.
    #[serde(default)]
    pub demo: Option<Demo>,
}

/// The demo application.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Demo {
    /// Its redirect URI, on a loopback address.
    pub redirect_uri: String,
    /// The URL that opens it from the start page (OpenID Connect Core section 4), with https or on a loopback address.
    #[serde(default)]
    pub initiate_login_uri: Option<String>,
    /// The file that receives its issuer, Client ID and redirect URI.
    pub client_file: PathBuf,
}

/// Checks what the types cannot express.
pub(super) fn check(
    bootstrap: &Bootstrap,
    allow_insecure_redirect_uris: bool,
    expect: &mut impl FnMut(bool, &str, &str),
) {
    expect(
        bootstrap.administrator.parse::<LoginName>().is_ok(),
        "bootstrap.administrator",
        "expected a name of 1 to 128 characters without blanks",
    );
    let unfit = |demo: &Demo| {
        RedirectUri::register(
            &demo.redirect_uri,
            ApplicationType::Native,
            allow_insecure_redirect_uris,
        )
        .err()
    };
    if let Some(error) = bootstrap.demo.as_ref().and_then(unfit) {
        expect(false, "bootstrap.demo.redirect_uri", &error.to_string());
    }
    let start = bootstrap
        .demo
        .as_ref()
        .and_then(|demo| demo.initiate_login_uri.as_deref());
    if let Some(Err(error)) = start.map(InitiateLoginUri::parse) {
        expect(
            false,
            "bootstrap.demo.initiate_login_uri",
            &error.to_string(),
        );
    }
}
