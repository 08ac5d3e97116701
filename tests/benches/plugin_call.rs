//! The cost of a claim mapper: a fresh instance and one call, for a user with 42 roles.
//!
//! `target/debug/assent-plugin build plugins/*`, then `cargo bench -p assent-tests --bench plugin_call [FILE...]`
//! measures the plugins that ship, or these components. Each run also measures an RSA-2048 signature, so that results
//! of different machines can be compared. The times are CPU times of this thread, so other load on the machine has
//! little effect.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use assent_model::clock::{Clock, SystemClock};
use assent_model::id::Did;
use assent_plugin_host::{
    CallLimits, ClaimInput, Loader, OnFailure, PluginSpec, Plugins, Protocol, Role, Sink,
};
use serde_json::json;

const CALLS: usize = 20_000;

fn main() {
    let files: Vec<PathBuf> = std::env::args_os()
        .skip(1)
        .filter(|word| word != "--bench")
        .map(PathBuf::from)
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let rsa = rsa_signature();
    println!("RSA-2048 signature {rsa:>10.1?}");
    let shipped = [("account-roles", "account"), ("claim-map", "groups")];
    let specs: Vec<PluginSpec> = if files.is_empty() {
        shipped
            .into_iter()
            .map(|(name, claim)| spec(built(name), claim))
            .collect()
    } else {
        files
            .into_iter()
            .map(|file| spec(file, "department"))
            .collect()
    };
    for spec in specs {
        runtime.block_on(measure(spec, rsa));
    }
}

async fn measure(spec: PluginSpec, rsa: Duration) {
    let application = Did::from_ed25519(&[1; 32]);
    let name = spec.name.clone();
    let loading = Instant::now();
    let plugins = Plugins::load(vec![spec], Loader::default())
        .await
        .expect("a plugin; build it first");
    println!(
        "\n{name}\n  load, with compiling {:>10.1?}",
        loading.elapsed()
    );

    let mut calls = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let input = input(&application);
        let start = processor_time();
        plugins.map_claims(input).await.expect("claims");
        calls.push(processor_time() - start);
    }
    calls.sort_unstable();
    let [p50, p99] = [calls[CALLS / 2], calls[CALLS * 99 / 100]];
    let measured = plugins.status()[0].measured;
    println!(
        "  p50 {p50:>10.1?}   p99 {p99:>10.1?}   fuel {:>9}",
        measured.fuel.p50
    );
    println!(
        "  p50 / RSA signature {:.3}",
        p50.as_secs_f64() / rsa.as_secs_f64()
    );
}

/// Returns the CPU time of this thread.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).expect("since the start"),
        u32::try_from(time.tv_nsec).expect("below a second"),
    )
}

fn rsa_signature() -> Duration {
    let key = openssl::pkey::PKey::from_rsa(openssl::rsa::Rsa::generate(2048).expect("a key"))
        .expect("a key");
    let start = processor_time();
    for _ in 0..200 {
        let mut signer = openssl::sign::Signer::new(openssl::hash::MessageDigest::sha256(), &key)
            .expect("a signer");
        signer.sign_oneshot_to_vec(b"message").expect("a signature");
    }
    (processor_time() - start) / 200
}

/// Returns the file of a plugin that ships, as `assent-plugin build` creates it.
fn built(name: &str) -> PathBuf {
    // This binary is `<target>/<profile>/deps/plugin_call-...`.
    let binary = std::env::current_exe().expect("this binary");
    binary
        .ancestors()
        .nth(3)
        .expect("the target folder")
        .join("plugins")
        .join(name)
        .with_extension("wasm")
}

fn spec(file: PathBuf, claim: &str) -> PluginSpec {
    let name = file
        .file_stem()
        .and_then(|stem| stem.to_str())
        .expect("a name")
        .to_owned();
    let config = match name.as_str() {
        "claim-map" => {
            json!({ "rules": [{ "claim": "groups", "from": "roles", "only": "department-*",
                "strip_prefix": "department-" }] })
        }
        "account-roles" => json!({}),
        // A plugin that `assent-plugin new` creates has this setting.
        _ => json!({ "departments": { "department-41-editor": "Books" } }),
    };
    PluginSpec {
        name,
        file,
        sha256: None,
        config,
        role: Role::ClaimMapper {
            applications: None,
            writes: vec![claim.to_owned()],
            on_failure: OnFailure::Fail,
            result_max_age: Duration::ZERO,
        },
        limits: CallLimits::default(),
    }
}
/// Returns the input for a user with 42 roles.
fn input(application: &Did) -> ClaimInput {
    let roles: Vec<String> = (0..42)
        .map(|number| format!("department-{number}-editor"))
        .collect();
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
