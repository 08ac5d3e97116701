//! Claim mappers: their permissions, and the faults of hostile ones.

use std::sync::Arc;
use std::time::Duration;

use assent_plugin_host::{
    CallLimits, ClaimInput, Fault, MapFailure, MapFailureKind, OnFailure, PluginSpec, Role, Sink,
};
use serde_json::{Value, json};

use super::components::{
    Log, account_roles, application, hostile_mapper, input, load, without_denials,
};
use crate::harness::{Parsed, Text};

/// Returns the failure of the hostile mapper with these settings, and the log. A plugin of another application must not
/// be affected.
async fn run_hostile(config: Value, limits: CallLimits) -> (MapFailure, Log) {
    let (ours, victim) = (application(1), application(2));
    let hostile = PluginSpec {
        limits,
        ..hostile_mapper("hostile", &ours, config)
    };
    let plugins = load(vec![hostile, account_roles(&victim)]).await;
    let log = Log::capture();
    let failure = plugins
        .map_claims(input(&ours))
        .await
        .expect_err("the call fails closed");
    assert_eq!(failure.plugin, "hostile", "the error names the plugin");
    assert!(
        failure.to_string().starts_with("plugin `hostile` "),
        "{failure}"
    );
    assert!(
        log.has(&["WARN", "plugin=\"hostile\"", "sign-in failed"]),
        "{:?}",
        log.lines()
    );
    let mapped = plugins
        .map_claims(input(&victim))
        .await
        .expect("other calls succeed");
    assert!(mapped.claims.contains_key("account"));
    (failure, log)
}

pub(super) fn fault(failure: MapFailure) -> Fault {
    match failure.kind {
        MapFailureKind::Fault(fault) => fault,
        MapFailureKind::Deny(reason) => panic!("expected a fault, got a denial: {reason}"),
    }
}

#[tokio::test]
async fn account_roles_creates_the_account_claim() {
    let ours = application(1);
    let plugins = load(vec![account_roles(&ours)]).await;
    let mapped = plugins.map_claims(input(&ours)).await.expect("claims");
    let text = mapped.claims["account"].text();
    let account: Value = text.parsed();
    assert_eq!(
        account,
        json!({ "name": "ada", "short_code": "7KQ2M9T4VX", "roles": ["admin"] })
    );
    assert_eq!(mapped.owners["account"], "account-roles");
    assert_eq!(
        mapped.claims["sub"], "s1",
        "the claims of the server are present as well"
    );
}

#[tokio::test]
async fn a_plugin_serves_only_its_applications() {
    let plugins = load(vec![account_roles(&application(1))]).await;
    let mapped = plugins
        .map_claims(input(&application(2)))
        .await
        .expect("claims");
    assert!(!mapped.claims.contains_key("account") && mapped.owners.is_empty());
}

#[tokio::test]
async fn an_endless_loop_runs_out_of_fuel() {
    let (failure, _) = run_hostile(
        json!({ "behaviour": "loop" }),
        CallLimits {
            fuel: 1_000_000,
            ..CallLimits::default()
        },
    )
    .await;
    assert_eq!(fault(failure), Fault::Fuel(1_000_000));
}

#[tokio::test]
async fn an_endless_loop_meets_its_deadline() {
    let deadline = Duration::from_millis(50);
    let limits = CallLimits {
        fuel: u64::MAX,
        deadline,
        ..CallLimits::default()
    };
    let (failure, _) = run_hostile(json!({ "behaviour": "loop" }), limits).await;
    assert_eq!(fault(failure), Fault::Deadline(deadline));
}

#[tokio::test]
async fn endless_recursion_overflows_the_stack() {
    let (failure, _) = run_hostile(json!({ "behaviour": "recurse" }), CallLimits::default()).await;
    assert_eq!(fault(failure), Fault::Stack);
}

#[tokio::test]
async fn memory_growth_stops_at_the_limit() {
    let limits = CallLimits {
        memory_bytes: 8 << 20,
        ..CallLimits::default()
    };
    let (failure, _) = run_hostile(json!({ "behaviour": "memory" }), limits).await;
    assert_eq!(fault(failure), Fault::Memory(8 << 20));
}

