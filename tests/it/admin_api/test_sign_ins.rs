//! Test sign-ins: an administrator tests the sign-in of an application, and other users gain nothing.

mod consent;
mod rejections;

use assent_store::sql;
use assent_test_macros::both_databases;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use assent::authenticator::enrolled::PendingRequest;
use futures_util::future::join_all;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Administrator, Caller, console_caller, service};
use crate::harness::{
    Application, Browser, Database, Json, Page, Parsed, TestHost, Text, VERIFIER, component, id,
};
use crate::lifecycle::entries;
use crate::passkeys::sign_in::{agree, permit, use_passkey};
use crate::passkeys::software::Software;
use crate::saml::service_provider::{Response, TestServiceProvider};

/// Returns an owner in the console, with an account in the application.
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
        .success()
}

/// Opens the URL of the test sign-in and enters this name. Returns the waiting page.
async fn ask(browser: &Browser, test: &Value, name: &str) -> Page {
    let mut page = browser.get(test["url"].text()).await.followed().await;
    if page.status.is_redirection() {
        page = page.followed().await;
    }
    assert!(
        page.body.contains("value=\"grace\""),
        "the form shows the name of the administrator: {}",
        page.body
    );
    page.submit_name(name).await
}

async fn decide(administrator: &Administrator, number: Option<&str>) -> PendingRequest {
    let request = administrator.device.pending_requests(5).await.remove(0);
    administrator.device.submit_decision(&request, number).await;
    request
}

/// Completes the sign-in. Returns the response that redirects to the URL of the test sign-in.
async fn approved(grace: &Administrator, browser: &Browser, test: &Value) -> Page {
    let waiting = ask(browser, test, "grace").await;
    decide(grace, Some(&waiting.number())).await;
    browser.finish(&waiting.url).await
}

fn names(test: &Value) -> Vec<(&str, bool)> {
    let steps = test["steps"].items();
    steps
        .iter()
        .map(|step| (step["name"].text(), step["succeeded"] == true))
        .collect()
}

#[both_databases]
async fn a_web_application_is_tested_by_a_real_sign_in(database: Database) {
    let host = TestHost::start_on(database).await;
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

    let returned = read(&console, &test).await;
    assert_eq!(returned["state"], "completed", "{database:?}: {returned}");
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
    assert_eq!(
        names(&returned),
        steps.map(|name| (name, true)),
        "{returned}"
    );
    let step = |name: &str| {
        let steps = returned["steps"].items();
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
    let result = &returned["result"];
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
        returned.to_string().matches("eyJ").count() <= 1,
        "no token is shown in full: {returned}"
    );
}

#[tokio::test]
async fn a_test_sign_in_can_use_a_passkey() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    let (console, grace, browser) = grace(&host, &application).await;
    let mut passkey = Software::new(&host.base);
    agree(&grace.device, &mut passkey).await;
    permit(&host, &application.id, true).await;
    let test = begin(&console, &application.id).await;
    let mut login = browser.get(test["url"].text()).await.followed().await;
    if login.status.is_redirection() {
        login = login.followed().await;
    }
    use_passkey(&browser, &login, &passkey).await;
    let done = browser.finish(&login.url).await.followed().await;
    assert_eq!(done.outcome(), "completed", "{}", done.body);
    let returned = read(&console, &test).await;
    assert_eq!(returned["state"], "completed", "{returned}");
    assert_eq!(step(&returned, "approval")["data"]["acr"], "phr");
    assert_eq!(
        step(&returned, "identification")["detail"],
        "a passkey was used on the page"
    );
}

