//! Test sign-ins: an administrator tests the sign-in of an application, and nobody else gains anything by it.

mod refusals;

use assent_store::sql;
use assent_test_macros::both_databases;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use assent::authenticator::Request;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Administrator, Caller, person, service};
use crate::harness::{
    Application, Browser, Database, HostOptions, Page, TestHost, VERIFIER, component, id,
};
use crate::life::entries;
use crate::saml::party::{Party, Response};

/// An owner in the console, with an account in the application.
async fn grace(host: &TestHost, application: &Application) -> (Caller, Administrator, Browser) {
    let grace = Administrator::new(host, "grace", "owner").await;
    host.account(&grace.user, application).await;
    let caller = grace.signed_in(host).await;
    let Caller::Console { browser, .. } = &caller else {
        panic!("a console")
    };
    let browser = browser.clone();
    (caller, grace, browser)
}

async fn begin(caller: &Caller, application: &str) -> Value {
    let answer = caller
        .call(
            Method::POST,
            &format!("/applications/{application}/test-sign-ins"),
            Value::Null,
        )
        .await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.body);
    answer.body
}

async fn read(caller: &Caller, test: &Value) -> Value {
    caller
        .get(&format!("/test-sign-ins/{}", id(test)))
        .await
        .good()
}

/// Opens the test sign-in's address and says this name; the waiting page.
async fn ask(browser: &Browser, test: &Value, name: &str) -> Page {
    let mut page = browser
        .get(test["url"].as_str().expect("an address"))
        .await
        .followed()
        .await;
    if page.status.is_redirection() {
        page = page.followed().await;
    }
    assert!(
        page.body.contains("value=\"grace\""),
        "the name of who began it stands there: {}",
        page.body
    );
    page.submit(&page.path(), &[("name", name)])
        .await
        .followed()
        .await
}

async fn decide(administrator: &Administrator, number: Option<&str>) -> Request {
    let request = administrator
        .phone
        .waiting(5)
        .await
        .expect("requests")
        .remove(0);
    administrator
        .phone
        .decide(&request, number)
        .await
        .expect("an outcome");
    request
}

/// Goes through the sign-in, to the answer that goes to the test sign-in's address.
async fn approved(grace: &Administrator, browser: &Browser, test: &Value) -> Page {
    let waiting = ask(browser, test, "grace").await;
    decide(grace, Some(&waiting.number())).await;
    browser.finish(&waiting.url).await
}

fn names(test: &Value) -> Vec<(&str, bool)> {
    let steps = test["steps"].as_array().expect("steps");
    steps
        .iter()
        .map(|step| {
            (
                step["name"].as_str().expect("a name"),
                step["succeeded"] == true,
            )
        })
        .collect()
}