#[tokio::test]
async fn oversized_output_is_rejected() {
    let (failure, _) = run_hostile(
        json!({ "behaviour": "output", "claim": "note" }),
        CallLimits::default(),
    )
    .await;
    let fault = fault(failure);
    assert_eq!(fault, Fault::TooLarge(256 << 10));
    assert!(
        fault
            .to_string()
            .contains("more than 256 KiB at once: its answer"),
        "{fault}"
    );
}

#[tokio::test]
async fn a_panic_is_a_trap_with_its_message() {
    let (failure, log) = run_hostile(json!({ "behaviour": "panic" }), CallLimits::default()).await;
    let fault = fault(failure).to_string();
    assert!(
        fault.contains("trapped") && fault.contains("the hostile plugin panics"),
        "{fault}"
    );
    assert!(
        log.has(&["ERROR", "plugin=\"hostile\"", "the hostile plugin panics"]),
        "{:?}",
        log.lines()
    );
}

#[tokio::test]
async fn an_invalid_json_value_is_a_fault() {
    let (failure, _) = run_hostile(
        json!({ "behaviour": "set", "claim": "note", "value": "{oops" }),
        CallLimits::default(),
    )
    .await;
    let fault = fault(failure).to_string();
    assert!(
        fault.contains("`note`") && fault.contains("key must be a string at line 1 column 2"),
        "{fault}"
    );
}

#[tokio::test]
async fn deeply_nested_json_is_a_fault() {
    // The parser reports the cause: too many levels (128), or an exponent that is too large.
    for (value, why) in [
        ("[".repeat(100_000), "recursion limit exceeded"),
        (
            format!("{}{}", "[".repeat(128), "]".repeat(128)),
            "recursion limit exceeded",
        ),
        ("1e999999".to_owned(), "number out of range"),
    ] {
        let config = json!({ "behaviour": "set", "claim": "note", "value": value });
        let (failure, _) = run_hostile(config, CallLimits::default()).await;
        let fault = fault(failure);
        assert!(
            matches!(&fault, Fault::NotJson { name, why: message } if name == "note" && message.contains(why)),
            "{fault}"
        );
    }
}

#[tokio::test]
async fn a_plugin_that_reads_the_clock_learns_no_time() {
    let (failure, _) = run_hostile(
        json!({ "behaviour": "clock", "claim": "note" }),
        CallLimits::default(),
    )
    .await;
    let fault = fault(failure);
    assert_eq!(fault, Fault::NoClock);
    assert!(
        fault
            .to_string()
            .contains("there is no system clock; a claim mapper uses `input.now`"),
        "{fault}"
    );
}

#[tokio::test]
async fn a_protected_claim_is_a_fault_with_its_name_in_the_log() {
    for (behaviour, claim) in [
        ("set", "sub"),
        ("set", "amr"),
        ("set", "email_verified"),
        ("remove", "iss"),
    ] {
        let config = json!({ "behaviour": behaviour, "claim": claim, "value": "\"forged\"" });
        let (failure, log) = run_hostile(config, CallLimits::default()).await;
        assert_eq!(fault(failure), Fault::Protected(claim.to_owned()));
        assert!(
            log.has(&["WARN", "plugin=\"hostile\"", "protected", claim]),
            "{:?}",
            log.lines()
        );
    }
}

#[tokio::test]
async fn an_ungranted_claim_is_a_fault_with_its_name_in_the_log() {
    // The last claim belongs to another plugin.
    for (behaviour, claim) in [("set", "salary"), ("remove", "name"), ("set", "account")] {
        let config = json!({ "behaviour": behaviour, "claim": claim, "value": "1" });
        let (failure, log) = run_hostile(config, CallLimits::default()).await;
        assert_eq!(fault(failure), Fault::NotGranted(claim.to_owned()));
        assert!(
            log.has(&["WARN", "plugin=\"hostile\"", "not granted", claim]),
            "{:?}",
            log.lines()
        );
    }
}