#[both_databases]
async fn a_test_sign_in_leaves_no_session_and_no_token(database: Database) {
    let host = TestHost::start_on(database).await;
    let application = host.web_application().await;
    let (console, grace, browser) = grace(&host, &application).await;
    let test = begin(&console, &application.id).await;
    let waiting = ask(&browser, &test, "grace").await;
    decide(&grace, Some(&waiting.number())).await;
    let done = browser.finish(&waiting.url).await.followed().await;
    assert_eq!(done.outcome(), "completed", "{database:?}: {}", done.body);
    // The session of the console continues.
    console.get("/me").await.success();
    let sessions = host
        .admin_ok(
            Method::GET,
            &format!("/users/{}/sessions", id(&grace.user)),
            Value::Null,
        )
        .await;
    assert_eq!(sessions["items"].items().len(), 1, "{sessions}");
    let mut connection = host.connection().await;
    let open: (i64,) =
        sql::query_as("SELECT COUNT(*) FROM token_families WHERE revoked_at IS NULL")
            .fetch_one(&mut connection)
            .await
            .expect("counted");
    assert_eq!(open.0, 0, "{database:?}: the issued tokens are revoked");
    let returned: (i64,) = sql::query_as("SELECT COUNT(*) FROM session_applications")
        .fetch_one(&mut connection)
        .await
        .expect("counted");
    assert_eq!(
        returned.0, 0,
        "{database:?}: the application takes part in no session"
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
async fn applications_of_every_type_are_tested() {
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
        json!({"application_type": "web", "redirect_uris": ["https://bound.example/cb"],
               "tls_client_certificate_bound_access_tokens": true}),
    ];
    // Only the application has its key, so a test sign-in has no request object and no proof.
    let profiles = [
        json!({"security_profile": "fapi2"}),
        json!({"security_profile": "fapi2-message-signing", "require_signed_request_object": true}),
        json!({"security_profile": "fapi2", "dpop_bound_access_tokens": false,
               "tls_client_certificate_bound_access_tokens": true}),
    ];
    let of_profiles = profiles.into_iter().map(|changes| {
        let mut kind = json!({
            "application_type": "web", "redirect_uris": ["https://fapi.example/cb"],
            "token_endpoint_auth_method": "private_key_jwt", "jwks": key,
            "dpop_bound_access_tokens": true, "require_pushed_authorization_requests": true,
            "require_pkce": true, "id_token_signed_response_alg": "ES256",
        });
        kind.members_mut().extend(changes.members().clone());
        kind
    });
    for (number, mut kind) in kinds.into_iter().chain(of_profiles).enumerate() {
        kind["name"] = json!(format!("Kind {number}"));
        kind["scopes"] = json!(["openid", "profile", "offline_access"]);
        let (status, created) = host
            .admin(Method::POST, "/applications", kind.clone())
            .await;
        assert!(status.is_success(), "{kind}: {created}");
        let created = Application {
            id: id(&created).to_owned(),
            secret: None,
            redirect_uri: String::new(),
        };
        host.account(&grace.user, &created).await;
        let test = begin(&console, &created.id).await;
        let done = approved(&grace, &browser, &test).await.followed().await;
        let returned = read(&console, &test).await;
        assert_eq!(
            (done.outcome().as_str(), &returned["state"]),
            ("completed", &json!("completed")),
            "{kind}: {returned}"
        );
        host.advance(61);
    }
}

#[tokio::test]
async fn failures_are_results_of_the_test_sign_in() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    let (console, grace, browser) = grace(&host, &application).await;
    let test = begin(&console, &application.id).await;
    let waiting = ask(&browser, &test, "grace").await;
    decide(&grace, None).await;
    let ended = browser.get(&waiting.url).await;
    let left = ended.leave().await.followed().await;
    assert_eq!(left.outcome(), "failed");
    let returned = read(&console, &test).await;
    assert_eq!(
        (&returned["state"], &returned["result"]["error"]),
        (&json!("failed"), &json!("access_denied")),
        "{returned}"
    );
    assert!(
        names(&returned).contains(&("approval", false)),
        "{returned}"
    );

    // An administrator without an account in the application cannot begin a test. Neither can a program.
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
    let auditor = console_caller(&host, "kay", "auditor").await;
    assert_eq!(
        auditor.call(Method::POST, &path, Value::Null).await.status,
        StatusCode::FORBIDDEN
    );
}

