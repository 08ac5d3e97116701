//! Pauses after denials, "this was not me", and how often a person may be asked.

use assent_store::sql;
use assent_test_macros::both_databases;
use std::time::Duration;

use assent_model::approval::ApprovalStage;
use assent_model::audit::Event;
use assent_model::delivery::{Delivery, ExternalAuthenticator, Recipient, Ruling};
use assent_model::entropy::SystemEntropy;
use assent_model::id::{ApprovalId, DeliveryId};
use assent_model::statement::{ApprovalStatement, Decision};
use assent_model::user::User;
use assent_store::{AnswerOutcome, DeviceAnswer, RequestOutcome, Retention, Store};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{entries, events};
use crate::harness::{Ada, Browser, Database, HostOptions, Page, TestHost, http_client, id};
use crate::store::{Fixture, NOW, ada, approval, entry, fixture, login, noted, request};

/// Asks by a name, in a browser of its own.
async fn ask_as(host: &TestHost, ada: &Ada, name: &str) -> Page {
    let browser = Browser::new(&host.base);
    let login = browser
        .get(&ada.application.request(&[]))
        .await
        .followed()
        .await;
    login
        .submit(&login.path(), &[("name", name)])
        .await
        .followed()
        .await
}

async fn deny(ada: &Ada) {
    let request = &ada.phone.waiting(5).await.expect("requests")[0];
    assert_eq!(
        ada.phone.decide(request, None).await.expect("an outcome"),
        "denied"
    );
}

async fn is_asked(ada: &Ada) -> bool {
    !ada.phone.waiting(0).await.expect("requests").is_empty()
}

#[tokio::test]
async fn cooldowns_grow_from_the_second_denial_on_each_host_and_after_a_restart_until_an_approval_on_both_databases()
 {
    for database in Database::BOTH {
        let mut host = TestHost::start_with(HostOptions {
            database,
            ..HostOptions::default()
        })
        .await;
        let ada = host.ada().await;
        for pause in [0, 30, 120, 600, 3600, 3600] {
            let page = ask_as(&host, &ada, "ada").await;
            if pause == 0 {
                deny(&ada).await;
                assert_eq!(
                    ada.phone.cooldown_until().await.expect("an answer"),
                    None,
                    "{database:?}: one may be a mistake"
                );
                continue;
            }
            deny(&ada).await;
            assert_eq!(page.again().await.outcome(), "denied");
            let until = ada.phone.cooldown_until().await.expect("an answer");
            assert_eq!(
                until,
                Some(host.host.now().seconds() + pause),
                "{database:?}"
            );
            host.advance(u64::try_from(pause).expect("seconds") - 1);
            // By whichever name; and the browser sees what it always sees.
            for name in ["ada", "ada@example.org"] {
                let page = ask_as(&host, &ada, name).await;
                assert!(
                    !is_asked(&ada).await,
                    "{database:?}: {name} after {pause} s"
                );
                assert_eq!(page.again().await.number(), page.number());
            }
            let (_, second, base) = host
                .second(HostOptions {
                    database,
                    ..HostOptions::default()
                })
                .await;
            let browser = Browser::new(&base);
            let login = browser
                .get(&ada.application.request(&[]))
                .await
                .followed()
                .await;
            login.submit(&login.path(), &[("name", "ada")]).await;
            assert!(!is_asked(&ada).await, "{database:?}: by another host");
            second.stop().await;
            host.advance(1);
            assert_eq!(ada.phone.cooldown_until().await.expect("an answer"), None);
        }
        host.advance(121);
        ada.sign_in(&Browser::new(&host.base)).await;
        for expected in [None, Some(host.host.now().seconds() + 30)] {
            ask_as(&host, &ada, "ada").await;
            deny(&ada).await;
            let until = ada.phone.cooldown_until().await.expect("an answer");
            assert_eq!(
                until, expected,
                "{database:?}: the approval forgot the others"
            );
        }
        host.stop().await;
    }
}

