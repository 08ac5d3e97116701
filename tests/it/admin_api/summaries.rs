//! The summaries of protected actions: the device shows each relevant part of the action, and no text that imitates
//! such a part.

use assent::domain::admin::{ClientChange, ServiceProviderChange};
use assent_model::command::{Change, MemberClass};
use openssl::pkey::PKey;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::protected_actions::{number, owner, refused, requested, waiting};
use super::{Caller, console_caller};
use crate::channels::vendor::Vendor;
use crate::harness::{
    EncodedCertificate, EncodedKey, Json, TestHost, Text, certificate, id, parse_json, plugins,
    rsa_key,
};

/// serde accepts the value of an enumeration written as a JSON object. The API must reject it.
#[tokio::test]
async fn enum_values_written_as_objects_are_rejected_before_approval() {
    let host = TestHost::start().await;
    let (console, grace) = owner(&host).await;
    let bob = host.user("bob").await;
    let application = host.web_application().await;
    let user = format!("/users/{}", id(&bob));
    let account = format!("/accounts/{}", id(&host.account(&bob, &application).await));
    let client = format!("/applications/{}", application.id);
    let acs = json!([{"url": "https://wiki.example/acs"}]);
    let provider = json!({"protocol": "saml", "name": "Wiki", "entity_id": "https://wiki.example", "acs": acs});
    let provider = format!(
        "/applications/{}",
        id(&host.admin_ok(Method::POST, "/applications", provider).await)
    );
    for (path, body) in [
        (&user, json!({"state": {"terminated": null}})),
        (&user, json!({"console_role": {"owner": null}})),
        (&account, json!({"state": {"terminated": null}})),
        (&client, json!({"admin_scopes": [{"admin:users": null}]})),
        (&client, json!({"consent": {"implied": null}})),
        (
            &client,
            json!({"grant_types": [{"client_credentials": null}]}),
        ),
        (&provider, json!({"name_id_source": {"account_name": null}})),
        (
            &provider,
            json!({"acs": [["https://evil.example/acs", 0, true]]}),
        ),
        (
            &provider,
            json!({"acs": [{"url": ["https://evil.example/acs"]}]}),
        ),
    ] {
        let answer = console.call_once(Method::PATCH, path, &body, None).await;
        // The API reports a value of the wrong JSON type as malformed.
        let is_read = body["acs"][0]["url"].is_null();
        let expected = match is_read {
            true => StatusCode::UNPROCESSABLE_ENTITY,
            false => StatusCode::BAD_REQUEST,
        };
        assert_eq!(answer.status, expected, "{body}: {}", answer.body);
    }
    assert!(grace.device.pending_requests(0).await.is_empty());
    let now = host.admin_ok(Method::GET, &user, Value::Null).await;
    assert_eq!(
        (&now["state"], &now["console_role"]),
        (&bob["state"], &Value::Null)
    );
}

/// The summary shows new redirect URIs, whatever other members the request has.
#[tokio::test]
async fn the_summary_shows_new_addresses_first() {
    let host = TestHost::start().await;
    let (console, _) = owner(&host).await;
    let application = host.web_application().await;
    let client = format!("/applications/{}", application.id);
    let known: Vec<String> = (0..6)
        .map(|number| format!("https://a.example.org/{number}/{}", "x".repeat(100)))
        .collect();
    host.admin_ok(Method::PATCH, &client, json!({"redirect_uris": known}))
        .await;
    let mut all = known.clone();
    all.push("https://evil.example/steal".to_owned());
    let action = requested(
        &console,
        Method::PATCH,
        &client,
        &json!({"redirect_uris": all}),
    )
    .await;
    let returned = action["summary"].text();
    assert!(
        returned.contains("Addresses for responses, new: https://evil.example/steal; unchanged: "),
        "{returned}"
    );
    assert!(returned.ends_with(&known.join(", ")), "{returned}");
    // Many unchanged addresses are only counted.
    let long = |host: &str, count: usize| -> Vec<String> {
        let address =
            |number: usize| format!("https://{host}.example.org/{number}/{}", "x".repeat(100));
        (0..count).map(address).collect()
    };
    let mut all = long("a", 30);
    host.admin_ok(Method::PATCH, &client, json!({"redirect_uris": all}))
        .await;
    all.push("https://evil.example/steal".to_owned());
    let action = requested(
        &console,
        Method::PATCH,
        &client,
        &json!({"redirect_uris": all}),
    )
    .await;
    let returned = action["summary"].text();
    let counted =
        "Addresses for responses, new: https://evil.example/steal; unchanged: 30 addresses";
    assert!(returned.ends_with(counted), "{returned}");
    // No new address is hidden: too many of them are rejected.
    let many = json!({"redirect_uris": long("b", 40)});
    let answer = console.call_once(Method::PATCH, &client, &many, None).await;
    assert_eq!(answer.status, StatusCode::CONFLICT, "{}", answer.body);
    assert!(
        answer.body.to_string().contains("divide the request"),
        "{}",
        answer.body
    );
    // The summary shows the end of a long host name, because the end identifies its owner.
    let far = format!(
        "https://login.a.example.org.{}.evil.example/",
        ["x".repeat(50), "y".repeat(50)].join(".")
    );
    let action = requested(
        &console,
        Method::PATCH,
        &client,
        &json!({"redirect_uris": [far]}),
    )
    .await;
    assert!(
        action["summary"]
            .as_str()
            .is_some_and(|returned| returned.contains(&far)),
        "{action}"
    );
}