#[tokio::test]
async fn a_plugin_can_neither_forge_log_lines_nor_flood_the_log() {
    let ours = application(1);
    let plugins = load(vec![hostile_mapper(
        "hostile",
        &ours,
        json!({ "behaviour": "log" }),
    )])
    .await;
    let log = Log::capture();
    plugins.map_claims(input(&ours)).await.expect("claims");
    let lines = log.lines();
    assert_eq!(lines.len(), 33, "32 lines and one about the dropped rest");
    assert!(
        lines.iter().all(|line| line.contains("plugin=\"hostile\"")),
        "{lines:?}"
    );
}

#[tokio::test]
async fn a_denial_applies_although_faults_are_ignored() {
    let ours = application(1);
    let config = json!({ "behaviour": "deny", "value": "not on\nSundays" });
    let plugins = load(vec![hostile_mapper("hostile", &ours, config.clone())]).await;
    let log = Log::capture();
    let failure = plugins.map_claims(input(&ours)).await.expect_err("denied");
    assert_eq!(
        failure.kind,
        MapFailureKind::Deny("not on Sundays".to_owned())
    );
    // The code that answers the application logs the denial.
    assert!(log.lines().is_empty(), "{:?}", log.lines());

    // The denial is not declared, so it is a fault. It ends the sign-in nevertheless.
    let plugins = load(vec![omitting(hostile_mapper("hostile", &ours, config))]).await;
    let failure = plugins.map_claims(input(&ours)).await.expect_err("denied");
    assert_eq!(
        fault(failure),
        Fault::UndeclaredDenial("not on Sundays".to_owned())
    );
    assert!(
        log.has(&[
            "WARN",
            "plugin=\"hostile\"",
            "sign-in failed",
            "does not set `denies`"
        ]),
        "{:?}",
        log.lines()
    );
    let measured = plugins.status()[0].measured;
    assert_eq!((measured.faults, measured.denials), (1, 0));
    let error = plugins.try_out().await.expect_err("rejected").to_string();
    assert!(
        error.contains("in the smoke test, it denied the user, but"),
        "{error}"
    );
}

#[tokio::test]
async fn a_fault_in_a_preview_has_its_own_log_message() {
    let ours = application(1);
    for spec in [
        hostile_mapper("hostile", &ours, json!({ "behaviour": "panic" })),
        omitting(hostile_mapper(
            "hostile",
            &ours,
            json!({ "behaviour": "fault" }),
        )),
    ] {
        let plugins = load(vec![spec]).await;
        let log = Log::capture();
        let _ = plugins.set().for_previews().map_claims(input(&ours)).await;
        assert!(
            log.has(&["INFO", "plugin=\"hostile\"", "plugin failed in a preview"])
                && !log.has(&["WARN"]),
            "{:?}",
            log.lines()
        );
    }
}

#[tokio::test]
async fn optional_claims_may_be_omitted_on_faults() {
    let ours = application(1);
    for config in [
        json!({ "behaviour": "fault", "value": "no data" }),
        json!({ "behaviour": "panic" }),
        json!({ "behaviour": "set", "claim": "sub", "value": "1" }),
    ] {
        let plugins = load(vec![
            omitting(hostile_mapper("hostile", &ours, config)),
            account_roles(&ours),
        ])
        .await;
        let log = Log::capture();
        let mapped = plugins
            .map_claims(input(&ours))
            .await
            .expect("the sign-in continues");
        assert!(
            !mapped.claims.contains_key("team"),
            "an invalid edit discards all edits of its call"
        );
        assert!(
            mapped.claims.contains_key("account"),
            "the next plugin still runs"
        );
        assert!(
            log.has(&["WARN", "plugin=\"hostile\"", "claims omitted"]),
            "{:?}",
            log.lines()
        );
    }
}

