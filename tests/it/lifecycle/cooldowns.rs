//! Cooldowns after denials, reports, and the rate limits of prompts.

use assent_store::sql;
use assent_test_macros::both_databases;
use std::time::Duration;

use assent_model::approval::ApprovalStage;
use assent_model::audit::Event;
use assent_model::delivery::{Delivery, ExternalAuthenticator, Recipient, Ruling};
use assent_model::entropy::SystemEntropy;
use assent_model::id::{ApprovalId, DeliveryId};
use assent_model::statement::{ApprovalStatement, Binding, Decision};
use assent_model::user::User;
use assent_store::{AnswerOutcome, DeviceAnswer, RequestOutcome, Retention, Store, UserAction};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{entries, events};
use crate::harness::{
    Browser, Database, HostOptions, Page, Respond, Run, TestHost, TestUser, http_client, id,
    write_user,
};
use crate::store::{
    Fixture, NOW, ada, approval, audited, entry, fixture, login, new_report, request,
};

/// Begins a sign-in with this name, in a browser of its own. Returns the waiting page.
async fn request_as(host: &TestHost, ada: &TestUser, name: &str) -> Page {
    let browser = Browser::new(&host.base);
    let login = ada.application.login_page(&browser, &[]).await;
    login.submit_name(name).await
}

async fn deny(ada: &TestUser) {
    let request = &ada.device.pending_requests(5).await[0];
    assert_eq!(ada.device.deny(request).await, "denied");
}

async fn is_prompted(ada: &TestUser) -> bool {
    !ada.device.pending_requests(0).await.is_empty()
}

#[both_databases]
async fn cooldowns_grow_from_the_second_denial_until_an_approval(database: Database) {
    let (mut host, ada) = TestHost::start_on(database).await.with_ada().await;
    for pause in [0, 30, 120, 600, 3600, 3600] {
        let page = request_as(&host, &ada, "ada").await;
        if pause == 0 {
            deny(&ada).await;
            assert_eq!(
                ada.device.cooldown_end().await,
                None,
                "{database:?}: one may be a mistake"
            );
            continue;
        }
        deny(&ada).await;
        assert_eq!(page.again().await.outcome(), "denied");
        let until = ada.device.cooldown_end().await;
        assert_eq!(
            until,
            Some(host.host.now().seconds() + pause),
            "{database:?}"
        );
        host.advance(u64::try_from(pause).expect("seconds") - 1);
        // The cooldown applies to both names, and the browser sees the usual page.
        for name in ["ada", "ada@example.org"] {
            let page = request_as(&host, &ada, name).await;
            assert!(
                !is_prompted(&ada).await,
                "{database:?}: {name} after {pause} s"
            );
            assert_eq!(page.again().await.number(), page.number());
            // Without the cancellation, the request would arrive when the cooldown ends.
            page.cancel().await;
        }
        let (_, second, base) = host
            .second(HostOptions {
                database,
                ..HostOptions::default()
            })
            .await;
        let browser = Browser::new(&base);
        let login = ada.application.login_page(&browser, &[]).await;
        let page = login.submit_name("ada").await;
        assert!(
            !is_prompted(&ada).await,
            "{database:?}: by another instance"
        );
        page.cancel().await;
        second.stop().await;
        host.advance(1);
        assert_eq!(ada.device.cooldown_end().await, None);
    }
    host.advance(121);
    ada.sign_in(&Browser::new(&host.base)).await;
    for expected in [None, Some(host.host.now().seconds() + 30)] {
        request_as(&host, &ada, "ada").await;
        deny(&ada).await;
        let until = ada.device.cooldown_end().await;
        assert_eq!(
            until, expected,
            "{database:?}: the approval reset the denials"
        );
    }
    host.stop().await;
}