/// No key or certificate hides another one, and the summary shows only the keys that take effect.
#[tokio::test]
async fn the_summary_shows_each_key_of_an_application() {
    let host = TestHost::start().await;
    let (console, grace) = owner(&host).await;
    let client = format!("/applications/{}", host.web_application().await.id);
    let keys: Vec<Value> = (0..12).map(|_| ec_key()).collect();
    let thumbprint = |key: &Value| assent::keys::client::thumbprint_text(key.members());
    let method = |jwks: &[Value]| json!({"token_endpoint_auth_method": "private_key_jwt", "jwks": {"keys": jwks}});
    let mut known = keys[..11].to_vec();
    host.admin_ok(Method::PATCH, &client, method(&known)).await;
    known.extend([keys[0].clone(), keys[11].clone()]);
    let action = requested(&console, Method::PATCH, &client, &method(&known)).await;
    let returned = action["summary"].text();
    let new = format!(
        "It authenticates with the key with the thumbprint {}; as before with the key with the thumbprint ",
        thumbprint(&keys[11])
    );
    assert!(
        returned.contains(&new) && keys.iter().all(|key| returned.contains(&thumbprint(key))),
        "{returned}"
    );
    // A public key in the member for a certificate.
    let own = rsa_key();
    let key = own.public_pem();
    let body = json!({"token_endpoint_auth_method": "private_key_jwt", "certificate": key});
    let answer = console.call_once(Method::PATCH, &client, &body, None).await;
    assert_eq!(
        answer.status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "{}",
        answer.body
    );
    let wiki = json!({"protocol": "saml", "name": "Wiki", "entity_id": "https://wiki.example/saml",
                      "acs": [{"url": "https://wiki.example/acs"}]});
    let wiki = format!(
        "/applications/{}",
        id(&host.admin_ok(Method::POST, "/applications", wiki).await)
    );
    let pem = certificate(&own).pem();
    let digest = hex::encode(openssl::sha::sha256(
        &certificate(&own).to_der().expect("DER"),
    ));
    host.advance(60);
    let action = requested(
        &console,
        Method::PATCH,
        &wiki,
        &json!({"certificates": [pem, pem]}),
    )
    .await;
    let words = format!(
        "Change the application “Wiki”: certificates. It authenticates with the certificate with the SHA-256 digest \
         {digest}"
    );
    assert_eq!(action["summary"], words);
    let attributes = json!([{"name": "mail", "values": ["boss@example.org", "{email}"]}]);
    let action = requested(
        &console,
        Method::PATCH,
        &wiki,
        &json!({ "custom_attributes": attributes }),
    )
    .await;
    let words = "Change the application “Wiki”: custom attributes. It receives “boss@example.org”, “{email}” as “mail”";
    assert_eq!(action["summary"], words);
    for (change, words) in [
        (
            json!({"single_logout": {"url": "https://evil.example/slo", "binding": "redirect"}}),
            "single logout. It is notified of the end of sessions, with the name of the user, at \
             https://evil.example/slo by HTTP-Redirect",
        ),
        (
            json!({"default_relay_state": "https://evil.example/"}),
            "default_relay_state “https://evil.example/”",
        ),
        (
            json!({"relay_states": ["https://evil.example/"]}),
            "relay_states (“https://evil.example/”)",
        ),
    ] {
        host.advance(10);
        let action = requested(&console, Method::PATCH, &wiki, &change).await;
        assert_eq!(
            action["summary"],
            format!("Change the application “Wiki”: {words}")
        );
    }
    // A name that imitates the text of a summary.
    let name = "Wiki”. It authenticates with the key “abc";
    let action = requested(&console, Method::PATCH, &wiki, &json!({ "name": name })).await;
    assert_eq!(
        action["summary"],
        "Change the application “Wiki”: name. Its name is “Wiki. It authenticates with the key abc”"
    );
    assert_eq!(
        waiting(&grace.device).await.action.as_deref(),
        action["summary"].as_str()
    );
}