#[tokio::test]
async fn denials_are_forgotten_after_a_day_and_there_may_be_no_pauses() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    for _ in 0..2 {
        for expected in [None, Some(host.host.now().seconds() + 30)] {
            ask_as(&host, &ada, "ada").await;
            deny(&ada).await;
            assert_eq!(
                ada.phone.cooldown_until().await.expect("an answer"),
                expected
            );
        }
        host.advance(86_400);
    }
    // Two that are more than ten minutes apart begin none.
    for _ in 0..2 {
        ask_as(&host, &ada, "ada").await;
        deny(&ada).await;
        assert_eq!(ada.phone.cooldown_until().await.expect("an answer"), None);
        host.advance(601);
    }
    host.advance(86_400);
    let day = Duration::from_secs(86_400);
    let retention = Retention {
        logins: day,
        access_tokens: day,
        refresh_tokens: day,
        sessions: day,
        enrolments: day,
        admin_tokens: day,
        traces: day,
        audit: day,
        streams: &[],
        denials: day,
    };
    let kept = async || {
        let mut connection = host.connection().await;
        let count = sql::query_as("SELECT COUNT(*) FROM approval_cooldowns")
            .fetch_one(&mut connection)
            .await;
        let (kept,): (i64,) = count.expect("read");
        kept
    };
    assert_eq!(kept().await, 1);
    host.host
        .store
        .apply_retention(retention, host.host.now())
        .await
        .expect("swept");
    assert_eq!(kept().await, 0);
    let host = TestHost::start_with(HostOptions {
        settings: "[approvals]\ndenial_cooldowns = []",
        ..HostOptions::default()
    })
    .await;
    let ada = host.ada().await;
    for _ in 0..3 {
        ask_as(&host, &ada, "ada").await;
        deny(&ada).await;
    }
    ask_as(&host, &ada, "ada").await;
    assert!(is_asked(&ada).await);
}

#[tokio::test]
async fn a_number_typed_wrong_too_often_ends_the_request_and_begins_no_cooldown_on_both_databases()
{
    for database in Database::BOTH {
        let host = TestHost::start_with(HostOptions {
            database,
            ..HostOptions::default()
        })
        .await;
        let ada = host.ada().await;
        for _ in 0..3 {
            ask_as(&host, &ada, "ada").await;
            let request = &ada.phone.waiting(5).await.expect("requests")[0];
            for wrong in ["01", "02", "03"] {
                ada.phone
                    .decide(request, Some(wrong))
                    .await
                    .expect_err("wrong");
            }
            assert_eq!(ada.phone.cooldown_until().await.expect("an answer"), None);
            assert!(!is_asked(&ada).await, "{database:?}");
        }
        ask_as(&host, &ada, "ada").await;
        assert!(is_asked(&ada).await, "{database:?}");
        let told = entries(&host, &format!("user={}", id(&ada.user))).await;
        let count = |event| {
            events(&told)
                .into_iter()
                .filter(|told| *told == event)
                .count()
        };
        assert_eq!(
            (
                count("sign-in.number-match-failed"),
                count("cooldown.started")
            ),
            (9, 0),
            "{told:?}"
        );
    }
}