#[both_databases]
async fn a_web_application_is_tried_by_a_real_login(database: Database) {
    let host = TestHost::start_with(HostOptions {
        database,
        ..HostOptions::default()
    })
    .await;
    let application = host.web_application().await;
    let (console, grace, browser) = grace(&host, &application).await;
    let test = begin(&console, &application.id).await;
    assert_eq!(
        names(&read(&console, &test).await),
        [("request", true)],
        "{database:?}"
    );

    let waiting = ask(&browser, &test, "grace").await;
    let under_way = read(&console, &test).await;
    assert_eq!(under_way["state"], "pending");
    assert_eq!(
        names(&under_way).last(),
        Some(&("approval_request", true)),
        "{under_way}"
    );
    let request = decide(&grace, Some(&waiting.number())).await;
    assert!(
        request.application.name.ends_with("(test sign-in)"),
        "{}",
        request.application.name
    );
    let answer = browser.finish(&waiting.url).await;
    assert!(
        answer.headers.get("set-cookie").is_none(),
        "no browser receives the session of the test sign-in"
    );
    let done = answer.followed().await;
    assert!(
        done.status == StatusCode::OK && done.outcome() == "completed",
        "{database:?}: {}",
        done.body
    );

    let told = read(&console, &test).await;
    assert_eq!(told["state"], "completed", "{database:?}: {told}");
    let steps = [
        "request",
        "validation",
        "identification",
        "approval_request",
        "approval",
        "account",
        "consent",
        "claims",
        "response",
        "token_exchange",
        "userinfo",
    ];
    assert_eq!(names(&told), steps.map(|name| (name, true)), "{told}");
    let step = |name: &str| {
        let steps = told["steps"].as_array().expect("steps");
        steps
            .iter()
            .find(|step| step["name"] == name)
            .expect("a step")
            .clone()
    };
    assert_eq!(step("approval")["data"]["amr"], json!(["swk", "user"]));
    assert_eq!(
        step("claims")["data"]["calls"][0]["plugin"],
        "account-roles"
    );
    let result = &told["result"];
    assert_eq!(result["protocol"], "openid_connect");
    assert_eq!(result["id_token"]["claims"]["aud"], application.id);
    assert_eq!(
        result["id_token"]["claims"]["sub"],
        result["userinfo"]["sub"]
    );
    for token in ["access_token", "id_token"] {
        assert!(
            result["token_response"][token]
                .as_str()
                .is_some_and(|text| text.chars().count() == 9),
            "{result}"
        );
    }
    assert!(
        told.to_string().matches("eyJ").count() <= 1,
        "no token is shown whole: {told}"
    );

    // The console goes on, and nothing is left of the test sign-in.
    console.get("/me").await.good();
    let sessions = host
        .admin_ok(
            Method::GET,
            &format!("/users/{}/sessions", id(&grace.user)),
            Value::Null,
        )
        .await;
    assert_eq!(
        sessions["items"].as_array().expect("sessions").len(),
        1,
        "{sessions}"
    );
    let mut connection = host.connection().await;
    let open: (i64,) = sql::query_as("SELECT COUNT(*) FROM codes WHERE revoked_at IS NULL")
        .fetch_one(&mut connection)
        .await
        .expect("counted");
    assert_eq!(open.0, 0, "{database:?}: what it gave is revoked");
    let told: (i64,) = sql::query_as("SELECT COUNT(*) FROM session_applications")
        .fetch_one(&mut connection)
        .await
        .expect("counted");
    assert_eq!(
        told.0, 0,
        "{database:?}: the application takes part in nothing"
    );
    for event in ["test-sign-in.started", "test-sign-in.ended"] {
        assert_eq!(
            entries(&host, &format!("event={event}")).await.len(),
            1,
            "{database:?}: {event}"
        );
    }
    host.advance(15 * 60);
    let over = console.get(&format!("/test-sign-ins/{}", id(&test))).await;
    assert!(
        over.status != StatusCode::OK
            || (over.body["state"] == "expired" && over.body.get("result").is_none())
    );
}

#[tokio::test]
async fn applications_of_every_kind_are_tried() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    let (console, grace, browser) = grace(&host, &application).await;
    let key = json!({"keys": [{"kty": "EC", "crv": "P-256", "kid": "k",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]});
    let kinds = [
        json!({"application_type": "spa", "redirect_uris": ["https://spa.example/cb"]}),
        json!({"application_type": "native", "redirect_uris": ["com.example.app://cb"]}),
        json!({"application_type": "web", "redirect_uris": ["https://jwt.example/cb"],
               "token_endpoint_auth_method": "private_key_jwt", "jwks": key}),
        json!({"application_type": "web", "redirect_uris": ["https://pair.example/cb"], "subject_type": "pairwise"}),
    ];
    for (number, mut kind) in kinds.into_iter().enumerate() {
        kind["name"] = json!(format!("Kind {number}"));
        kind["scopes"] = json!(["openid", "profile", "offline_access"]);
        let (status, made) = host
            .admin(Method::POST, "/applications", kind.clone())
            .await;
        assert!(status.is_success(), "{kind}: {made}");
        let made = Application {
            id: id(&made).to_owned(),
            secret: None,
            redirect_uri: String::new(),
        };
        host.account(&grace.user, &made).await;
        let test = begin(&console, &made.id).await;
        let done = approved(&grace, &browser, &test).await.followed().await;
        let told = read(&console, &test).await;
        assert_eq!(
            (done.outcome().as_str(), &told["state"]),
            ("completed", &json!("completed")),
            "{kind}: {told}"
        );
        host.advance(61);
    }
}

