//! The settings of the bootstrap.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use assent_model::application::InitiateLoginUri;
use assent_model::application_type::ApplicationType;
use assent_model::name::LoginName;
use assent_model::redirect::RedirectUri;

/// The bootstrap of an empty database at the first start.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bootstrap {
    /// The user name of the first administrator.
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
    /// The URL to which a sign-out returns (OpenID Connect RP-Initiated Logout section 3). For the demo application, it
    /// is the URL of `redirect_uri` with the path `/signed-out`.
    #[serde(default)]
    pub post_logout_redirect_uri: Option<String>,
    /// The file that receives the issuer, Client ID and redirect URIs of the application.
    pub client_file: PathBuf,
}

/// Checks the rules that the types cannot express.
pub(super) fn check(
    bootstrap: &Bootstrap,
    allow_insecure_redirect_uris: bool,
    expect: &mut impl FnMut(bool, &str, &str),
) {
    let name = bootstrap.administrator.parse::<LoginName>();
    expect(
        name.is_ok(),
        "bootstrap.administrator",
        &name
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default(),
    );
    let unfit = |uri: &str| {
        RedirectUri::register(uri, ApplicationType::Native, allow_insecure_redirect_uris).err()
    };
    let demo = bootstrap.demo.as_ref();
    for (field, uri) in [
        (
            "bootstrap.demo.redirect_uri",
            demo.map(|demo| &demo.redirect_uri),
        ),
        (
            "bootstrap.demo.post_logout_redirect_uri",
            demo.and_then(|demo| demo.post_logout_redirect_uri.as_ref()),
        ),
    ] {
        if let Some(error) = uri.and_then(|uri| unfit(uri)) {
            expect(false, field, &error.to_string());
        }
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