/// An attacker must not learn that the user answered, so a reported request looks as if it were still pending. The cooldown
/// outlasts approvals of the user.
#[tokio::test]
async fn a_report_changes_no_page_and_its_cooldown_survives_the_users_own_approvals_on_both_databases()
 {
    for database in Database::BOTH {
        let host = TestHost::start_with(HostOptions {
            database,
            ..HostOptions::default()
        })
        .await;
        let ada = host.ada().await;
        let reported = ask_as(&host, &ada, "ada").await;
        let beside = ask_as(&host, &ada, "ada@example.org").await;
        let unknown = ask_as(&host, &ada, "nobody").await;
        let request = &ada.phone.waiting(5).await.expect("requests")[0];
        assert_eq!(
            ada.phone.not_me(request).await.expect("an outcome"),
            "reported"
        );
        let cooldown = ada.phone.cooldown_until().await.expect("an answer");
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
        // Ada signs in by a scan during the cooldown.
        let browser = Browser::new(&host.base);
        let login = browser
            .get(&ada.application.request(&[]))
            .await
            .followed()
            .await;
        ada.phone
            .scan(&crate::qr_sign_in::code(&login))
            .await
            .expect("taken");
        ada.approve(&browser.get(&login.url).await).await;
        assert!(
            browser
                .finish(&login.url)
                .await
                .parameter("code")
                .starts_with("ac_")
        );
        assert_eq!(
            ada.phone.cooldown_until().await.expect("an answer"),
            cooldown,
            "{database:?}"
        );
        ask_as(&host, &ada, "ada").await;
        assert!(!is_asked(&ada).await, "{database:?}: the cooldown goes on");
        let cancelled = beside
            .submit(&format!("{}/cancel", beside.path()), &[])
            .await
            .followed()
            .await;
        let same = unknown
            .submit(&format!("{}/cancel", unknown.path()), &[])
            .await
            .followed()
            .await;
        assert_eq!(
            (cancelled.outcome(), same.outcome()),
            ("cancelled".to_owned(), "cancelled".to_owned())
        );
        host.advance(110);
        assert_eq!(reported.again().await.outcome(), "expired", "{database:?}");
    }
}

#[both_databases]
async fn denials_do_not_shorten_the_cooldown_of_a_report(database: Database) {
    let host = TestHost::start_with(HostOptions {
        database,
        ..HostOptions::default()
    })
    .await;
    let ada = host.ada().await;
    ask_as(&host, &ada, "ada").await;
    let request = &ada.phone.waiting(5).await.expect("requests")[0];
    assert_eq!(
        ada.phone.not_me(request).await.expect("an outcome"),
        "reported"
    );
    let cooldown = ada.phone.cooldown_until().await.expect("an answer");
    for _ in 0..2 {
        let browser = Browser::new(&host.base);
        let login = browser
            .get(&ada.application.request(&[]))
            .await
            .followed()
            .await;
        ada.phone
            .scan(&crate::qr_sign_in::code(&login))
            .await
            .expect("taken");
        deny(&ada).await;
        assert_eq!(
            ada.phone.cooldown_until().await.expect("an answer"),
            cooldown,
            "{database:?}"
        );
    }
}

#[tokio::test]
async fn a_request_that_was_cancelled_or_replaced_can_be_reported_until_it_expires() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    for how in ["cancelled", "replaced"] {
        let page = ask_as(&host, &ada, "ada").await;
        let request = &ada.phone.waiting(5).await.expect("requests")[0];
        if how == "cancelled" {
            page.submit(&format!("{}/cancel", page.path()), &[]).await;
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
        assert_eq!(
            ada.phone.not_me(request).await.expect("an outcome"),
            "reported",
            "{how}"
        );
        assert_eq!(
            page.again().await.outcome(),
            how,
            "a report changes nothing there"
        );
        assert!(ada.phone.not_me(request).await.is_err(), "once");
        ada.phone.lift_cooldown().await.expect("lifted");
    }
}