/// Returns a public key as a member of a key set.
fn ec_key() -> Value {
    let group = openssl::ec::EcGroup::from_curve_name(openssl::nid::Nid::X9_62_PRIME256V1)
        .expect("a curve");
    let key = openssl::ec::EcKey::generate(&group).expect("a key");
    let pem = PKey::from_ec_key(key)
        .expect("a key")
        .public_key_to_pem()
        .expect("PEM");
    let key =
        assent::keys::client::key_of_pem(std::str::from_utf8(&pem).expect("text")).expect("a key");
    Value::Object(key)
}

/// Returns the date of a user's creation, in UTC.
fn created_date(user: &Value) -> &str {
    &user["created_at"].text()[..10]
}

/// The user with that identifier at the vendor can sign in, so the device shows it.
#[tokio::test]
async fn the_summary_shows_external_authenticators() {
    let vendor = Vendor::start(500).await;
    let settings = plugins(&vendor.channel("vendor", ""));
    let host = TestHost::start_with_plugins(&settings).await;
    let (console, grace) = owner(&host).await;
    let bob = host.user("bob").await;
    let path = format!("/users/{}/external-authenticators/vendor", id(&bob));
    let of = |address: &str| json!({ "identifier": address });
    // The first one decides who bob is.
    let action = requested(&console, Method::PUT, &path, &of("bob@vendor")).await;
    assert_eq!(
        action["summary"],
        "Let the holder of the identifier “bob@vendor” at the channel “vendor” approve as “bob”, a user since DATE"
            .replace("DATE", created_date(&bob))
    );
    grace.device.deny(&waiting(&grace.device).await).await;
    host.admin_ok(Method::PUT, &path, of("bob@vendor")).await;
    host.advance(60);
    for address in ["", "a\nb"] {
        let refused = console
            .call_once(Method::PUT, &path, &of(address), None)
            .await;
        assert_eq!(
            refused.status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{}",
            refused.body
        );
    }
    assert!(grace.device.pending_requests(0).await.is_empty());
    let action = requested(&console, Method::PUT, &path, &of("eve@vendor")).await;
    assert_eq!(
        action["summary"],
        "Let the holder of the identifier “eve@vendor” at the channel “vendor” approve as “bob”, a user \
         since DATE, in place of “bob@vendor”".replace("DATE", created_date(&bob))
    );
}

/// Requests each action, and checks that its summary contains these words. In them, DATE stands for the date of the
/// user's creation.
async fn assert_summaries(
    host: &TestHost,
    console: &Caller,
    user: &Value,
    actions: &[(Method, String, Value, &str)],
) {
    for (method, path, body, words) in actions {
        // The prompts of a device have a rate limit.
        host.advance(10);
        let action = requested(console, method.clone(), path, body).await;
        let summary = action["summary"].text();
        let words = words.replace("DATE", created_date(user));
        assert!(summary.contains(&words), "{summary}");
    }
}

