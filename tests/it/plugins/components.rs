//! Shared parts of the plugin tests: the built components, their settings, input and log.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use assent_model::clock::{ManualClock, Timestamp};
use assent_model::id::Did;
use assent_plugin_host::{
    CallLimits, ClaimInput, CompilationCache, Compiler, Credentials, HttpGrant, Loader,
    NoCredentials, OnFailure, PluginSpec, Plugins, Protocol, Role, Sink, Trust,
};
use serde_json::{Value, json};
use zeroize::Zeroizing;

pub(super) use crate::harness::Log;
use crate::harness::{component, read_bytes, write_file};

/// The current time of these tests, in seconds.
pub(super) const NOW: i64 = 1_800_000_000;

/// Returns the application with this number.
pub(super) fn application(number: u8) -> Did {
    Did::from_ed25519(&[number; 32])
}

/// Returns `account-roles` for one application.
pub(super) fn account_roles(served: &Did) -> PluginSpec {
    PluginSpec {
        name: "account-roles".to_owned(),
        file: component("account-roles"),
        config: json!({}),
        role: Role::ClaimMapper {
            applications: Some(vec![served.clone()]),
            writes: vec!["account".to_owned()],
            on_failure: OnFailure::Fail,
            result_max_age: Duration::ZERO,
        },
        limits: CallLimits::default(),
        sha256: None,
    }
}

/// Returns `saml-attributes` with these settings, for one application.
pub(super) fn saml_attributes(served: &Did, config: Value) -> PluginSpec {
    PluginSpec {
        name: "saml-attributes".to_owned(),
        file: component("saml-attributes"),
        config,
        role: Role::ClaimMapper {
            applications: Some(vec![served.clone()]),
            writes: vec!["attribute:*".to_owned()],
            on_failure: OnFailure::Fail,
            result_max_age: Duration::ZERO,
        },
        limits: CallLimits::default(),
        sha256: None,
    }
}

/// Returns the hostile claim mapper with these settings, for one application. It is granted the claims `team` and
/// `note`, and the attributes `team` and `department`.
pub(super) fn hostile_mapper(name: &str, served: &Did, config: Value) -> PluginSpec {
    PluginSpec {
        name: name.to_owned(),
        file: component("hostile-mapper"),
        config,
        role: Role::ClaimMapper {
            applications: Some(vec![served.clone()]),
            writes: vec![
                "team".to_owned(),
                "note".to_owned(),
                "attribute:team".to_owned(),
                "attribute:department".to_owned(),
            ],
            on_failure: OnFailure::Fail,
            result_max_age: Duration::ZERO,
        },
        limits: CallLimits::default(),
        sha256: None,
    }
}

/// Returns the component of the hostile mapper with a description that does not declare that it denies. Only such a
/// plugin may have `on_failure = "omit"`.
pub(crate) fn without_denials() -> &'static Path {
    static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
        let (declared, other) = (br#""denies":true"#, br#""ignore":true"#);
        let mut bytes = read_bytes(component("hostile-mapper"));
        let place = bytes
            .windows(declared.len())
            .position(|window| window == declared)
            .expect("the component contains its description");
        bytes[place..place + other.len()].copy_from_slice(other);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        // Another test process may use the file at the same time, so it is replaced as a whole.
        let part = folder.join(format!("undeclared-{}.wasm", std::process::id()));
        let file = folder.join("undeclared.wasm");
        write_file(&part, bytes);
        std::fs::rename(&part, &file).expect("renamed");
        file
    });
    &FILE
}

/// Returns a channel with these settings.
pub(super) fn channel(name: &str, config: Value, http: HttpGrant) -> PluginSpec {
    let limits = CallLimits {
        http_timeout: Duration::from_secs(60),
        ..CallLimits::default()
    };
    let role = Role::ApprovalChannel {
        applications: None,
        trust: Trust::Verified,
        shows_letters: false,
        http,
    };
    PluginSpec {
        name: name.to_owned(),
        file: component(name),
        sha256: None,
        config,
        role,
        limits,
    }
}

/// Loads plugins that have no credentials.
pub(super) async fn load(specs: Vec<PluginSpec>) -> Plugins {
    load_with(specs, Arc::new(NoCredentials)).await
}

/// Loads plugins.
pub(super) async fn load_with(
    specs: Vec<PluginSpec>,
    credentials: Arc<dyn Credentials>,
) -> Plugins {
    Plugins::load(specs, loader(credentials))
        .await
        .expect("the plugins load")
}

/// Returns the error with which plugins fail to load.
pub(super) async fn load_error(specs: Vec<PluginSpec>) -> String {
    match Plugins::load(specs, loader(Arc::new(NoCredentials))).await {
        Ok(_) => panic!("the plugins load"),
        Err(error) => error.to_string(),
    }
}

/// The tests share the compiled components, because their compilation takes longer than most tests.
fn loader(credentials: Arc<dyn Credentials>) -> Loader {
    let clock = Arc::new(ManualClock::new(Timestamp::from_seconds(NOW)));
    let folder = component("account-roles").with_file_name("compiled-alone");
    let compiled = CompilationCache::new(folder, Zeroizing::new([1; 32]));
    Loader::new(clock, credentials, Compiler::InProcess, Some(compiled))
}

/// Returns the data of the instance for an ID token to this application.
pub(super) fn input(application_id: &Did) -> ClaimInput {
    let Value::Object(claims) =
        json!({ "iss": "https://id.example/oidc", "sub": "s1", "name": "Ada" })
    else {
        panic!("an object");
    };
    ClaimInput {
        protocol: Protocol::Oidc,
        sink: Sink::IdToken,
        now: Timestamp::from_seconds(NOW),
        application_id: application_id.clone(),
        application: json!({ "id": application_id, "name": "Shop" }),
        account: json!({ "name": "ada", "short_code": "7KQ2M9T4VX" }),
        user: json!({ "name": "Ada" }),
        roles: vec!["admin".to_owned()],
        scopes: vec!["openid".to_owned(), "profile".to_owned()],
        requested: Vec::new(),
        acr: None,
        amr: vec!["swk".to_owned()],
        claims,
    }
}
