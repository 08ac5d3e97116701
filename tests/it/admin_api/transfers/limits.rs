//! Limits and permissions of imports.

use super::*;
use assent_test_macros::both_databases;

use crate::harness::Json;

#[tokio::test]
async fn a_slow_upload_delays_its_sender_only() {
    let host = TestHost::start().await;
    let machine = Caller::machine(&host);
    let limits = &host.host.rate_limits;
    let mut slow = Vec::new();
    for arrived in 1..=4 {
        let sender = service(&host, &["admin:users"]).await;
        let (answer, rest) = started(&sender, None);
        wait_for_locks(&limits.uploads, arrived).await;
        let own = import(&sender, "/users/import?dry_run=true", "name\nbob\n").await;
        assert_eq!(
            (own.status, own.problem()),
            (StatusCode::TOO_MANY_REQUESTS, "too-many-requests")
        );
        assert!(
            own.body["detail"]
                .as_str()
                .is_some_and(|detail| detail.contains("of yours")),
            "{}",
            own.body
        );
        let another = import(&machine, "/users/import?dry_run=true", "name\nbob\n").await;
        if arrived < 4 {
            another.success();
        } else {
            assert_eq!(
                (another.status, another.problem()),
                (StatusCode::TOO_MANY_REQUESTS, "too-many-requests")
            );
        }
        slow.push((answer, rest));
    }
    for (number, (answer, rest)) in slow.into_iter().enumerate() {
        rest.send(Ok(["ada\n", "bob\n", "eve\n", "grace\n"][number]))
            .expect("sent");
        drop(rest);
        assert_eq!(
            counts(&answer.await.expect("an answer").success()),
            [1, 0, 0, 0]
        );
    }
    import(&machine, "/users/import", "name\nlin\n")
        .await
        .success();
}

#[tokio::test]
async fn an_import_grants_no_more_permissions_than_single_requests() {
    let host = TestHost::start().await;
    console_caller(&host, "grace", "admin").await;
    let before = users(&host).await;
    for (who, caller) in [
        ("support", console_caller(&host, "sam", "support").await),
        ("service", service(&host, &["admin:users"]).await),
    ] {
        // An import cannot change users with a console role.
        let report = import(&caller, "/users/import", "name,nickname\ngrace,Mallory\n")
            .await
            .success();
        assert_eq!(
            (counts(&report), error(&report)),
            ([0, 0, 0, 1], (2, "-")),
            "{who} {report}"
        );
        let unchanged = import(
            &caller,
            "/users/import",
            "name,email\ngrace,grace@example.org\n",
        )
        .await
        .success();
        assert_eq!(counts(&unchanged), [0, 0, 1, 0], "{who}");
    }
    assert_eq!(users(&host).await.len(), before.len() + 1);
}

#[tokio::test]
async fn an_import_by_support_changes_neither_emails_nor_accounts() {
    let host = TestHost::start().await;
    let bob = host.user("bob").await;
    let application = host.web_application().await;
    let admin = console_caller(&host, "grace", "admin").await;
    let before = users(&host).await;
    let path = format!("/applications/{}/accounts/import", application.id);
    let support = console_caller(&host, "sue", "support").await;
    for (row, column) in [
        ("bob,new@example.org,true", "email"),
        ("other,,true", "email_verified"),
    ] {
        let report = import(
            &support,
            "/users/import",
            format!("name,email,email_verified\n{row}\n"),
        )
        .await
        .success();
        assert_eq!(error(&report), (2, column), "{report}");
    }
    // Applications may identify a user by the email address, so neither a row nor a single request may change it.
    let change = json!({"email": "new@example.org"});
    let answer = support
        .call(Method::PATCH, &format!("/users/{}", id(&bob)), change)
        .await;
    assert_eq!(
        (answer.status, answer.problem()),
        (StatusCode::FORBIDDEN, "forbidden")
    );
    for row in ["bob,new@example.org", "bob,"] {
        let report = import(&support, "/users/import", format!("name,email\n{row}\n"))
            .await
            .success();
        assert_eq!(
            (counts(&report), error(&report)),
            ([0, 0, 0, 1], (2, "email")),
            "{report}"
        );
    }
    let table = "name,email,nickname\nbob,BOB@example.org,Bobby\nnova,nova@example.org,\n";
    assert_eq!(
        counts(&import(&support, "/users/import", table).await.success()),
        [1, 1, 0, 0]
    );
    let now = host
        .admin_ok(Method::GET, &format!("/users/{}", id(&bob)), Value::Null)
        .await;
    assert_eq!(
        (&now["email"], &now["profile"]["nickname"]),
        (&bob["email"], &json!("Bobby"))
    );
    let table = "name,email\nbob,new@example.org\n";
    assert_eq!(
        counts(&import(&admin, "/users/import", table).await.success()),
        [0, 1, 0, 0]
    );
    let now = host
        .admin_ok(Method::GET, &format!("/users/{}", id(&bob)), Value::Null)
        .await;
    assert_eq!(
        (&now["email"], &now["profile"]["email_verified"]),
        (&json!("new@example.org"), &json!(false))
    );
    assert_eq!(
        import(&support, &path, "user\nbob\n").await.status,
        StatusCode::FORBIDDEN
    );
    let auditor = console_caller(&host, "kay", "auditor").await;
    assert_eq!(
        import(&auditor, "/users/import", "name\nx\n").await.status,
        StatusCode::FORBIDDEN
    );
    exported(&auditor, "/users/export").await;
    let service = service(&host, &["admin:users"]).await;
    let report = import(&service, &path, "user\ngrace\n").await.success();
    assert_eq!(counts(&report), [0, 0, 0, 1], "{report}");
    assert_eq!(
        counts(
            &import(&admin, &path, "user,roles\nbob,root\n")
                .await
                .success()
        ),
        [1, 0, 0, 0]
    );
    assert_eq!(users(&host).await.len(), before.len() + 3);
}