/// Changes that let another user act as the user need approval.
#[tokio::test]
async fn account_takeover_by_update_requires_approval() {
    let host = TestHost::start().await;
    let (console, grace) = owner(&host).await;
    let bob = host.user("bob").await;
    host.authenticator(&bob).await;
    let application = host.web_application().await;
    let (user, of) = (
        format!("/users/{}", id(&bob)),
        format!("/applications/{}", application.id),
    );
    let device = format!("/devices/{}", grace.device.device());
    let eve = host.user("eve").await;
    let account = format!("/accounts/{}", id(&host.account(&bob, &application).await));
    let actions = [
        (
            Method::POST,
            format!("{user}/enrolments"),
            Value::Null,
            "Let another device approve as “bob”, a user since DATE",
        ),
        (
            Method::PATCH,
            user.clone(),
            json!({"state": "terminated"}),
            "Close the user “bob” for ever, in all applications",
        ),
        (
            Method::PATCH,
            user.clone(),
            json!({"console_role": "owner"}),
            "Make “bob”, a user since DATE, an owner in the console. “bob” approves with 1 device",
        ),
        (
            Method::PATCH,
            user.clone(),
            json!({"email": "Robert@example.org", "state": "suspended"}),
            "Change the email address of “bob” to robert@example.org",
        ),
        (
            Method::PATCH,
            user.clone(),
            json!({"email": ""}),
            "Remove the email address bob@example.org of “bob”",
        ),
        (
            Method::PATCH,
            user.clone(),
            json!({"name": "bobby"}),
            "Change the sign-in name of “bob” to “bobby”",
        ),
        (
            Method::PATCH,
            account.clone(),
            json!({"name": "root"}),
            "Set the name of “bob” to “root” in the application “Books & <Co>”, in place of “bob”",
        ),
        (
            Method::PATCH,
            account.clone(),
            json!({"state": "terminated"}),
            "Close the account “bob” of “bob” in the application “Books & <Co>” for ever",
        ),
        (
            Method::DELETE,
            account.clone(),
            Value::Null,
            "Delete the account “bob” of “bob” in the application “Books & <Co>”",
        ),
        (
            Method::POST,
            format!("{of}/accounts"),
            json!({"user_id": id(&eve), "name": "root"}),
            "Set the name of “eve” to “root” in the application “Books & <Co>”",
        ),
        (
            Method::DELETE,
            device,
            Value::Null,
            "who has a role in the console",
        ),
    ];
    assert_summaries(&host, &console, &bob, &actions).await;
}

/// Changes that let another party act as the application need approval.
#[tokio::test]
async fn application_takeover_by_update_requires_approval() {
    let host = TestHost::start().await;
    let (console, _) = owner(&host).await;
    let bob = host.user("bob").await;
    let application = host.web_application().await;
    let of = format!("/applications/{}", application.id);
    let secrets = host
        .admin_ok(Method::GET, &format!("{of}/secrets"), Value::Null)
        .await;
    let secret = secrets["items"][0]["id"].text().to_owned();
    let key = include_str!("../../fuzz/corpus/client_keys/pem-ec");
    let key = key
        .get(key.find("-----BEGIN").expect("a key")..)
        .expect("a key");
    let certificate = certificate(&rsa_key());
    let (pem, der) = (certificate.pem(), certificate.der());
    let actions = [
        (
            Method::PATCH,
            of.clone(),
            json!({"redirect_uris": ["https://evil.example/cb"]}),
            "Addresses for responses, new: https://evil.example/cb",
        ),
        (
            Method::PATCH,
            of.clone(),
            json!({"token_endpoint_auth_method": "client_secret_jwt"}),
            "token_endpoint_auth_method “client_secret_jwt”. It authenticates with a new client secret",
        ),
        (
            Method::PATCH,
            of.clone(),
            json!({"slim_id_token": true, "public_key": key, "token_endpoint_auth_method": "private_key_jwt"}),
            "public_key, token_endpoint_auth_method “private_key_jwt”. It authenticates with \
             the key with the thumbprint \
             ",
        ),
        (
            Method::PATCH,
            of.clone(),
            json!({"token_endpoint_auth_method": "tls_client_certificate", "certificate": pem}),
            &format!(
                "It authenticates with the certificate with the SHA-256 digest {}",
                hex::encode(openssl::sha::sha256(&der))
            ),
        ),
        (
            Method::PATCH,
            of.clone(),
            json!({"token_endpoint_auth_method": "private_key_jwt", "jwks_uri": "https://rp.example/keys"}),
            "It authenticates with the keys at https://rp.example/keys",
        ),
        (
            Method::PATCH,
            of.clone(),
            json!({"consent": "implied", "scopes": ["openid", "email"], "slim_id_token": true}),
            "Change the application “Books & <Co>”: consent “implied”, scopes (“openid”, “email”)",
        ),
        (
            Method::PATCH,
            of.clone(),
            json!({"name": "Payroll"}),
            "Change the application “Books & <Co>”: name. Its name is “Payroll”",
        ),
        (
            Method::PATCH,
            of.clone(),
            json!({"admin_scopes": ["admin:users"]}),
            &format!(
                "It has the admin scopes admin:users. Its Client ID is {}",
                application.id
            ),
        ),
        (
            Method::PATCH,
            of.clone(),
            json!({"initiate_login_uri": "https://evil.example/start"}),
            "start address. Users open it from their start page at https://evil.example/start",
        ),
        (
            Method::PATCH,
            of.clone(),
            json!({"post_logout_redirect_uris": ["https://evil.example/bye"]}),
            "post-logout redirect URIs. Return addresses after signing out, new: https://evil.example/bye",
        ),
        (
            Method::PATCH,
            of.clone(),
            json!({"backchannel_logout_uri": "https://evil.example/logout"}),
            "back-channel logout URI. It is notified of the end of sessions at https://evil.example/logout",
        ),
        (
            Method::PATCH,
            of.clone(),
            json!({"frontchannel_logout_uri": "https://rp.example/logout"}),
            "front-channel logout URI. Browsers open its sign-out page at the end of sessions at \
             https://rp.example/logout",
        ),
        (
            Method::PATCH,
            of.clone(),
            json!({"passkey_sign_in": true}),
            "passkey_sign_in. Users who agreed to it sign in with a passkey, without a request on a device",
        ),
        (
            Method::PATCH,
            of.clone(),
            json!({"lenient_assertion_audience": true}),
            "lenient_assertion_audience true. Its client assertions may be addressed to the token endpoint",
        ),
        (
            Method::POST,
            format!("{of}/secret/rotate"),
            Value::Null,
            "Rotate the client secret",
        ),
        (
            Method::POST,
            format!("{of}/secrets"),
            Value::Null,
            "Create a second client secret for “Books & <Co>”. The first one stays valid.",
        ),
        (
            Method::DELETE,
            format!("{of}/secrets/{secret}"),
            Value::Null,
            "Delete the client secret of “Books & <Co>” from ",
        ),
        (
            Method::POST,
            "/applications".to_owned(),
            json!({
                "name": "Robot",
                "application_type": "web",
                "token_endpoint_auth_method": "private_key_jwt",
                "jwks_uri": "https://robot.example/keys",
                "grant_types": ["client_credentials"],
                "admin_scopes": ["admin:read"],
            }),
            "Create the application “Robot”. It has the admin scopes admin:read. It authenticates with the keys at \
             https://robot.example/keys",
        ),
    ];
    assert_summaries(&host, &console, &bob, &actions).await;
}