#[tokio::test]
async fn a_later_plugin_sees_claims_of_earlier_plugins() {
    let ours = application(1);
    let first = hostile_mapper(
        "first",
        &ours,
        json!({ "behaviour": "set", "claim": "note", "value": "42" }),
    );
    let mut second = hostile_mapper(
        "second",
        &ours,
        json!({ "behaviour": "current", "claim": "seen" }),
    );
    second.role = Role::ClaimMapper {
        applications: None,
        writes: vec!["seen".to_owned()],
        on_failure: OnFailure::Fail,
        result_max_age: Duration::ZERO,
    };
    let plugins = load(vec![first, second]).await;
    let names: Vec<_> = plugins
        .status()
        .into_iter()
        .map(|status| status.identity.plugin)
        .collect();
    assert_eq!(names, ["first", "second"]);
    let mapped = plugins.map_claims(input(&ours)).await.expect("claims");
    let seen = &mapped.claims["seen"];
    assert_eq!(
        (&seen["note"], &seen["team"], &seen["name"]),
        (&json!(42), &json!("red"), &json!("Ada"))
    );
    assert_eq!(
        (
            mapped.owners["note"].as_str(),
            mapped.owners["seen"].as_str()
        ),
        ("first", "second")
    );
}

#[tokio::test]
async fn a_plugin_removes_only_granted_claims() {
    let ours = application(1);
    let plugins = load(vec![hostile_mapper(
        "hostile",
        &ours,
        json!({ "behaviour": "remove", "claim": "note" }),
    )])
    .await;
    let mut input = input(&ours);
    input
        .claims
        .insert("note".to_owned(), json!("from the host"));
    let mapped = plugins.map_claims(input).await.expect("claims");
    assert!(!mapped.claims.contains_key("note"));
    assert_eq!(mapped.owners["note"], "hostile");
}

#[tokio::test]
async fn endless_loops_do_not_stall_the_thread_they_run_on() {
    let (ours, victim) = (application(1), application(2));
    let limits = CallLimits {
        fuel: u64::MAX,
        deadline: Duration::from_secs(600),
        ..CallLimits::default()
    };
    let hostile = PluginSpec {
        limits,
        ..hostile_mapper("hostile", &ours, json!({ "behaviour": "loop" }))
    };
    let plugins = Arc::new(load(vec![hostile, account_roles(&victim)]).await);
    // The runtime of this test has one thread, which the loop shares with all other tasks.
    let looping = tokio::spawn({
        let (plugins, input) = (Arc::clone(&plugins), input(&ours));
        async move { plugins.map_claims(input).await }
    });
    tokio::task::yield_now().await;
    for _ in 0..5 {
        plugins
            .map_claims(input(&victim))
            .await
            .expect("other calls succeed");
    }
    assert!(
        !looping.is_finished(),
        "the loop is still running while others are served"
    );
    looping.abort();
    assert!(
        looping.await.expect_err("aborted").is_cancelled(),
        "a call can be aborted at any time"
    );
    plugins
        .map_claims(input(&victim))
        .await
        .expect("the pool is complete after that");
}

#[tokio::test]
async fn calls_beyond_the_queue_are_rejected() {
    let ours = application(1);
    // The wait must end long before the running call is stopped, even on a busy machine.
    let deadline = Duration::from_secs(3);
    let limits = CallLimits {
        fuel: u64::MAX,
        deadline,
        concurrency: 1,
        queue_length: 1,
        wait: Duration::from_millis(20),
        ..CallLimits::default()
    };
    let hostile = PluginSpec {
        limits,
        ..hostile_mapper("hostile", &ours, json!({ "behaviour": "loop" }))
    };
    let plugins = load(vec![hostile]).await;
    let call = async || {
        plugins
            .map_claims(input(&ours))
            .await
            .map(drop)
            .map_err(fault)
    };
    let (runs, waits, rejected) = tokio::join!(call(), call(), call());
    assert_eq!(runs, Err(Fault::Deadline(deadline)));
    assert_eq!(
        waits,
        Err(Fault::Busy),
        "the call waited longer than the limit"
    );
    assert_eq!(rejected, Err(Fault::Busy), "the queue was full");
}

#[tokio::test]
async fn concurrent_calls_share_the_pool() {
    let ours = application(1);
    let plugins = load(vec![account_roles(&ours)]).await;
    let calls = (0..200).map(|_| plugins.map_claims(input(&ours)));
    for mapped in futures_util::future::join_all(calls).await {
        assert!(mapped.expect("claims").claims.contains_key("account"));
    }
}

