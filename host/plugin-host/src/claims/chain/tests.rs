use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::call::Runner;
use crate::call::state::EgressMode;
use crate::claims::{Edit, MapError, MapperScope, Protocol};
use crate::contract::{CallFuture, DescribedComponent, MapperComponent};
use crate::description::PluginIdentity;
use crate::meter::Meter;
use crate::protected::Grants;
use crate::share::Share;
use crate::sink::Sink;
use crate::smoke_test;
use crate::spec::CallLimits;
use crate::turns::Turns;
use crate::usage::CallResult;
use assent_model::clock::{ManualClock, Timestamp};

/// A component that always returns this result.
struct Constant(Result<Vec<Edit>, MapError>);

impl DescribedComponent for Constant {
    fn describe<'a>(&'a self, _runner: &'a Runner) -> CallFuture<'a, String> {
        Box::pin(std::future::ready(CallResult::without_call(String::new())))
    }

    fn validate<'a>(
        &'a self,
        _runner: &'a Runner,
        _config: &'a str,
    ) -> CallFuture<'a, Result<(), Vec<String>>> {
        Box::pin(std::future::ready(CallResult::without_call(Ok(()))))
    }
}

impl MapperComponent for Constant {
    fn map<'a>(
        &'a self,
        _runner: &'a Runner,
        _input: &'a ClaimInput,
        _current: &'a str,
        _config: &'a str,
    ) -> CallFuture<'a, Result<Vec<Edit>, MapError>> {
        Box::pin(std::future::ready(CallResult::without_call(self.0.clone())))
    }
}

/// Returns a mapper with this result. Its description lists the claims `described`, and the operator grants `team`.
fn mapper(result: Result<Vec<Edit>, MapError>, described: &str) -> ClaimMapper {
    let limits = CallLimits::default();
    let runner = Runner::new(
        wasmtime::Engine::default(),
        "constant",
        limits,
        Arc::new(ManualClock::new(Timestamp::from_seconds(1_800_000_000))),
        EgressMode::Closed,
        Arc::new(Meter::new()),
        Arc::new(Turns::of_processors()),
    );
    ClaimMapper {
        identity: Arc::new(PluginIdentity {
            plugin: "constant".to_owned(),
            component: "constant".to_owned(),
            version: "1.0.0".to_owned(),
            sha256: String::new(),
        }),
        lookups: Share::quarter_of(runner.limits()),
        runner,
        component: Box::new(Constant(result)),
        scope: MapperScope {
            applications: None,
            sinks: None,
        },
        grants: Grants::new(vec![described.to_owned()], vec!["team".to_owned()]).expect("grants"),
        denies: false,
        on_failure: OnFailure::Fail,
        result_max_age: Duration::ZERO,
        config: "{}".to_owned(),
    }
}

fn denying() -> ClaimMapper {
    let denial = MapError::Deny("not on\nSundays".to_owned());
    mapper(Err(denial), "team")
}

fn input() -> ClaimInput {
    let application_id = Did::from_ed25519(&[1; 32]);
    ClaimInput {
        protocol: Protocol::Oidc,
        sink: Sink::IdToken,
        now: Timestamp::from_seconds(1_800_000_000),
        application: json!({ "id": application_id }),
        application_id,
        account: json!({}),
        user: json!({}),
        roles: Vec::new(),
        scopes: Vec::new(),
        requested: Vec::new(),
        acr: None,
        amr: Vec::new(),
        claims: serde_json::Map::new(),
    }
}

/// Runs one mapper, which must end the chain. Returns the reason, and the counted faults and denials.
async fn failure(mapper: ClaimMapper) -> (MapFailureKind, (u64, u64)) {
    let chain = [mapper];
    let failure = run_chain(&chain, input(), ChainPurpose::Response)
        .await
        .expect_err("it ends the chain");
    let measured = chain[0].runner.meter().metrics();
    (failure.kind, (measured.faults, measured.denials))
}

#[tokio::test]
async fn an_undeclared_denial_is_a_fault_that_is_never_omitted() {
    for on_failure in [OnFailure::Fail, OnFailure::Omit] {
        let mapper = ClaimMapper {
            on_failure,
            ..denying()
        };
        let (kind, counts) = failure(mapper).await;
        let fault = Fault::UndeclaredDenial("not on Sundays".to_owned());
        assert_eq!((&kind, counts), (&MapFailureKind::Fault(fault), (1, 0)));
        let message = kind.to_string();
        for words in [
            "denied the user, but its description does not set `denies`",
            "add `.denies()` (Rust) or `denies: true` (TypeScript)",
            "its reason: not on Sundays",
        ] {
            assert!(message.contains(words), "{message}");
        }
    }
}

#[tokio::test]
async fn a_declared_denial_is_no_fault() {
    let mapper = ClaimMapper {
        denies: true,
        ..denying()
    };
    let denial = MapFailureKind::Deny("not on Sundays".to_owned());
    assert_eq!(failure(mapper).await, (denial, (0, 1)));
}

#[tokio::test]
async fn the_smoke_test_rejects_an_undeclared_denial() {
    let declared = ClaimMapper {
        denies: true,
        ..denying()
    };
    smoke_test::run(&[Arc::new(declared)])
        .await
        .expect("a declared denial is permitted");
    let error = smoke_test::run(&[Arc::new(denying())])
        .await
        .expect_err("rejected")
        .to_string();
    assert!(
        error.contains("in the smoke test, it denied the user, but its description"),
        "{error}"
    );
}

#[tokio::test]
async fn an_edit_without_a_grant_names_the_side_that_lacks_it() {
    let edit = || {
        Ok(vec![Edit::Set(
            "salary".to_owned(),
            Value::Null.to_string(),
        )])
    };
    let claim = || "salary".to_owned();
    for (described, fault) in [
        ("team", Fault::NotDescribed(claim())),
        ("*", Fault::NotGranted(claim())),
    ] {
        let (kind, counts) = failure(mapper(edit(), described)).await;
        assert_eq!((kind, counts), (MapFailureKind::Fault(fault), (1, 0)));
    }
    let message = Fault::NotDescribed(claim()).to_string();
    assert!(
        message.contains("`salary`, which its description does not list; add it to `writes`"),
        "{message}"
    );
}