#[tokio::test]
async fn denials_expire_after_a_day_and_cooldowns_can_be_disabled() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    for _ in 0..2 {
        for expected in [None, Some(host.host.now().seconds() + 30)] {
            request_as(&host, &ada, "ada").await;
            deny(&ada).await;
            assert_eq!(ada.device.cooldown_end().await, expected);
        }
        host.advance(86_400);
    }
    // Two denials that are more than ten minutes apart begin no cooldown.
    for _ in 0..2 {
        request_as(&host, &ada, "ada").await;
        deny(&ada).await;
        assert_eq!(ada.device.cooldown_end().await, None);
        host.advance(601);
    }
    host.advance(86_400);
    let day = Duration::from_secs(86_400);
    let retention = Retention {
        logins: day,
        sessions: day,
        enrolments: day,
        admin_tokens: day,
        traces: day,
        receipts: day,
        audit: day,
        streams: &[],
        denials: day,
    };
    let stored = async || {
        let mut connection = host.connection().await;
        let count = sql::query_as("SELECT COUNT(*) FROM approval_cooldowns")
            .fetch_one(&mut connection)
            .await;
        let (stored,): (i64,) = count.expect("read");
        stored
    };
    assert_eq!(stored().await, 1);
    host.host
        .store
        .apply_retention(retention, host.host.now())
        .await
        .expect("swept");
    assert_eq!(stored().await, 0);
    let host = TestHost::start_with_settings("[approvals]\ndenial_cooldowns = []").await;
    let ada = host.ada().await;
    for _ in 0..3 {
        request_as(&host, &ada, "ada").await;
        deny(&ada).await;
    }
    request_as(&host, &ada, "ada").await;
    assert!(is_prompted(&ada).await);
}

#[both_databases]
async fn too_many_wrong_numbers_end_the_request_without_a_cooldown(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    for _ in 0..3 {
        request_as(&host, &ada, "ada").await;
        let request = &ada.device.pending_requests(5).await[0];
        for wrong in ["01", "02", "03"] {
            ada.device
                .decide(request, Some(wrong))
                .await
                .expect_err("wrong");
        }
        assert_eq!(ada.device.cooldown_end().await, None);
        assert!(!is_prompted(&ada).await, "{database:?}");
    }
    request_as(&host, &ada, "ada").await;
    assert!(is_prompted(&ada).await, "{database:?}");
    let returned = entries(&host, &format!("user={}", id(&ada.user))).await;
    let count = |event| {
        events(&returned)
            .into_iter()
            .filter(|returned| *returned == event)
            .count()
    };
    assert_eq!(
        (
            count("sign-in.number-match-failed"),
            count("cooldown.started")
        ),
        (9, 0),
        "{returned:?}"
    );
}

/// An attacker must not learn that the user answered, so a reported request looks as if it were still pending. The
/// cooldown outlasts approvals of the user.
#[both_databases]
async fn a_report_changes_no_page_and_its_cooldown_survives_approvals(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let reported = request_as(&host, &ada, "ada").await;
    let beside = request_as(&host, &ada, "ada@example.org").await;
    let unknown = request_as(&host, &ada, "nobody").await;
    let request = &ada.device.pending_requests(5).await[0];
    assert_eq!(ada.device.submit_report(request).await, "reported");
    let cooldown = ada.device.cooldown_end().await;
    assert_eq!(
        cooldown,
        Some(host.host.now().seconds() + 4 * 3600),
        "{database:?}"
    );
    host.advance(10);
    for page in [&reported, &beside, &unknown] {
        assert_eq!(
            page.again().await.number(),
            page.number(),
            "{database:?}: it waits"
        );
    }
    // Ada uses QR sign-in during the cooldown.
    let browser = Browser::new(&host.base);
    let login = ada.application.login_page(&browser, &[]).await;
    ada.device.scan_code(&crate::qr_sign_in::code(&login)).await;
    ada.approve(&browser.get(&login.url).await).await;
    assert!(
        browser
            .finish(&login.url)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
    assert_eq!(ada.device.cooldown_end().await, cooldown, "{database:?}");
    request_as(&host, &ada, "ada").await;
    assert!(
        !is_prompted(&ada).await,
        "{database:?}: the cooldown continues"
    );
    let cancelled = beside.cancel().await.followed().await;
    let same = unknown.cancel().await.followed().await;
    assert_eq!(
        (cancelled.outcome(), same.outcome()),
        ("cancelled".to_owned(), "cancelled".to_owned())
    );
    host.advance(110);
    assert_eq!(reported.again().await.outcome(), "expired", "{database:?}");
}

#[both_databases]
async fn denials_do_not_shorten_the_cooldown_of_a_report(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    request_as(&host, &ada, "ada").await;
    let request = &ada.device.pending_requests(5).await[0];
    assert_eq!(ada.device.submit_report(request).await, "reported");
    let cooldown = ada.device.cooldown_end().await;
    for _ in 0..2 {
        let browser = Browser::new(&host.base);
        let login = ada.application.login_page(&browser, &[]).await;
        ada.device.scan_code(&crate::qr_sign_in::code(&login)).await;
        deny(&ada).await;
        assert_eq!(ada.device.cooldown_end().await, cooldown, "{database:?}");
    }
}

#[tokio::test]
async fn a_cancelled_or_replaced_request_can_be_reported_until_it_expires() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    for how in ["cancelled", "replaced"] {
        let page = request_as(&host, &ada, "ada").await;
        let request = &ada.device.pending_requests(5).await[0];
        if how == "cancelled" {
            page.cancel().await;
        } else {
            let login = page
                .browser()
                .get(&ada.application.request(&[]))
                .await
                .followed()
                .await;
            login.submit(&login.path(), &[("name", "ada")]).await;
        }
        assert_eq!(page.again().await.outcome(), how);
        assert_eq!(ada.device.submit_report(request).await, "reported", "{how}");
        assert_eq!(
            page.again().await.outcome(),
            how,
            "a report does not change the page"
        );
        let repeated = ada.device.submit_report(request).await;
        assert_eq!(repeated, "reported", "{how}: a repeat gets the same result");
        ada.device.end_cooldown().await;
    }
}