#[tokio::test]
async fn a_test_sign_in_belongs_to_one_session_and_its_url_to_one_test_sign_in() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    let other = host.web_application().await;
    let (console, grace, browser) = grace(&host, &application).await;
    host.account(&grace.user, &other).await;
    let test = begin(&console, &application.id).await;
    let address = format!("{}/admin/test-sign-ins/{}", host.base, id(&test));
    let heidi = console_caller(&host, "heidi", "owner").await;
    let again = grace.signed_in(&host).await;
    for attacker in [&heidi, &again, &Caller::machine(&host)] {
        let answer = attacker.get(&format!("/test-sign-ins/{}", id(&test))).await;
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
    // The server redirects no other browser there, and no sign-in to another application ends there.
    for attacker in [heidis, second, &Browser::new(&host.base)] {
        assert_eq!(attacker.get(&mine).await.status, StatusCode::BAD_REQUEST);
        assert_eq!(attacker.get(&address).await.status, StatusCode::NOT_FOUND);
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
    // A forged response does not end the test.
    let forged = format!("{address}?code=ac_x&state=forged&iss={}", host.issuer());
    assert_eq!(browser.get(&forged).await.status, StatusCode::NOT_FOUND);
    assert_eq!(read(&console, &test).await["state"], "pending");

    // The application itself cannot use the code with any verifier, and the attempt does not end the test.
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
    // The same browser sees the same page for a short time.
    assert_eq!(browser.get(location.as_str()).await.outcome(), "completed");
    for attacker in [heidis, second, &Browser::new(&host.base)] {
        let page = attacker.get(location.as_str()).await;
        assert_eq!(page.status, StatusCode::NOT_FOUND);
    }
    assert_eq!(browser.get(&forged).await.status, StatusCode::NOT_FOUND);
    // A test sign-in is single use.
    host.advance(30);
    assert_eq!(
        browser.get(location.as_str()).await.status,
        StatusCode::NOT_FOUND
    );
    assert_eq!(browser.get(&mine).await.status, StatusCode::BAD_REQUEST);
    assert_eq!(
        browser.get(test["url"].text()).await.status,
        StatusCode::BAD_REQUEST
    );

    // A test sign-in expires.
    let late = begin(&console, &application.id).await;
    host.advance(15 * 60);
    assert_eq!(
        browser.get(late["url"].text()).await.status,
        StatusCode::BAD_REQUEST
    );
}

/// A user loads the last page twice, or the browser discards its first response.
#[both_databases]
async fn a_response_that_arrives_twice_has_one_outcome(database: Database) {
    let host = TestHost::start_on(database).await;
    let application = host.web_application().await;
    let (console, grace, browser) = grace(&host, &application).await;
    let test = begin(&console, &application.id).await;
    let location = approved(&grace, &browser, &test).await.location();
    let pages = join_all((0..4).map(|_| browser.get(location.as_str()))).await;
    for page in &pages {
        assert_eq!(page.outcome(), "completed", "{database:?}: {}", page.body);
    }
    assert_eq!(read(&console, &test).await["state"], "completed");
    let ended = entries(&host, "event=test-sign-in.ended").await;
    assert_eq!(ended.len(), 1, "{database:?}");
}

#[tokio::test]
async fn a_session_has_one_test_sign_in_and_few_waiting_calls() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    let (console, _grace, browser) = grace(&host, &application).await;
    let first = begin(&console, &application.id).await;
    let second = begin(&console, &application.id).await;
    let returned = read(&console, &first).await;
    assert_eq!(
        (&returned["state"], &returned["result"]["error"]),
        (&json!("failed"), &json!("replaced")),
        "{returned}"
    );
    assert_eq!(
        browser.get(first["url"].text()).await.status,
        StatusCode::BAD_REQUEST
    );
    assert_eq!(read(&console, &second).await["state"], "pending");
    assert_eq!(entries(&host, "event=test-sign-in.ended").await.len(), 1);

    let path = format!("/test-sign-ins/{}?wait=25", id(&second));
    let more = async {
        while !format!("{:?}", host.host.rate_limits.test_sign_in_waits).contains(": 2}") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // The server answers this request at once, before the two requests that wait for half a minute.
        console.get(&path).await.success()
    };
    tokio::select! {
        () = async { tokio::join!(console.get(&path), console.get(&path)); } => panic!("nothing changed"),
        returned = more => assert_eq!(returned["state"], "pending"),
    }
}