#[both_databases]
async fn accounts_are_imported_by_each_identifier_of_a_user(database: Database) {
    let host = TestHost::start_on(database).await;
    let caller = Caller::machine(&host);
    let application = host.web_application().await;
    let (ada, bob, eve) = (
        host.user("ada").await,
        host.user("bob").await,
        host.user("eve").await,
    );
    let list = format!("/applications/{}/accounts", application.id);
    let path = format!("{list}/import");
    let table = format!(
        "user,name,roles,state\nADA,,reader editor,\nbob@example.org,robert,demo admin;x,invited\n{},,,\n",
        id(&eve)
    );
    let dry = import(&caller, &format!("{path}?dry_run=true"), table.clone())
        .await
        .success();
    assert_eq!(counts(&dry), [3, 0, 0, 0], "{dry}");
    assert_eq!(
        host.admin_ok(Method::GET, &list, Value::Null).await["items"],
        json!([])
    );
    assert_eq!(
        counts(&import(&caller, &path, table.clone()).await.success()),
        [3, 0, 0, 0]
    );
    let created = host.admin_ok(Method::GET, &list, Value::Null).await;
    let of = |user: &Value, member: &str| {
        let items = created["items"].items();
        items
            .iter()
            .find(|account| account["user_id"] == user["id"])
            .expect("an account")[member]
            .clone()
    };
    assert_eq!(
        (of(&ada, "name"), of(&ada, "roles"), of(&ada, "state")),
        (json!("ada"), json!(["reader", "editor"]), json!("active"))
    );
    assert_eq!(
        (of(&bob, "name"), of(&bob, "roles"), of(&bob, "state")),
        (
            json!("robert"),
            json!(["demo admin", "x"]),
            json!("invited")
        )
    );
    assert_eq!(of(&eve, "roles"), json!([]));
    assert_eq!(
        counts(&import(&caller, &path, table).await.success()),
        [0, 0, 3, 0],
        "{database:?}"
    );
    let changed = import(
        &caller,
        &path,
        "user,roles,state\nada,,suspended\nbob,demo admin;x,\n",
    )
    .await
    .success();
    assert_eq!(counts(&changed), [0, 1, 1, 0], "{changed}");
    let log = host
        .admin_ok(
            Method::GET,
            &format!("/audit?user={}", id(&ada)),
            Value::Null,
        )
        .await;
    assert_eq!(log["items"][0]["event"], "account.lifecycle-changed");
    assert_eq!(log["items"][1]["event"], "account.updated");
    for (row, column) in [
        ("nobody,,,", "user"),
        (",,,", "-"),
        ("ada,robert,,", "name"),
        ("ada,,,terminated", "state"),
        ("ada,,[1],", "roles"),
        ("bob,,,\nBOB,,,", "user"),
    ] {
        let report = import(&caller, &path, format!("user,name,roles,state\n{row}\n"))
            .await
            .success();
        if column == "-" {
            assert_eq!(report["rows"], 0, "a row without cells does not count");
        } else {
            assert_eq!(
                (counts(&report)[3], error(&report).1),
                (1, column),
                "{database:?} {row}: {report}"
            );
        }
    }
    let unknown = import(
        &caller,
        "/applications/did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK/accounts/import",
        "user\nada\n",
    )
    .await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
}

#[both_databases]
async fn ten_thousand_rows_are_imported(database: Database) {
    let host = TestHost::start_on(database).await;
    let caller = Caller::machine(&host);
    let application = host.web_application().await;
    let (mut users, mut accounts) = (
        String::from("name,email,display_name\n"),
        String::from("user,roles\n"),
    );
    for number in 0..10_000 {
        writeln!(
            users,
            "user{number},user{number}@example.org,Person {number}"
        )
        .expect("written");
        writeln!(accounts, "user{number},reader").expect("written");
    }
    let started = std::time::Instant::now();
    let report = import(&caller, "/users/import", users).await.success();
    assert_eq!(counts(&report), [10_000, 0, 0, 0], "{database:?}");
    let path = format!("/applications/{}/accounts", application.id);
    let report = import(&caller, &format!("{path}/import"), accounts)
        .await
        .success();
    assert_eq!(counts(&report), [10_000, 0, 0, 0], "{database:?}");
    println!(
        "{database:?}: 10,000 users and 10,000 accounts in {:.1?}",
        started.elapsed()
    );
    assert_eq!(
        exported(&caller, "/users/export").await.lines().count(),
        10_001
    );
    assert_eq!(
        exported(&caller, &format!("{path}/export"))
            .await
            .lines()
            .count(),
        10_001
    );
    let overview = host.admin_ok(Method::GET, "/overview", Value::Null).await;
    assert_eq!(overview["users"]["invited"], 10_000, "{database:?}");
    let verified = host
        .admin_ok(Method::GET, "/audit/verification", Value::Null)
        .await;
    assert_eq!(verified["valid"], true, "{verified}");
}

#[tokio::test]
async fn larger_files_are_rejected() {
    let host = TestHost::start().await;
    let caller = Caller::machine(&host);
    let answer = import(&caller, "/users/import", vec![b'x'; (12 << 20) + 1]).await;
    assert_eq!(
        (answer.status, answer.problem()),
        (StatusCode::PAYLOAD_TOO_LARGE, "too-large")
    );
}