#[both_databases]
async fn a_report_ends_open_requests_and_starts_a_cooldown_that_the_user_can_lift(
    database: Database,
) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let session = Browser::new(&host.base);
    ada.sign_in(&session).await;
    host.advance(1);
    let page = request_as(&host, &ada, "ada").await;
    let request = &ada.device.pending_requests(5).await[0];
    assert_eq!(ada.device.submit_report(request).await, "reported");
    assert_eq!(
        page.again().await.number(),
        page.number(),
        "the page of the request does not change"
    );
    // The response may have been lost, so a repeated report gets the same result and changes nothing.
    assert_eq!(ada.device.submit_report(request).await, "reported");
    let four_hours = host.host.now().seconds() + 4 * 3600;
    assert_eq!(
        ada.device.cooldown_end().await,
        Some(four_hours),
        "{database:?}"
    );
    assert!(
        session.get("/").await.body.contains("Hello,"),
        "the report ends nothing else"
    );
    let cancelled = request_as(&host, &ada, "ada").await;
    assert!(!is_prompted(&ada).await);
    cancelled.cancel().await;

    host.advance(1);
    ada.device.end_cooldown().await;
    ada.device.end_cooldown().await;
    assert_eq!(ada.device.cooldown_end().await, None);
    assert!(
        !is_prompted(&ada).await,
        "neither the reported nor the cancelled request returns"
    );
    ada.sign_in(&Browser::new(&host.base)).await;
    let about = format!("user={}", id(&ada.user));
    for event in ["sign-in.reported", "cooldown.started", "cooldown.lifted"] {
        let returned = entries(&host, &format!("{about}&event={event}")).await;
        assert_eq!(returned.len(), 1, "{event}: {returned:?}");
        assert_eq!(
            returned[0]["actor"],
            json!({"kind": "device", "id": ada.device.device().to_string()})
        );
    }
    let started = &entries(&host, "event=cooldown.started").await[0];
    assert_eq!(started["detail"]["until"], four_hours);
}

#[both_databases]
async fn a_denied_request_can_be_reported(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    host.advance(1);
    request_as(&host, &ada, "ada").await;
    let request = &ada.device.pending_requests(5).await[0];
    assert_eq!(ada.device.deny(request).await, "denied");
    assert_eq!(ada.device.submit_report(request).await, "reported");
    let four_hours = host.host.now().seconds() + 4 * 3600;
    assert_eq!(
        ada.device.cooldown_end().await,
        Some(four_hours),
        "{database:?}"
    );
    assert_eq!(ada.device.submit_report(request).await, "reported");
    assert_eq!(
        entries(&host, "event=sign-in.reported").await.len(),
        1,
        "{database:?}"
    );

    ada.device.end_cooldown().await;
    host.advance(3600);
    request_as(&host, &ada, "ada").await;
    let request = &ada.device.pending_requests(5).await[0];
    assert_eq!(ada.device.deny(request).await, "denied");
    host.advance(121);
    let late = ada.device.report(request).await.expect_err("too late");
    assert!(
        late.to_string().starts_with("already_decided") || late.to_string().starts_with("expired"),
        "{late}"
    );
}