#[tokio::test]
async fn what_goes_wrong_is_a_result() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    let (console, grace, browser) = grace(&host, &application).await;
    let test = begin(&console, &application.id).await;
    let waiting = ask(&browser, &test, "grace").await;
    decide(&grace, None).await;
    let ended = browser.get(&waiting.url).await;
    let left = ended
        .submit(&format!("{}/leave", ended.path()), &[])
        .await
        .followed()
        .await;
    assert_eq!(left.outcome(), "failed");
    let told = read(&console, &test).await;
    assert_eq!(
        (&told["state"], &told["result"]["error"]),
        (&json!("failed"), &json!("access_denied")),
        "{told}"
    );
    assert!(names(&told).contains(&("approval", false)), "{told}");

    // Whoever has no account there, or a machine, can't begin.
    let other = host.web_application().await;
    let path = format!("/applications/{}/test-sign-ins", other.id);
    for caller in [
        &console,
        &Caller::machine(&host),
        &service(&host, &["admin:applications"]).await,
    ] {
        let answer = caller.call(Method::POST, &path, Value::Null).await;
        assert_eq!(
            (answer.status, answer.problem()),
            (StatusCode::CONFLICT, "conflict"),
            "{}",
            answer.body
        );
    }
    let auditor = person(&host, "kay", "auditor").await;
    assert_eq!(
        auditor.call(Method::POST, &path, Value::Null).await.status,
        StatusCode::FORBIDDEN
    );
}

#[tokio::test]
async fn a_test_sign_in_is_of_one_session_and_its_address_of_one_test_sign_in() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    let other = host.web_application().await;
    let (console, grace, browser) = grace(&host, &application).await;
    host.account(&grace.user, &other).await;
    let test = begin(&console, &application.id).await;
    let address = format!("{}/admin/test-sign-ins/{}", host.base, id(&test));
    let heidi = person(&host, "heidi", "owner").await;
    let again = grace.signed_in(&host).await;
    for stranger in [&heidi, &again, &Caller::machine(&host)] {
        let answer = stranger.get(&format!("/test-sign-ins/{}", id(&test))).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{}", answer.body);
    }
    let (
        Caller::Console {
            browser: heidis, ..
        },
        Caller::Console {
            browser: second, ..
        },
    ) = (&heidi, &again)
    else {
        panic!("consoles")
    };
    let mine = application.request(&[("redirect_uri", Some(&address))]);
    // Nobody else's browser is sent there, and no other application's sign-in ends there.
    for stranger in [heidis, second, &Browser::new(&host.base)] {
        assert_eq!(stranger.get(&mine).await.status, StatusCode::BAD_REQUEST);
        assert_eq!(stranger.get(&address).await.status, StatusCode::NOT_FOUND);
    }
    assert_eq!(
        browser
            .get(&other.request(&[("redirect_uri", Some(&address))]))
            .await
            .status,
        StatusCode::BAD_REQUEST
    );
    for wrong in [
        format!("{address}/"),
        format!("{address}?x=1"),
        address.replace("/admin/", "/Admin/"),
    ] {
        let path = application.request(&[("redirect_uri", Some(&wrong))]);
        assert_eq!(
            browser.get(&path).await.status,
            StatusCode::BAD_REQUEST,
            "{wrong}"
        );
    }
    // A forged answer ends nothing.
    let forged = format!("{address}?code=ac_x&state=forged&iss={}", host.issuer());
    assert_eq!(browser.get(&forged).await.status, StatusCode::NOT_FOUND);
    assert_eq!(read(&console, &test).await["state"], "pending");

    // Its code is of no use to the application itself, whatever it shows, and that ends nothing.
    let answer = approved(&grace, &browser, &test).await;
    let code = answer.parameter("code");
    for verifier in [Some(VERIFIER), None] {
        let changes = [
            ("redirect_uri", Some(address.as_str())),
            ("code_verifier", verifier),
        ];
        let (status, refused) = application.exchange(&host.base, &code, &changes).await;
        assert_eq!(
            (status, &refused["error"]),
            (StatusCode::BAD_REQUEST, &json!("invalid_grant")),
            "{refused}"
        );
    }
    let location = answer.location();
    assert_eq!(answer.followed().await.outcome(), "completed");
    // Used once.
    assert_eq!(
        browser.get(location.as_str()).await.status,
        StatusCode::NOT_FOUND
    );
    assert_eq!(browser.get(&mine).await.status, StatusCode::BAD_REQUEST);
    assert_eq!(
        browser
            .get(test["url"].as_str().expect("an address"))
            .await
            .status,
        StatusCode::BAD_REQUEST
    );

    // Over by time.
    let late = begin(&console, &application.id).await;
    host.advance(15 * 60);
    assert_eq!(
        browser
            .get(late["url"].as_str().expect("an address"))
            .await
            .status,
        StatusCode::BAD_REQUEST
    );
}