#[tokio::test]
async fn this_was_not_me_ends_what_is_open_and_begins_a_longer_pause_that_the_person_can_lift_on_both_databases()
 {
    for database in Database::BOTH {
        let host = TestHost::start_with(HostOptions {
            database,
            ..HostOptions::default()
        })
        .await;
        let ada = host.ada().await;
        let session = Browser::new(&host.base);
        ada.sign_in(&session).await;
        host.advance(1);
        let page = ask_as(&host, &ada, "ada").await;
        let request = &ada.phone.waiting(5).await.expect("requests")[0];
        assert_eq!(
            ada.phone.not_me(request).await.expect("an outcome"),
            "reported"
        );
        assert_eq!(
            page.again().await.number(),
            page.number(),
            "its page shows nothing"
        );
        let again = ada.phone.not_me(request).await.expect_err("said before");
        assert!(again.to_string().starts_with("already_decided"), "{again}");
        let four_hours = host.host.now().seconds() + 4 * 3600;
        assert_eq!(
            ada.phone.cooldown_until().await.expect("an answer"),
            Some(four_hours),
            "{database:?}"
        );
        assert!(
            session.get("/").await.body.contains("Hello,"),
            "it ends nothing else"
        );
        ask_as(&host, &ada, "ada").await;
        assert!(!is_asked(&ada).await);

        host.advance(1);
        ada.phone.lift_cooldown().await.expect("lifted");
        ada.phone.lift_cooldown().await.expect("nothing to lift");
        assert_eq!(ada.phone.cooldown_until().await.expect("an answer"), None);
        assert!(
            !is_asked(&ada).await,
            "what was asked meanwhile does not come back"
        );
        ada.sign_in(&Browser::new(&host.base)).await;
        let about = format!("user={}", id(&ada.user));
        for event in ["sign-in.reported", "cooldown.started", "cooldown.lifted"] {
            let told = entries(&host, &format!("{about}&event={event}")).await;
            assert_eq!(told.len(), 1, "{event}: {told:?}");
            assert_eq!(
                told[0]["actor"],
                json!({"kind": "device", "id": ada.phone.device().to_string()})
            );
        }
        let begun = &entries(&host, "event=cooldown.started").await[0];
        assert_eq!(begun["detail"]["until"], four_hours);
    }
}

#[both_databases]
async fn who_denied_a_request_may_still_say_that_it_was_not_theirs(database: Database) {
    let host = TestHost::start_with(HostOptions {
        database,
        ..HostOptions::default()
    })
    .await;
    let ada = host.ada().await;
    host.advance(1);
    ask_as(&host, &ada, "ada").await;
    let request = &ada.phone.waiting(5).await.expect("requests")[0];
    assert_eq!(
        ada.phone.decide(request, None).await.expect("an outcome"),
        "denied"
    );
    assert_eq!(
        ada.phone.not_me(request).await.expect("an outcome"),
        "reported"
    );
    let four_hours = host.host.now().seconds() + 4 * 3600;
    assert_eq!(
        ada.phone.cooldown_until().await.expect("an answer"),
        Some(four_hours),
        "{database:?}"
    );
    let again = ada.phone.not_me(request).await.expect_err("said before");
    assert!(
        again.to_string().starts_with("already_decided"),
        "{database:?}: {again}"
    );
    assert_eq!(
        entries(&host, "event=sign-in.reported").await.len(),
        1,
        "{database:?}"
    );

    ada.phone.lift_cooldown().await.expect("lifted");
    host.advance(3600);
    ask_as(&host, &ada, "ada").await;
    let request = &ada.phone.waiting(5).await.expect("requests")[0];
    assert_eq!(
        ada.phone.decide(request, None).await.expect("an outcome"),
        "denied"
    );
    host.advance(121);
    let late = ada.phone.not_me(request).await.expect_err("too late");
    assert!(
        late.to_string().starts_with("already_decided") || late.to_string().starts_with("expired"),
        "{late}"
    );
}

#[tokio::test]
async fn a_signature_for_one_decision_is_none_for_another() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    let page = ask_as(&host, &ada, "ada").await;
    let request = &ada.phone.waiting(5).await.expect("requests")[0];
    let number = page.number();
    let statement = |decision, number| {
        let text = ApprovalStatement {
            decision,
            number,
            ..ada.phone.statement(request, None)
        }
        .text();
        ada.phone.sign(&text).expect("signed")
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
                    .phone
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
    let refused = eves_phone.not_me(request).await.expect_err("not hers");
    assert!(
        refused.to_string().starts_with("request_not_found"),
        "{refused}"
    );
    assert_eq!(ada.phone.cooldown_until().await.expect("an answer"), None);
    ada.approve(&page).await;
}