#[tokio::test]
async fn a_signature_is_valid_for_one_decision_only() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let page = request_as(&host, &ada, "ada").await;
    let request = &ada.device.pending_requests(5).await[0];
    let number = page.number();
    let statement = |decision, number| {
        let text = ApprovalStatement {
            decision,
            binding: Binding::Number(number),
            ..ada.device.statement(request, None)
        }
        .text();
        ada.device.signature(&text)
    };
    let signed = [
        (Decision::Approve, number.as_str()),
        (Decision::Deny, ""),
        (Decision::Report, ""),
    ];
    for (signed_for, number) in signed {
        let signature = statement(signed_for, number);
        for (sent, number) in signed {
            if sent != signed_for {
                let reply = ada
                    .device
                    .send(request.id, sent, number, &signature)
                    .await
                    .expect("an answer");
                assert_eq!(
                    reply.status,
                    StatusCode::FORBIDDEN,
                    "{signed_for:?} as {sent:?}"
                );
            }
        }
    }
    let eve = host.user("eve").await;
    let eves_phone = host.authenticator(&eve).await;
    let refused = eves_phone
        .report(request)
        .await
        .expect_err("the request of another user");
    assert!(
        refused.to_string().starts_with("request_not_found"),
        "{refused}"
    );
    assert_eq!(ada.device.cooldown_end().await, None);
    ada.approve(&page).await;
}

#[tokio::test]
async fn the_command_line_can_report_a_request() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let page = request_as(&host, &ada, "ada").await;
    let store = host.folder().join("phone.json");
    let mut file =
        assent::authenticator::enrolled::Authenticator::new_file(&store).expect("a file");
    ada.device.save(&mut file).expect("saved");
    let run = |arguments: &[&str]| {
        let mut command = tokio::process::Command::new(crate::harness::binary("assent"));
        command
            .args(["authenticator", "decide", "--store"])
            .arg(&store)
            .args(arguments);
        async move { command.finish().await }
    };
    let both = run(&["--deny", "--report"]).await;
    assert_eq!(both.status.code(), Some(2), "{both:?}");
    let message = run(&["--report"]).await;
    assert!(
        message.status.success()
            && message
                .stdout
                .starts_with(b"reported: ada on Firefox on Linux"),
        "{message:?}"
    );
    assert_eq!(page.again().await.number(), page.number());
}

#[tokio::test]
async fn a_cooldown_is_lifted_only_by_a_device_of_the_user() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    for _ in 0..2 {
        request_as(&host, &ada, "ada").await;
        deny(&ada).await;
    }
    let eves_phone = host.authenticator(&host.user("eve").await).await;
    eves_phone.end_cooldown().await;
    let url = format!("{}/authenticator/api/cooldown", host.base);
    let unsigned = http_client().delete(url).response().await;
    assert_eq!(unsigned.status(), StatusCode::UNAUTHORIZED);
    assert!(ada.device.cooldown_end().await.is_some());
    host.admin_ok(
        Method::DELETE,
        &format!("/devices/{}", ada.device.device()),
        Value::Null,
    )
    .await;
    assert!(ada.device.lift_cooldown().await.is_err());
}

#[tokio::test]
async fn prompts_per_user_are_limited_without_changing_the_page() {
    let settings = "[rate_limits]\nprompts_per_user = { per_minute = 1, burst = 2 }";
    let host = TestHost::start_with_settings(settings).await;
    let ada = host.ada().await;
    for (name, requested) in [
        ("ada", true),
        ("ada@example.org", true),
        ("ada", false),
        ("ada@example.org", false),
    ] {
        let page = request_as(&host, &ada, name).await;
        assert_eq!(page.number().len(), 2);
        assert_eq!(is_prompted(&ada).await, requested, "{name}");
        // A cancellation is not a denial, which could begin a cooldown.
        page.cancel().await;
        assert!(!is_prompted(&ada).await);
    }
    host.advance(60);
    request_as(&host, &ada, "ada").await;
    assert!(is_prompted(&ada).await);
}

#[tokio::test]
async fn sign_ins_are_limited_per_ip_and_browser() {
    for (settings, one_browser) in [
        ("sign_ins_per_ip = { per_minute = 1, burst = 3 }", false),
        ("sign_ins_per_browser = { per_minute = 1, burst = 3 }", true),
    ] {
        let settings = format!("[rate_limits]\n{settings}");
        let host = TestHost::start_with_settings(&settings).await;
        let ada = host.ada().await;
        let browser = Browser::new(&host.base);
        for count in 0..4 {
            let browser = if one_browser {
                browser.clone()
            } else {
                Browser::new(&host.base)
            };
            let login = ada.application.login_page(&browser, &[]).await;
            let answer = login
                .submit(&login.path(), &[("name", &format!("nobody{count}"))])
                .await;
            let expected = if count < 3 {
                StatusCode::SEE_OTHER
            } else {
                StatusCode::TOO_MANY_REQUESTS
            };
            assert_eq!(answer.status, expected, "{settings} {count}");
            assert_eq!(answer.headers.contains_key("retry-after"), count == 3);
        }
        let elsewhere = Browser::new(&host.base);
        let login = ada.application.login_page(&elsewhere, &[]).await;
        let answer = login.submit(&login.path(), &[("name", "ada")]).await;
        assert_eq!(
            answer.status == StatusCode::SEE_OTHER,
            one_browser,
            "another browser has its own limit"
        );
    }
}