#[tokio::test]
async fn another_user_cannot_complete_a_test_sign_in_and_stays_undisclosed() {
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
    let returned = read(&console, &test).await;
    assert_eq!(
        (&returned["state"], &returned["result"]["error"]),
        (&json!("failed"), &json!("different_user")),
        "{returned}"
    );
    assert!(!returned.to_string().contains("heidi"), "{returned}");
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
async fn a_saml_application_with_required_signatures_is_tested(database: Database) {
    let host = TestHost::start_on(database).await;
    let service_provider =
        TestServiceProvider::register(&host, json!({"require_signed_requests": true})).await;
    let (console, grace, browser) = grace(&host, &service_provider.application()).await;
    let test = begin(&console, &service_provider.id).await;
    let address = format!("{}/admin/test-sign-ins/{}", host.base, id(&test));

    // An open test sign-in does not let another request omit the signature or change the response URL.
    let state = id(&test).to_owned();
    let unsigned = crate::saml::service_provider::query(
        "SAMLRequest",
        &service_provider.request(&host).xml(),
        Some(&state),
    );
    let refused = browser
        .get(&format!("{}?{unsigned}", service_provider.sign_on()))
        .await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{database:?}");
    let there = service_provider
        .request(&host)
        .with("AssertionConsumerServiceURL", &address);
    let refused = browser
        .get(&service_provider.signed_redirect(&there.xml(), Some(&state)))
        .await;
    assert_eq!(
        refused.status,
        StatusCode::BAD_REQUEST,
        "{database:?}: a request of the application itself"
    );

    let page = approved(&grace, &browser, &test).await;
    let response = Response::from_page(&page);
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
    let attacker = Browser::new(&host.base).post(&address, &fields).await;
    assert_eq!(attacker.status, StatusCode::NOT_FOUND, "{database:?}");
    // Only a response of the instance ends the test.
    let forged = [fields[0], ("RelayState", state.as_str())];
    assert_eq!(
        browser.post(&address, &forged).await.status,
        StatusCode::NOT_FOUND,
        "{database:?}"
    );
    let done = browser.post(&address, &fields).await;
    assert_eq!(done.outcome(), "completed", "{database:?}: {}", done.body);
    let returned = read(&console, &test).await;
    assert_eq!(returned["state"], "completed", "{database:?}: {returned}");
    let stored = returned["result"]["response"].text();
    assert!(stored.contains("<saml:Assertion"), "{returned}");
    assert_eq!(
        stored.matches("<ds:SignatureValue/>").count(),
        2,
        "{returned}"
    );
    assert_eq!(
        stored.matches("SignatureValue").count(),
        2,
        "no signature is usable: {returned}"
    );
    assert!(
        returned["result"]["name_id"]["value"].is_string()
            && returned["result"]["attributes"].is_array(),
        "{returned}"
    );
    let repeated = join_all((0..3).map(|_| browser.post(&address, &fields))).await;
    for page in &repeated {
        assert_eq!(page.outcome(), "completed", "{database:?}");
    }
    assert_eq!(
        browser.post(&address, &forged).await.status,
        StatusCode::NOT_FOUND,
        "{database:?}"
    );
    host.advance(30);
    assert_eq!(
        browser.post(&address, &fields).await.status,
        StatusCode::NOT_FOUND,
        "{database:?}: the response is valid once"
    );
    console.get("/me").await.success();
    let mut connection = host.connection().await;
    let part: (i64,) = sql::query_as("SELECT COUNT(*) FROM saml_participants")
        .fetch_one(&mut connection)
        .await
        .expect("counted");
    assert_eq!(
        part.0, 0,
        "{database:?}: the service provider takes part in no session"
    );
}

fn step(test: &Value, name: &str) -> Value {
    let steps = test["steps"].items();
    steps
        .iter()
        .find(|step| step["name"] == name)
        .unwrap_or_else(|| panic!("no {name}: {test}"))
        .clone()
}

fn detail(test: &Value, name: &str) -> String {
    step(test, name)["detail"].text().to_owned()
}

/// Cancels the request and submits another name. Returns the waiting page.
async fn retry_as(waiting: &Page, name: &str) -> Page {
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

#[tokio::test]
async fn the_portal_shows_the_end_of_the_session_of_a_test_sign_in() {
    let settings = "[session]\nidle_timeout = \"1h\"\nabsolute_timeout = \"8h\"";
    let host = TestHost::start_with_settings(settings).await;
    let application = host.web_application().await;
    let (console, grace, browser) = grace(&host, &application).await;
    let test = begin(&console, &application.id).await;
    approved(&grace, &browser, &test).await;

    let page = browser.get("/sessions").await;
    let mut minutes: Vec<i64> = page
        .body
        .split("<dt>Ends at the latest</dt>")
        .skip(1)
        .map(|card| {
            let (_, rest) = card.split_once("datetime=\"").expect("a time");
            let (time, _) = rest.split_once('"').expect("its end");
            let end: jiff::Timestamp = time.parsed();
            let now = jiff::Timestamp::from_millisecond(host.host.now().millis()).expect("a time");
            (end - now)
                .total(jiff::Unit::Minute)
                .expect("minutes")
                .round() as i64
        })
        .collect();
    minutes.sort_unstable();
    assert_eq!(minutes, [15, 8 * 60], "{}", page.body);
}