#[tokio::test]
async fn the_command_line_can_say_that_it_was_not_me() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    let page = ask_as(&host, &ada, "ada").await;
    let store = host.folder().join("phone.json");
    let mut file = assent::authenticator::Authenticator::new_file(&store).expect("a file");
    ada.phone.save(&mut file).expect("saved");
    let run = |arguments: &[&str]| {
        let mut command = tokio::process::Command::new(crate::harness::binary("assent"));
        command
            .args(["authenticator", "approve", "--store"])
            .arg(&store)
            .args(arguments);
        async move { command.output().await.expect("run") }
    };
    let both = run(&["--deny", "--not-me"]).await;
    assert_eq!(both.status.code(), Some(2), "{both:?}");
    let said = run(&["--not-me"]).await;
    assert!(
        said.status.success()
            && said
                .stdout
                .starts_with(b"reported: ada on Firefox on Linux"),
        "{said:?}"
    );
    assert_eq!(page.again().await.number(), page.number());
}

#[tokio::test]
async fn a_pause_is_lifted_by_the_persons_own_device_alone() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    for _ in 0..2 {
        ask_as(&host, &ada, "ada").await;
        deny(&ada).await;
    }
    let eves_phone = host.authenticator(&host.user("eve").await).await;
    eves_phone.lift_cooldown().await.expect("nothing to lift");
    let url = format!("{}/authenticator/api/cooldown", host.base);
    let unsigned = http_client().delete(url).send().await.expect("an answer");
    assert_eq!(unsigned.status(), StatusCode::UNAUTHORIZED);
    assert!(
        ada.phone
            .cooldown_until()
            .await
            .expect("an answer")
            .is_some()
    );
    host.admin_ok(
        Method::DELETE,
        &format!("/devices/{}", ada.phone.device()),
        Value::Null,
    )
    .await;
    assert!(ada.phone.lift_cooldown().await.is_err());
}

#[tokio::test]
async fn a_person_is_asked_so_often_and_the_page_does_not_tell() {
    let settings = "[rate_limits]\nprompts_per_user = { per_minute = 1, burst = 2 }";
    let host = TestHost::start_with(HostOptions {
        settings,
        ..HostOptions::default()
    })
    .await;
    let ada = host.ada().await;
    for (name, asked) in [
        ("ada", true),
        ("ada@example.org", true),
        ("ada", false),
        ("ada@example.org", false),
    ] {
        let page = ask_as(&host, &ada, name).await;
        assert_eq!(page.number().len(), 2);
        assert_eq!(is_asked(&ada).await, asked, "{name}");
        // Not a denial, which may begin a cooldown.
        page.submit(&format!("{}/cancel", page.path()), &[]).await;
        assert!(!is_asked(&ada).await);
    }
    host.advance(60);
    ask_as(&host, &ada, "ada").await;
    assert!(is_asked(&ada).await);
}