async fn requested_by(store: &Store, user: &User, name: &str) -> (ApprovalId, RequestOutcome) {
    let login = login();
    store.insert_login(login.clone()).await.expect("inserted");
    let approval = approval(&login, Some(user), name);
    let requested = store
        .request_approval(request(approval.clone(), Some(user)))
        .await
        .expect("requested");
    (approval.id, requested)
}

#[both_databases]
async fn a_vendor_denial_counts_for_the_cooldown(database: Database) {
    let Fixture { store, .. } = &fixture(database).await;
    let (user, device) = ada(store).await;
    let known = ExternalAuthenticator {
        channel: "vendor".to_owned(),
        identifier: "ada@vendor".to_owned(),
    };
    let setting = UserAction::SetExternalAuthenticator(user.id.into(), known.clone());
    write_user(store, setting, NOW).await.expect("set");
    let (id, requested) = requested_by(store, &user, "ada").await;
    assert_eq!(requested, RequestOutcome::Prompted(user.id));
    let recipient = Recipient::Vendor {
        identifier: known.identifier,
    };
    let delivery = Delivery {
        id: DeliveryId::new(NOW, &SystemEntropy),
        approval: id,
        channel: known.channel,
        recipient,
        handle: String::new(),
    };
    assert!(
        store
            .add_delivery(delivery.clone(), NOW, NOW)
            .await
            .expect("added")
    );
    // The second of two denials. The first was on a device.
    let (first, _) = requested_by(store, &user, "ada@example.org").await;
    let deny = DeviceAnswer::Deny;
    assert_eq!(
        store
            .answer_approval(first, device.id, deny, audited(&[30]), NOW)
            .await
            .expect("denied"),
        AnswerOutcome::Counted
    );
    assert_eq!(
        store.cooldown_until(user.id, NOW).await.expect("read"),
        None,
        "{database:?}"
    );
    assert_eq!(
        store
            .rule_on_approval(delivery.id, Ruling::Denied, audited(&[30]), NOW)
            .await
            .expect("decided"),
        AnswerOutcome::Counted
    );
    let until = store.cooldown_until(user.id, NOW).await.expect("read");
    assert_eq!(until, Some(NOW + Duration::from_secs(30)), "{database:?}");
    assert_eq!(
        requested_by(store, &user, "ada").await.1,
        RequestOutcome::NotPrompted
    );
}

/// A report and a request with the user's other name occur at the same moment. Either the request is first and the
/// report ends it, or the request finds the cooldown. On PostgreSQL, the two are in different transactions.
#[both_databases]
async fn a_request_concurrent_with_a_report_reaches_no_device(database: Database) {
    let Fixture { store, .. } = &fixture(database).await;
    let (user, device) = ada(store).await;
    for round in 0..20 {
        let (id, requested) = requested_by(store, &user, "ada").await;
        assert_eq!(requested, RequestOutcome::Prompted(user.id));
        let mut audited = audited(&[30]);
        audited.cooldown.0.report = Some(Duration::from_secs(30));
        let report = store.answer_approval(id, device.id, new_report(), audited, NOW);
        let (reported, (other, _)) =
            tokio::join!(report, requested_by(store, &user, "ada@example.org"));
        assert_eq!(
            reported.expect("answered"),
            AnswerOutcome::Counted,
            "{database:?} {round}"
        );
        assert!(
            store
                .cooldown_until(user.id, NOW)
                .await
                .expect("read")
                .is_some(),
            "{database:?} {round}"
        );
        let pending = store.pending_approvals(user.id, NOW).await.expect("read");
        assert!(pending.is_empty(), "{database:?} {round}: {pending:?}");
        let stored = store
            .approval(other)
            .await
            .expect("read")
            .expect("an approval");
        let expected = if stored.user_id.is_some() {
            ApprovalStage::Reported
        } else {
            ApprovalStage::Requested
        };
        assert_eq!(stored.stage, expected, "{database:?} {round}");
        // Without the cancellation, the end of the cooldown would release the request.
        store.cancel_approval(other, NOW).await.expect("cancelled");
        store
            .lift_cooldown(user.id, entry(Event::CooldownLifted), NOW)
            .await
            .expect("lifted");
    }
}