#[tokio::test]
async fn harmless_updates_need_no_approval_except_for_service_applications() {
    let host = TestHost::start().await;
    let (console, _) = owner(&host).await;
    let bob = host.user("bob").await;
    let application = host.web_application().await;
    let (user, of) = (
        format!("/users/{}", id(&bob)),
        format!("/applications/{}", application.id),
    );
    let eve = host.user("eve").await;
    let account = format!("/accounts/{}", id(&host.account(&bob, &application).await));
    console
        .call_once(Method::PATCH, &of, &json!({"slim_id_token": true}), None)
        .await
        .success();
    console
        .call_once(
            Method::PATCH,
            &account,
            &json!({"name": "bob", "roles": ["writer"]}),
            None,
        )
        .await
        .success();
    let own = json!({"user_id": id(&eve), "name": "eve"});
    console
        .call_once(Method::POST, &format!("{of}/accounts"), &own, None)
        .await
        .success();
    // Each change of a service application needs approval.
    host.admin_ok(Method::PATCH, &of, json!({"admin_scopes": ["admin:users"]}))
        .await;
    requested(
        &console,
        Method::PATCH,
        &of,
        &json!({"slim_id_token": false}),
    )
    .await;
    // Support cannot terminate users.
    let support = console_caller(&host, "sam", "support").await;
    let answer = support
        .call(Method::PATCH, &user, json!({"state": "terminated"}))
        .await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN, "{}", answer.body);
    support
        .call(Method::PATCH, &user, json!({"state": "suspended"}))
        .await
        .success();
}