#[tokio::test]
async fn a_session_has_one_test_sign_in_and_few_calls_that_wait() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    let (console, _grace, browser) = grace(&host, &application).await;
    let first = begin(&console, &application.id).await;
    let second = begin(&console, &application.id).await;
    let told = read(&console, &first).await;
    assert_eq!(
        (&told["state"], &told["result"]["error"]),
        (&json!("failed"), &json!("replaced")),
        "{told}"
    );
    assert_eq!(
        browser
            .get(first["url"].as_str().expect("an address"))
            .await
            .status,
        StatusCode::BAD_REQUEST
    );
    assert_eq!(read(&console, &second).await["state"], "pending");
    assert_eq!(entries(&host, "event=test-sign-in.ended").await.len(), 1);

    let path = format!("/test-sign-ins/{}?wait=25", id(&second));
    let more = async {
        while !format!("{:?}", host.host.rate_limits.test_sign_in_waits).contains(": 2}") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // Answered at once, so before the two that wait for half a minute.
        console.get(&path).await.good()
    };
    tokio::select! {
        () = async { tokio::join!(console.get(&path), console.get(&path)); } => panic!("nothing changed"),
        told = more => assert_eq!(told["state"], "pending"),
    }
}

#[tokio::test]
async fn somebody_else_can_not_complete_it_and_nothing_of_theirs_is_shown() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    let (console, _grace, browser) = grace(&host, &application).await;
    let heidi = Administrator::new(&host, "heidi", "support").await;
    host.account(&heidi.user, &application).await;
    let test = begin(&console, &application.id).await;
    let waiting = ask(&browser, &test, "heidi").await;
    decide(&heidi, Some(&waiting.number())).await;
    let refused = browser.finish(&waiting.url).await;
    assert!(
        refused.status == StatusCode::OK && refused.body.contains("data-outcome"),
        "{}",
        refused.body
    );
    let told = read(&console, &test).await;
    assert_eq!(
        (&told["state"], &told["result"]["error"]),
        (&json!("failed"), &json!("somebody_else")),
        "{told}"
    );
    assert!(!told.to_string().contains("heidi"), "{told}");
    let sessions = host
        .admin_ok(
            Method::GET,
            &format!("/users/{}/sessions", id(&heidi.user)),
            Value::Null,
        )
        .await;
    assert_eq!(sessions["items"], json!([]));
}

