//! What one application's plugin calls cost the others: little, whatever its plugin does.

use std::sync::Arc;
use std::time::Duration;

use assent::clock::{ManualClock, SharedClock, Timestamp};
use assent::plugins::{Compiler, Fault, Limits, Loader, NoCredentials, PluginSpec, Plugins};
use serde_json::json;

use super::components::{Log, NOW, application, hostile_mapper, input};
use super::mappers::fault;

/// One hostile mapper, which serves two applications and behaves so for the first of them.
async fn load(behaviour: &str, limits: Limits) -> (Arc<ManualClock>, Plugins) {
    let config = json!({ "behaviour": behaviour, "claim": "note", "only": application(1) });
    let mut spec = PluginSpec { limits, ..hostile_mapper("hostile", &application(1), config) };
    if let assent::plugins::Role::ClaimMapper { applications, .. } = &mut spec.role {
        *applications = Some(vec![application(1), application(2)]);
    }
    let clock = Arc::new(ManualClock::new(Timestamp::from_seconds(NOW)));
    let loader = Loader::new(Arc::clone(&clock) as SharedClock, Arc::new(NoCredentials), Compiler::InProcess, None);
    (clock, Plugins::load(vec![spec], loader).await.expect("it loads"))
}

#[tokio::test]
async fn a_plugin_that_breaks_its_limits_is_suspended_for_that_application_alone() {
    let (clock, plugins) = load("loop", Limits { fuel: 1_000_000, ..Limits::default() }).await;
    let log = Log::capture();
    let call = async || plugins.map_claims(input(&application(1))).await.map(drop).map_err(fault);
    for _ in 0..5 {
        assert_eq!(call().await, Err(Fault::Fuel(1_000_000)));
    }
    let calls = plugins.status()[0].measured.calls;
    assert_eq!(call().await, Err(Fault::Suspended(Duration::from_secs(1))), "it fails at once");
    let measured = plugins.status()[0].measured;
    assert_eq!((measured.calls, measured.suspensions), (calls, 1), "its code did not run");
    plugins.map_claims(input(&application(2))).await.expect("the same plugin for another application");
    let suspended = |line: &&String| line.contains("plugin suspended") && line.contains("hostile");
    assert_eq!(log.lines().iter().filter(suspended).count(), 1, "{:?}", log.lines());

    clock.advance(Duration::from_secs(1));
    assert_eq!(call().await, Err(Fault::Fuel(1_000_000)), "one call is tried");
    assert_eq!(call().await, Err(Fault::Suspended(Duration::from_secs(2))), "the cooldown grows");
}

/// Whoever causes the suspension must not choose whose claims are left out.
#[tokio::test]
async fn a_suspended_plugin_is_not_left_out() {
    let (_, plugins) = {
        let limits = Limits { fuel: 1_000_000, ..Limits::default() };
        let config = json!({ "behaviour": "loop", "only": application(1) });
        let mut spec = PluginSpec { limits, ..hostile_mapper("hostile", &application(1), config) };
        if let assent::plugins::Role::ClaimMapper { on_failure, .. } = &mut spec.role {
            *on_failure = assent::plugins::OnFailure::Omit;
        }
        let clock = Arc::new(ManualClock::new(Timestamp::from_seconds(NOW)));
        let loader = Loader::new(Arc::clone(&clock) as SharedClock, Arc::new(NoCredentials), Compiler::InProcess, None);
        (clock, Plugins::load(vec![spec], loader).await.expect("it loads"))
    };
    for _ in 0..5 {
        plugins.map_claims(input(&application(1))).await.expect("its own fault is left out");
    }
    let failure = plugins.map_claims(input(&application(1))).await.expect_err("the sign-in fails");
    assert!(matches!(fault(failure), Fault::Suspended(_)));
}

#[tokio::test]
async fn denials_and_panics_do_not_suspend_a_plugin() {
    for behaviour in ["deny", "panic", "fault"] {
        let (_, plugins) = load(behaviour, Limits::default()).await;
        for _ in 0..20 {
            let failure = plugins.map_claims(input(&application(1))).await.expect_err("no claims").to_string();
            assert!(!failure.contains("suspended"), "{behaviour}: {failure}");
        }
    }
}

#[tokio::test]
async fn a_plugin_has_so_many_lines_in_the_log_and_no_more() {
    let (clock, plugins) = load("log", Limits::default()).await;
    let log = Log::capture();
    let lines = |log: &Log| log.lines().iter().filter(|line| line.contains("forged")).count();
    for _ in 0..100 {
        plugins.map_claims(input(&application(1))).await.expect("claims");
    }
    assert_eq!(lines(&log), 50, "of 3,200 within a second");
    clock.advance(Duration::from_secs(1));
    plugins.map_claims(input(&application(1))).await.expect("claims");
    assert_eq!(lines(&log), 82);
    assert!(log.has(&["WARN", "log lines suppressed", "lines=3150"]), "{:?}", log.lines().last());
}