/// Every member of an application is protected, except members that give access to no other party. A member without a
/// class does not compile.
#[test]
fn each_member_of_an_application_is_protected_unless_it_is_harmless() {
    let members: Value = parse_json(include_str!("../snapshots/members.json"));
    let (client, provider) = (
        members["ClientChange"].clone(),
        members["ServiceProviderChange"].clone(),
    );
    let names = |value: &Value| value.members().len();
    let (client_members, provider_members) = (names(&client), names(&provider));
    let client: ClientChange = serde_json::from_value(client).expect("a change");
    let provider: ServiceProviderChange = serde_json::from_value(provider).expect("a change");
    let document = include_str!("../../../config/admin-api.openapi.json");
    let document: Value = parse_json(document);
    for (schema, members, sent, harmless) in [
        (
            "ClientChange",
            client.sent_members(),
            client_members,
            &[
                "slim_id_token",
                "session_state",
                "backchannel_logout_session_required",
                "frontchannel_logout_session_required",
                "recipe",
            ][..],
        ),
        (
            "ServiceProviderChange",
            provider.sent_members(),
            provider_members,
            &["recipe"],
        ),
    ] {
        let known = &document["components"]["schemas"][schema]["properties"];
        assert_eq!(sent, names(known), "{schema}");
        assert_eq!(sent, members.len(), "{schema}");
        let unprotected: Vec<&str> = members
            .iter()
            .filter(|member| member.class == MemberClass::Harmless)
            .map(|member| member.name)
            .collect();
        assert_eq!(unprotected, harmless, "{schema}");
    }
}

/// The administrator who approves sees that the application stops or starts again.
#[tokio::test]
async fn the_summary_of_disabling_an_application_states_the_effect() {
    let host = TestHost::start().await;
    let (console, _grace) = owner(&host).await;
    let client = host.web_application().await.id;
    let provider = json!({"protocol": "saml", "name": "Wiki", "entity_id": "https://wiki.example",
        "acs": [{"url": "https://wiki.example/acs"}]});
    let provider = host.admin_ok(Method::POST, "/applications", provider).await;
    for (application, name) in [(client.as_str(), "Books & <Co>"), (id(&provider), "Wiki")] {
        let path = format!("/applications/{application}");
        for (enabled, words) in [
            (
                false,
                format!(
                    "Disable the application “{name}”: no user can sign in to it, and its tokens are no longer valid"
                ),
            ),
            (
                true,
                format!("Enable the application “{name}”: its users can sign in to it"),
            ),
        ] {
            let change = json!({"enabled": enabled});
            let action = requested(&console, Method::PATCH, &path, &change).await;
            assert_eq!(action["summary"], words);
            // The other members of the same change follow, and `enabled` is not among them again.
            let more = json!({"enabled": enabled, "passkey_sign_in": true});
            let action = requested(&console, Method::PATCH, &path, &more).await;
            let summary = action["summary"].text();
            let others = format!("{words}. Change the application “{name}”: passkey_sign_in");
            assert!(summary.starts_with(&others), "{summary}");
            assert!(!summary.contains("enabled."), "{summary}");
            let changed = console.call(Method::PATCH, &path, change).await;
            assert_eq!(changed.success()["enabled"], enabled);
        }
    }
}

/// A device that is enrolled while a role grant waits for approval would gain the role too.
#[tokio::test]
async fn a_role_grant_binds_the_devices_in_its_summary() {
    let host = TestHost::start().await;
    let (console, grace) = owner(&host).await;
    let bob = host.user("bob").await;
    let (path, body) = (
        format!("/users/{}", id(&bob)),
        json!({"console_role": "admin"}),
    );
    let action = requested(&console, Method::PATCH, &path, &body).await;
    assert_eq!(
        action["summary"],
        "Make “bob”, a user since DATE, an administrator in the console. Warning: “bob” has no device. \
         The first device that is set up for this user gets this role"
            .replace("DATE", created_date(&bob))
    );
    host.authenticator(&bob).await;
    assert_eq!(
        grace
            .device
            .submit_decision(&waiting(&grace.device).await, number(&action))
            .await,
        "approved"
    );
    let late = console
        .call_once(Method::PATCH, &path, &body, action["id"].as_str())
        .await;
    assert!(refused(&late), "{}", late.body);
    let action = requested(&console, Method::PATCH, &path, &body).await;
    assert_eq!(
        action["summary"],
        "Make “bob”, a user since DATE, an administrator in the console. “bob” approves with 1 device"
            .replace("DATE", created_date(&bob))
    );
    let updated = console
        .call(
            Method::PATCH,
            &path,
            json!({"console_role": "admin", "state": "active"}),
        )
        .await;
    assert_eq!(updated.success()["console_role"], "admin");
}