#[both_databases]
async fn a_saml_application_is_tried_whose_requests_must_be_signed(database: Database) {
    let host = TestHost::start_with(HostOptions {
        database,
        ..HostOptions::default()
    })
    .await;
    let party = Party::register(&host, json!({"require_signed_requests": true})).await;
    let (console, grace, browser) = grace(&host, &party.application()).await;
    let test = begin(&console, &party.id).await;
    let address = format!("{}/admin/test-sign-ins/{}", host.base, id(&test));

    // An open test sign-in lets no other request go without a signature, and none be answered elsewhere.
    let state = id(&test).to_owned();
    let unsigned =
        crate::saml::party::query("SAMLRequest", &party.request(&host).xml(), Some(&state));
    let refused = browser
        .get(&format!("{}?{unsigned}", party.sign_on()))
        .await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{database:?}");
    let there = party
        .request(&host)
        .with("AssertionConsumerServiceURL", &address);
    let refused = browser
        .get(&party.signed_redirect(&there.xml(), Some(&state)))
        .await;
    assert_eq!(
        refused.status,
        StatusCode::BAD_REQUEST,
        "{database:?}: a request of the application itself"
    );

    let page = approved(&grace, &browser, &test).await;
    let response = Response::of(&page);
    assert_eq!(
        response.attribute("SubjectConfirmationData", "Recipient"),
        address,
        "{database:?}"
    );
    let fields = [
        ("SAMLResponse", page.field("SAMLResponse")),
        ("RelayState", page.field("RelayState")),
    ];
    let fields: Vec<(&str, &str)> = fields
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let stranger = Browser::new(&host.base).post(&address, &fields).await;
    assert_eq!(stranger.status, StatusCode::NOT_FOUND, "{database:?}");
    // Only what the host made ends it.
    let forged = [fields[0], ("RelayState", state.as_str())];
    assert_eq!(
        browser.post(&address, &forged).await.status,
        StatusCode::NOT_FOUND,
        "{database:?}"
    );
    let done = browser.post(&address, &fields).await;
    assert_eq!(done.outcome(), "completed", "{database:?}: {}", done.body);
    let told = read(&console, &test).await;
    assert_eq!(told["state"], "completed", "{database:?}: {told}");
    let kept = told["result"]["response"].as_str().expect("a response");
    assert!(kept.contains("<saml:Assertion"), "{told}");
    assert_eq!(kept.matches("<ds:SignatureValue/>").count(), 2, "{told}");
    assert_eq!(
        kept.matches("SignatureValue").count(),
        2,
        "no signature is of use: {told}"
    );
    assert!(
        told["result"]["name_id"]["value"].is_string() && told["result"]["attributes"].is_array(),
        "{told}"
    );
    assert_eq!(
        browser.post(&address, &fields).await.status,
        StatusCode::NOT_FOUND,
        "{database:?}: used once"
    );
    console.get("/me").await.good();
    let mut connection = host.connection().await;
    let part: (i64,) = sql::query_as("SELECT COUNT(*) FROM saml_participants")
        .fetch_one(&mut connection)
        .await
        .expect("counted");
    assert_eq!(part.0, 0, "{database:?}: it takes part in no session");
}

fn step(test: &Value, name: &str) -> Value {
    let steps = test["steps"].as_array().expect("steps");
    steps
        .iter()
        .find(|step| step["name"] == name)
        .unwrap_or_else(|| panic!("no {name}: {test}"))
        .clone()
}

fn detail(test: &Value, name: &str) -> String {
    step(test, name)["detail"]
        .as_str()
        .expect("a sentence")
        .to_owned()
}

/// Gives up waiting and says a name anew; the waiting page.
async fn anew(waiting: &Page, name: &str) -> Page {
    let path = waiting.path();
    let ended = match waiting.again().await {
        page if page.body.contains(&format!("{path}/cancel")) => {
            page.submit(&format!("{path}/cancel"), &[])
                .await
                .followed()
                .await
        }
        page => page,
    };
    let login = ended
        .submit(&format!("{path}/again"), &[])
        .await
        .followed()
        .await;
    login
        .submit(&path, &[("name", name)])
        .await
        .followed()
        .await
}