#[tokio::test]
async fn an_address_and_a_browser_ask_so_often() {
    for (settings, one_browser) in [
        ("sign_ins_per_ip = { per_minute = 1, burst = 3 }", false),
        ("sign_ins_per_browser = { per_minute = 1, burst = 3 }", true),
    ] {
        let settings = format!("[rate_limits]\n{settings}");
        let host = TestHost::start_with(HostOptions {
            settings: &settings,
            ..HostOptions::default()
        })
        .await;
        let ada = host.ada().await;
        let browser = Browser::new(&host.base);
        for count in 0..4 {
            let browser = if one_browser {
                browser.clone()
            } else {
                Browser::new(&host.base)
            };
            let login = browser
                .get(&ada.application.request(&[]))
                .await
                .followed()
                .await;
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
        let login = elsewhere
            .get(&ada.application.request(&[]))
            .await
            .followed()
            .await;
        let answer = login.submit(&login.path(), &[("name", "ada")]).await;
        assert_eq!(
            answer.status == StatusCode::SEE_OTHER,
            one_browser,
            "another browser has its own"
        );
    }
}

async fn asked_by(store: &Store, person: &User, name: &str) -> (ApprovalId, RequestOutcome) {
    let login = login();
    store.insert_login(login.clone()).await.expect("inserted");
    let approval = approval(&login, Some(person), name);
    let asked = store
        .request_approval(request(approval.clone(), Some(person)))
        .await
        .expect("requested");
    (approval.id, asked)
}

#[both_databases]
async fn a_vendors_denial_is_a_denial(database: Database) {
    let Fixture { store, .. } = &fixture(database).await;
    let (person, phone) = ada(store).await;
    let known = ExternalAuthenticator {
        channel: "vendor".to_owned(),
        identifier: "ada@vendor".to_owned(),
    };
    assert!(
        store
            .set_external_authenticator(person.id, known.clone(), Vec::new(), None, NOW)
            .await
            .expect("set")
    );
    let (id, asked) = asked_by(store, &person, "ada").await;
    assert_eq!(asked, RequestOutcome::Person(person.id));
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
    // The second of two: the first was at a device.
    let (first, _) = asked_by(store, &person, "ada@example.org").await;
    let deny = DeviceAnswer::Deny { device: phone.id };
    assert_eq!(
        store
            .answer_approval(first, deny, noted(&[30]), NOW)
            .await
            .expect("denied"),
        AnswerOutcome::Counted
    );
    assert_eq!(
        store.cooldown_until(person.id, NOW).await.expect("read"),
        None,
        "{database:?}"
    );
    assert!(
        store
            .rule_on_approval(delivery.id, Ruling::Denied, noted(&[30]), NOW)
            .await
            .expect("ruled")
    );
    let until = store.cooldown_until(person.id, NOW).await.expect("read");
    assert_eq!(until, Some(NOW + Duration::from_secs(30)), "{database:?}");
    assert_eq!(
        asked_by(store, &person, "ada").await.1,
        RequestOutcome::Nobody
    );
}

/// A report, and a request by the user's other name at the same moment: the request comes first, and is ended; or it finds the
/// cooldown. On PostgreSQL the two are in different transactions.
#[both_databases]
async fn a_request_at_the_moment_of_a_report_reaches_no_phone_afterwards(database: Database) {
    let Fixture { store, .. } = &fixture(database).await;
    let (person, phone) = ada(store).await;
    for round in 0..20 {
        let (id, asked) = asked_by(store, &person, "ada").await;
        assert_eq!(asked, RequestOutcome::Person(person.id));
        let mut noted = noted(&[30]);
        noted.pause.0.report = Some(Duration::from_secs(30));
        let report =
            store.answer_approval(id, DeviceAnswer::NotMe { device: phone.id }, noted, NOW);
        let (reported, (other, _)) =
            tokio::join!(report, asked_by(store, &person, "ada@example.org"));
        assert_eq!(
            reported.expect("answered"),
            AnswerOutcome::Counted,
            "{database:?} {round}"
        );
        assert!(
            store
                .cooldown_until(person.id, NOW)
                .await
                .expect("read")
                .is_some(),
            "{database:?} {round}"
        );
        let pending = store.pending_approvals(person.id, NOW).await.expect("read");
        assert!(pending.is_empty(), "{database:?} {round}: {pending:?}");
        let kept = store
            .approval(other)
            .await
            .expect("read")
            .expect("an approval");
        let expected = if kept.user_id.is_some() {
            ApprovalStage::Reported
        } else {
            ApprovalStage::Requested
        };
        assert_eq!(kept.stage, expected, "{database:?} {round}");
        store
            .lift_cooldown(person.id, entry(Event::CooldownLifted), NOW)
            .await
            .expect("lifted");
    }
}
