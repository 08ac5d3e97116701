//! The audit log.

use assent_test_macros::both_databases;
use std::time::Duration;

use assent::domain::audit;
use assent_model::id::UserId;
use assent_model::user::LifecycleState;
use assent_store::{AuditFilter, Retention};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{entries, events};
use crate::harness::{Browser, Database, Json, Parsed, TestHost, Text, id};
use crate::oidc::refresh::{OFFLINE, refresh, refresh_token};

#[both_databases]
async fn each_stage_of_a_sign_in_is_audited_without_secrets(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let browser = Browser::new(&host.base);
    host.advance(1);
    let waiting = ada.begin_sign_in(&browser, &[]).await;
    host.advance(1);
    let request = &ada.device.pending_requests(5).await[0];
    ada.device
        .decide(request, Some("01"))
        .await
        .expect_err("a wrong number");
    host.advance(1);
    ada.approve(&waiting).await;
    host.advance(1);
    let code = browser.finish(&waiting.url).await.parameter("code");
    host.advance(1);
    let form = [("application", ada.application.id.as_str())];
    browser
        .get("/consents")
        .await
        .submit("/consents/withdraw", &form)
        .await;
    host.advance(1);
    browser.get("/").await.submit("/sign-out", &[]).await;

    let returned = entries(&host, &format!("user={}", id(&ada.user))).await;
    let (before, sign_in) = returned.split_at(5);
    let mut before = events(before);
    // These entries have the same time, because the clock stood still.
    before.sort_unstable();
    let enrolled = [
        "account.created",
        "device.enrolled",
        "enrolment.link-created",
        "user.created",
        "user.lifecycle-changed",
    ];
    assert_eq!(before, enrolled, "{database:?}");
    assert_eq!(
        events(sign_in[..3].iter().as_slice()),
        [
            "sign-in.requested",
            "sign-in.number-match-failed",
            "sign-in.approved"
        ],
        "{database:?}"
    );
    let mut rest = events(&sign_in[3..5]);
    rest.sort_unstable();
    assert_eq!(rest, ["consent.granted", "sign-in.completed"]);
    assert_eq!(
        events(&sign_in[5..]),
        ["consent.withdrawn", "session.signed-out"],
        "{database:?}"
    );

    let requested = &sign_in[0];
    assert_eq!(
        requested["actor"],
        json!({"kind": "application", "id": ada.application.id, "name": "Books & <Co>"})
    );
    assert_eq!(
        (
            &requested["detail"]["prompted"],
            &requested["application_id"]
        ),
        (&json!(true), &json!(ada.application.id))
    );
    let personal = json!({
        "ip_address": "127.0.0.1",
        "browser": "Firefox on Linux",
        "name": "ada",
        "requested_from": "This computer",
        "requested_with": "Firefox on Linux",
    });
    assert_eq!(requested["personal"], personal);
    assert_eq!(sign_in[1]["detail"]["attempts_left"], 2);
    assert_eq!(
        sign_in[2]["actor"],
        json!({"kind": "device", "id": ada.device.device().to_string()})
    );
    let completed = sign_in[3..5]
        .iter()
        .find(|entry| entry["event"] == "sign-in.completed")
        .expect("one");
    assert_eq!(
        completed["actor"],
        json!({"kind": "user", "id": id(&ada.user), "name": "ada"})
    );
    assert_eq!(
        completed["detail"],
        json!({"new_session": true, "amr": ["swk", "user"]})
    );

    let all = format!("{returned:?}");
    assert!(!all.contains(&code), "{all}");
    for secret in ["ac_", "at_", "rt_", "se_", "en_", "am_"] {
        assert!(!all.contains(&format!("\"{secret}")), "{secret} in {all}");
    }
    assert!(!all.contains("\"number\""), "{all}");
}

#[both_databases]
async fn administrative_changes_are_audited_with_before_and_after(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let path = format!("/users/{}", id(&ada.user));
    let change =
        json!({"email": "", "console_role": "support", "profile": {"nickname": "Countess"}});
    host.admin_ok(Method::PATCH, &path, change).await;
    host.admin_ok(
        Method::PATCH,
        &path,
        json!({"profile": {"nickname": "Countess"}}),
    )
    .await;
    let about = format!("user={}", id(&ada.user));
    let changed = entries(&host, &format!("{about}&event=user.updated")).await;
    assert_eq!(
        changed.len(),
        1,
        "an update without a change is not audited: {changed:?}"
    );
    let (detail, personal) = (&changed[0]["detail"], &changed[0]["personal"]);
    assert_eq!(
        detail,
        &json!({"before": {"console_role": null}, "after": {"console_role": "support"}})
    );
    assert_eq!(
        personal["before"],
        json!({"email": "ada@example.org", "email_verified": true})
    );
    assert_eq!(
        personal["after"],
        json!({"email": null, "email_verified": false, "nickname": "Countess"})
    );
    let actor = &changed[0]["actor"];
    assert_eq!(actor["kind"], "admin_token");
    assert!(!host.token.contains(actor["id"].text()));

    let account = format!("/accounts/{}", id(&ada.account));
    host.admin_ok(
        Method::PATCH,
        &account,
        json!({"roles": ["owner"], "state": "suspended"}),
    )
    .await;
    let changed = entries(
        &host,
        &format!("application={}&event=account.updated", ada.application.id),
    )
    .await;
    let (detail, personal) = (&changed[0]["detail"], &changed[0]["personal"]);
    assert_eq!(detail, &json!({"account": id(&ada.account)}));
    assert_eq!(
        personal["before"],
        json!({"roles": ["reader", "editor"]}),
        "roles are personal data"
    );
    assert_eq!(personal["after"], json!({"roles": ["owner"]}));
    let changed = entries(&host, &format!("{about}&event=account.lifecycle-changed")).await;
    assert_eq!(
        (
            &changed[0]["detail"]["before"],
            &changed[0]["detail"]["after"]
        ),
        (&json!("active"), &json!("suspended"))
    );

    host.admin_ok(Method::DELETE, &account, Value::Null).await;
    host.admin_ok(
        Method::DELETE,
        &format!("/devices/{}", ada.device.device()),
        Value::Null,
    )
    .await;
    assert_eq!(
        entries(&host, &format!("{about}&event=account.deleted"))
            .await
            .len(),
        1
    );
    assert_eq!(
        entries(&host, &format!("{about}&event=device.revoked"))
            .await
            .len(),
        1
    );
    host.advance(1);
    host.admin_ok(Method::DELETE, &path, Value::Null).await;
    let left = entries(&host, &about).await;
    assert!(
        left.len() > 8
            && left
                .last()
                .is_some_and(|last| last["event"] == "user.deleted"),
        "{left:?}"
    );
    let (last, erased) = left.split_last().expect("entries");
    assert!(last["personal"]["ip_address"].is_string());
    assert!(
        erased.iter().all(|entry| entry["personal"] == json!({})),
        "{left:?}"
    );
}

