//! Test sign-ins that end early.

use super::*;
use assent_test_macros::both_databases;

#[both_databases]
async fn a_test_sign_in_says_why_no_phone_was_asked(database: Database) {
    let host = TestHost::start_with(HostOptions {
        database,
        ..HostOptions::default()
    })
    .await;
    let application = host.web_application().await;
    let (console, grace, browser) = grace(&host, &application).await;
    let test = begin(&console, &application.id).await;
    let waiting = ask(&browser, &test, "grace").await;
    assert_eq!(
        names(&read(&console, &test).await).last(),
        Some(&("approval_request", true)),
        "{database:?}"
    );
    decide(&grace, None).await;

    // The cooldown that begins with the second denial.
    let waiting = anew(&waiting, "grace").await;
    decide(&grace, None).await;
    let waiting = anew(&waiting, "grace").await;
    assert!(
        grace.phone.waiting(0).await.expect("requests").is_empty(),
        "{database:?}"
    );
    let told = read(&console, &test).await;
    assert_eq!(
        (&told["state"], names(&told).last()),
        (&json!("pending"), Some(&("approval_request", false))),
        "{told}"
    );
    assert!(
        detail(&told, "approval_request").contains("paused"),
        "{database:?}: {told}"
    );
    let until = step(&told, "approval_request")["data"]["cooldown_until"]
        .as_str()
        .expect("a moment")
        .to_owned();
    assert!(until.ends_with('Z'), "{until}");
    let seen = waiting.again().await;
    assert_eq!(
        seen.number(),
        waiting.number(),
        "the page goes on as for everybody"
    );
    assert!(
        !seen.body.contains(&until) && !seen.body.contains("no request went"),
        "{}",
        seen.body
    );

    // Once it is over the phone is asked.
    host.advance(61);
    let waiting = anew(&waiting, "grace").await;
    assert_eq!(
        grace.phone.waiting(5).await.expect("requests").len(),
        1,
        "{database:?}"
    );
    assert_eq!(
        names(&read(&console, &test).await).last(),
        Some(&("approval_request", true)),
        "{database:?}"
    );

    // A scan elsewhere takes nothing away from it.
    let other = Browser::new(&host.base)
        .get(&application.request(&[]))
        .await
        .followed()
        .await;
    grace
        .phone
        .scan(&crate::qr_sign_in::code(&other))
        .await
        .expect("taken");
    assert_eq!(
        grace.phone.waiting(5).await.expect("requests").len(),
        2,
        "{database:?}"
    );
    assert_eq!(
        names(&read(&console, &test).await).last(),
        Some(&("approval_request", true)),
        "{database:?}"
    );
    assert_eq!(waiting.again().await.number(), waiting.number());
}

#[tokio::test]
async fn a_test_sign_in_discloses_nothing_of_names_that_are_not_its_own() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    let (console, _grace, browser) = grace(&host, &application).await;
    let heidi = Administrator::new(&host, "heidi", "support").await;
    host.account(&heidi.user, &application).await;
    let paused = Administrator::new(&host, "paused", "support").await;
    host.account(&paused.user, &application).await;
    let login = Browser::new(&host.base)
        .get(&application.request(&[]))
        .await
        .followed()
        .await;
    login.submit(&login.path(), &[("name", "paused")]).await;
    let request = paused.phone.waiting(5).await.expect("requests").remove(0);
    paused.phone.not_me(&request).await.expect("reported");
    let mut told = BTreeSet::new();
    for name in ["heidi", "paused", "nobody"] {
        let test = begin(&console, &application.id).await;
        ask(&browser, &test, name).await;
        let shown = read(&console, &test).await;
        assert!(!shown.to_string().contains(name), "{name}: {shown}");
        let steps = shown["steps"].as_array().expect("steps").iter().skip(2);
        told.insert(
            steps
                .map(|step| format!("{} {} {}", step["name"], step["succeeded"], step["detail"]))
                .collect::<String>(),
        );
        host.advance(20);
    }
    assert_eq!(
        told.len(),
        1,
        "who has another name, or none, is told apart by nothing: {told:?}"
    );
    assert!(
        told.iter()
            .all(|one| one.contains("\"identification\" false")),
        "{told:?}"
    );
}

