//! What a claim plugin costs: a fresh instance and one call of `account-roles`.
//!
//! `cargo run -p assent-plugin -- build plugins/account-roles`, then `cargo bench -p assent-tests --bench plugin_call`.
//! Beside it, in the same run, the bare cost of an RSA-2048 signature, so that machines can be compared.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use assent::clock::{Clock, SystemClock};
use assent::id::Did;
use assent::plugins::{ClaimInput, Limits, Loader, OnFailure, PluginSpec, Plugins, Protocol, Role, Sink};
use serde_json::json;

const CALLS: usize = 5_000;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(measure());
}

async fn measure() {
    let application = Did::from_ed25519(&[1; 32]);
    let loading = Instant::now();
    let plugins = Plugins::load(vec![account_roles(&application)], Loader::default());
    let plugins = plugins.await.expect("a plugin; build it first");
    println!("load             {:>10.1?}", loading.elapsed());

    let mut calls = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let input = input(&application);
        let start = Instant::now();
        plugins.map_claims(input).await.expect("claims");
        calls.push(start.elapsed());
    }
    calls.sort_unstable();
    let rsa = rsa_signature();
    println!("call, p50        {:>10.1?}", calls[CALLS / 2]);
    println!("call, p99        {:>10.1?}", calls[CALLS * 99 / 100]);
    println!("RSA-2048 sign    {rsa:>10.1?}");
    println!("call / RSA sign  {:>10.2}", calls[CALLS / 2].as_secs_f64() / rsa.as_secs_f64());
}

fn rsa_signature() -> Duration {
    let key = openssl::pkey::PKey::from_rsa(openssl::rsa::Rsa::generate(2048).expect("a key")).expect("a key");
    let start = Instant::now();
    for _ in 0..200 {
        let mut signer = openssl::sign::Signer::new(openssl::hash::MessageDigest::sha256(), &key).expect("a signer");
        signer.sign_oneshot_to_vec(b"message").expect("a signature");
    }
    start.elapsed() / 200
}

fn account_roles(application: &Did) -> PluginSpec {
    // This binary is `<target>/<profile>/deps/plugin_call-...`.
    let binary = std::env::current_exe().expect("this binary");
    let file: PathBuf = binary.ancestors().nth(3).expect("the target folder").join("plugins/account-roles.wasm");
    PluginSpec {
        name: "account-roles".to_owned(),
        file,
        config: json!({}),
        role: Role::ClaimMapper {
            applications: Some(vec![application.clone()]),
            writes: vec!["account".to_owned()],
            on_failure: OnFailure::Fail,
        },
        limits: Limits::default(),
        sha256: None,
    }
}

/// A person with 42 roles.
fn input(application: &Did) -> ClaimInput {
    let roles: Vec<String> = (0..42).map(|number| format!("department-{number}-editor")).collect();
    ClaimInput {
        protocol: Protocol::Oidc,
        sink: Sink::IdToken,
        now: SystemClock.now(),
        application_id: application.clone(),
        application: json!({"id": application, "name": "Books"}),
        account: json!({"name": "ada", "short_code": "ABCDEF2345", "state": "active"}),
        user: json!({"name": "ada", "profile": {"name": "Ada Lovelace"}}),
        roles,
        scopes: vec!["openid".to_owned(), "profile".to_owned()],
        requested: Vec::new(),
        acr: None,
        amr: vec!["swk".to_owned()],
        claims: serde_json::Map::new(),
    }
}