#[both_databases]
async fn refresh_token_reuse_is_audited_once(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let code = ada.sign_in_with(&Browser::new(&host.base), &OFFLINE).await;
    let (_, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    let token = refresh_token(&tokens);
    assert_eq!(
        refresh(&host.base, &ada.application, token, &[]).await.0,
        StatusCode::OK
    );
    assert_eq!(
        entries(&host, "event=refresh-token.reused").await,
        [] as [Value; 0]
    );
    host.advance(60);
    for _ in 0..3 {
        assert_eq!(
            refresh(&host.base, &ada.application, token, &[]).await.1["error"],
            "invalid_grant"
        );
    }
    let returned = entries(&host, "event=refresh-token.reused").await;
    assert_eq!(returned.len(), 1, "{database:?}: {returned:?}");
    assert_eq!(
        (&returned[0]["user_id"], &returned[0]["actor"]["kind"]),
        (&json!(id(&ada.user)), &json!("application"))
    );
}

#[tokio::test]
async fn unknown_names_leave_no_audit_entries() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    for name in ["nobody", "ada"] {
        let browser = Browser::new(&host.base);
        let login = ada.application.login_page(&browser, &[]).await;
        login.submit(&login.path(), &[("name", name)]).await;
    }
    let requested = entries(&host, "event=sign-in.requested").await;
    assert_eq!(requested.len(), 1);
    assert_eq!(requested[0]["user_id"], id(&ada.user));
}

#[both_databases]
async fn the_audit_log_is_paged_latest_first(database: Database) {
    let host = TestHost::start_on(database).await;
    let mut created = Vec::new();
    for name in ["a", "b", "c", "d", "e"] {
        created.push(id(&host.user(name).await).to_owned());
        host.advance(1);
    }
    created.reverse();
    let mut seen = Vec::new();
    let mut after = String::new();
    loop {
        let page = host
            .admin_ok(
                Method::GET,
                &format!("/audit?event=user.created&limit=2{after}"),
                Value::Null,
            )
            .await;
        let items = page["items"].items();
        assert!(items.len() <= 2);
        seen.extend(items.iter().map(|entry| entry["user_id"].text().to_owned()));
        let Some(next) = page["next"].as_str() else {
            break;
        };
        after = format!("&after={next}");
    }
    assert_eq!(seen, created, "{database:?}");
    let user: UserId = created[0].parsed();
    let own = audit::of_user(&host.host, user, None, 10)
        .await
        .expect("read");
    assert_eq!((own.len(), own[0].user), (1, Some(user)));
    for (query, status) in [
        ("event=nonsense", StatusCode::UNPROCESSABLE_ENTITY),
        ("after=nonsense", StatusCode::UNPROCESSABLE_ENTITY),
        ("limit=201", StatusCode::UNPROCESSABLE_ENTITY),
        ("user=nonsense", StatusCode::NOT_FOUND),
        ("unknown=1", StatusCode::BAD_REQUEST),
    ] {
        assert_eq!(
            host.admin(Method::GET, &format!("/audit?{query}"), Value::Null)
                .await
                .0,
            status,
            "{query}"
        );
    }
}

#[both_databases]
async fn audit_entries_expire_and_invited_users_do_not(database: Database) {
    let host = TestHost::start_on_with(database, "[audit]\nretention = \"30d\"").await;
    let ada = host.user("ada").await;
    let day = Duration::from_secs(86_400);
    let retention = Retention {
        logins: day,
        sessions: day,
        enrolments: day,
        admin_tokens: day * 1000,
        traces: day,
        receipts: day,
        audit: day * 30,
        streams: &[],
        denials: day * 30,
    };
    let store = &host.host.store;
    let left = async |days: u32| {
        store
            .apply_retention(retention, host.host.now() + day * days)
            .await
            .expect("swept");
        store
            .audit_entries(&AuditFilter::default(), None, 10)
            .await
            .expect("read")
            .len()
    };
    assert_eq!(left(29).await, 2, "{database:?}");
    // On PostgreSQL, retention drops a partition of one week at once.
    let expired = if database == Database::Postgres {
        38
    } else {
        31
    };
    assert_eq!(left(expired).await, 0, "{database:?}");
    left(3000).await;
    let stored = store.user(id(&ada).parsed()).await.expect("read");
    assert_eq!(
        stored.map(|user| user.state),
        Some(LifecycleState::Invited),
        "{database:?}"
    );
}