#[tokio::test]
async fn a_saml_test_sign_in_without_a_name_says_what_to_do() {
    let host = TestHost::start().await;
    let party = Party::register(&host, json!({})).await;
    let user = host
        .admin_ok(Method::POST, "/users", json!({"name": "grace"}))
        .await;
    let path = format!("/users/{}", id(&user));
    let user = host
        .admin_ok(Method::PATCH, &path, json!({"console_role": "owner"}))
        .await;
    let grace = Administrator {
        phone: Arc::new(host.authenticator(&user).await),
        user,
    };
    host.account(&grace.user, &party.application()).await;
    let console = grace.signed_in(&host).await;
    let Caller::Console { browser, .. } = &console else {
        panic!("a console")
    };
    let test = begin(&console, &party.id).await;
    let page = approved(&grace, browser, &test).await;
    let fields = [
        ("SAMLResponse", page.field("SAMLResponse")),
        ("RelayState", page.field("RelayState")),
    ];
    let fields: Vec<(&str, &str)> = fields
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let address = format!("{}/admin/test-sign-ins/{}", host.base, id(&test));
    assert_eq!(browser.post(&address, &fields).await.outcome(), "failed");

    let told = read(&console, &test).await;
    assert_eq!(told["state"], "failed", "{told}");
    assert_eq!(
        names(&told)[4..],
        [
            ("approval", true),
            ("account", true),
            ("name_id", false),
            ("response", false)
        ],
        "{told}"
    );
    for text in [
        detail(&told, "name_id"),
        detail(&told, "response"),
        told["result"]["error_description"]
            .as_str()
            .expect("words")
            .to_owned(),
    ] {
        assert!(
            text.contains("e-mail address") && text.contains("name_id_source"),
            "{text}"
        );
    }
    assert!(
        told["result"]["status"]
            .as_str()
            .is_some_and(|status| status.contains("status:Responder")),
        "{told}"
    );
    // The service provider is told no more than before.
    let response = told["result"]["response"].as_str().expect("a response");
    assert!(!response.contains("e-mail address"), "{response}");
}

#[tokio::test]
async fn a_test_sign_in_that_a_plugin_ends_says_so_where_it_ends() {
    let plugins = format!(
        "[[plugins.claim_mappers]]\nname = \"broken\"\nfile = \"{}\"\nwrites = []\nconfig = {{ behaviour = \"panic\" \
         }}\n",
        component("hostile-mapper").display()
    );
    let host = TestHost::start_with(HostOptions {
        plugins: &plugins,
        ..HostOptions::default()
    })
    .await;
    let application = host.web_application().await;
    let (console, grace, browser) = grace(&host, &application).await;
    let test = begin(&console, &application.id).await;
    assert_eq!(
        approved(&grace, &browser, &test)
            .await
            .followed()
            .await
            .outcome(),
        "failed"
    );
    let told = read(&console, &test).await;
    assert_eq!(names(&told).last(), Some(&("response", false)), "{told}");
    for text in [
        detail(&told, "response"),
        told["result"]["error_description"]
            .as_str()
            .expect("words")
            .to_owned(),
    ] {
        assert!(text.contains("plugin `broken`"), "{text}");
    }
}

#[tokio::test]
async fn who_may_not_try_is_told_what_to_do() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    let grace = Administrator::new(&host, "grace", "owner").await;
    let account = host.account(&grace.user, &application).await;
    let console = grace.signed_in(&host).await;
    host.admin_ok(
        Method::PATCH,
        &format!("/accounts/{}", id(&account)),
        json!({"state": "suspended"}),
    )
    .await;
    let path = format!("/applications/{}/test-sign-ins", application.id);
    let answer = console.call(Method::POST, &path, Value::Null).await;
    assert_eq!(
        (answer.status, answer.problem()),
        (StatusCode::CONFLICT, "conflict"),
        "{}",
        answer.body
    );
    let detail = answer.body["detail"].as_str().expect("words");
    assert!(
        detail.contains("suspended") && detail.contains("set its state to active"),
        "{detail}"
    );
}