fn omitting(mut spec: PluginSpec) -> PluginSpec {
    if let Role::ClaimMapper { on_failure, .. } = &mut spec.role {
        *on_failure = OnFailure::Omit;
    }
    spec.file = without_denials().to_owned();
    spec
}

#[tokio::test]
async fn a_busy_plugin_fails_closed() {
    let ours = application(1);
    let limits = CallLimits {
        fuel: u64::MAX,
        deadline: Duration::from_millis(200),
        concurrency: 1,
        queue_length: 0,
        ..CallLimits::default()
    };
    let mut hostile = PluginSpec {
        limits,
        ..hostile_mapper("hostile", &ours, json!({ "behaviour": "loop" }))
    };
    hostile.role = Role::ClaimMapper {
        applications: None,
        writes: vec!["note".to_owned()],
        on_failure: OnFailure::Omit,
        result_max_age: Duration::ZERO,
    };
    hostile.file = without_denials().to_owned();
    let plugins = load(vec![hostile]).await;
    let call = async || plugins.map_claims(input(&ours)).await;
    let (runs, rejected) = tokio::join!(call(), call());
    assert!(runs.is_ok(), "its own fault is ignored");
    assert_eq!(
        fault(rejected.expect_err("the sign-in fails")),
        Fault::Busy,
        "overloading the plugin lets no user in"
    );
}

#[tokio::test]
async fn a_rewritten_value_loses_its_verified_flag() {
    let ours = application(1);
    for (value, vouched) in [
        ("\"eve@evil.example\"", false),
        ("\"ada@example.org\"", true),
    ] {
        let config = json!({ "behaviour": "set", "claim": "email", "value": value });
        let mut mapper = hostile_mapper("hostile", &ours, config);
        let writes = vec!["email".to_owned(), "team".to_owned()];
        mapper.role = Role::ClaimMapper {
            applications: None,
            writes,
            on_failure: OnFailure::Fail,
            result_max_age: Duration::ZERO,
        };
        let plugins = load(vec![mapper]).await;
        let mut input = input(&ours);
        input
            .claims
            .insert("email".to_owned(), json!("ada@example.org"));
        input
            .claims
            .insert("email_verified".to_owned(), json!(true));
        let mapped = plugins.map_claims(input).await.expect("claims");
        assert_eq!(
            mapped.claims.contains_key("email_verified"),
            vouched,
            "{value}"
        );
    }
}

/// A client with a token may call UserInfo and introspection at any rate. Both must leave slots of a plugin for
/// sign-ins.
#[tokio::test]
async fn userinfo_calls_never_occupy_all_slots_of_a_plugin() {
    let ours = application(1);
    let limits = CallLimits {
        fuel: u64::MAX,
        deadline: Duration::from_secs(60),
        concurrency: 2,
        queue_length: 2,
        wait: Duration::from_secs(600),
        ..CallLimits::default()
    };
    let config = json!({ "behaviour": "busy", "value": "200000000" });
    let slow = PluginSpec {
        limits,
        ..hostile_mapper("slow", &ours, config)
    };
    let plugins = load(vec![slow]).await;
    for sink in [Sink::Userinfo, Sink::Introspection] {
        let call = async |sink| {
            let input = ClaimInput {
                sink,
                ..input(&ours)
            };
            plugins.map_claims(input).await.map(drop).map_err(fault)
        };
        let lookups = futures_util::future::join_all((0..10).map(|_| call(sink)));
        let (lookups, sign_in) = tokio::join!(lookups, call(Sink::IdToken));
        assert_eq!(sign_in, Ok(()), "the call has its turn");
        // One call runs and one waits. On a slow machine, some end before the last ones begin.
        let busy = lookups
            .iter()
            .filter(|ended| **ended == Err(Fault::Busy))
            .count();
        let done = lookups.iter().filter(|ended| ended.is_ok()).count();
        assert!((1..=8).contains(&busy) && busy + done == 10, "{lookups:?}");
    }
}
