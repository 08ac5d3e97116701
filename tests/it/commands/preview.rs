//! The output of `assent claims preview` and `compare` at a terminal.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::api::{json_of, output_of};
use crate::harness::{TestHost, TestUser, Text, component, id, write_file};
use crate::plugins::components::without_denials;
use crate::saml::service_provider::TestServiceProvider;

/// Returns the columns of the table row that begins with this name.
fn row<'a>(shown: &'a str, name: &str) -> Vec<&'a str> {
    let cells = |line: &'a str| -> Vec<&'a str> {
        line.split("  ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
            .collect()
    };
    let mut rows = shown.lines().map(cells);
    rows.find(|cells| cells.first() == Some(&name))
        .unwrap_or_else(|| panic!("no {name}: {shown}"))
}

/// Returns the part of a text after this line, up to the next empty line.
fn part<'a>(shown: &'a str, head: &str) -> &'a str {
    let below = shown
        .split(head)
        .nth(1)
        .unwrap_or_else(|| panic!("no {head}: {shown}"));
    below.split("\n\n").next().unwrap_or(below)
}

/// Starts an instance with `account-roles`, and after it the hostile mapper with this behaviour.
async fn start(behaviour: &str) -> TestHost {
    let plugins = format!(
        "[[plugins.claim_mappers]]\nname = \"account-roles\"\nfile = \"{}\"\nwrites = [\"account\"]\n\
         [[plugins.claim_mappers]]\nname = \"second\"\nfile = \"{}\"\nwrites = [\"note\", \"team\"]\nconfig = \
              {behaviour}\n",
        component("account-roles").display(),
        component("hostile-mapper").display(),
    );
    TestHost::start_with_plugins(&plugins).await
}

/// Returns the command that previews the claims of a user's account.
fn preview_of(user: &TestUser) -> [&str; 5] {
    let application = &user.application.id;
    [
        "claims",
        "preview",
        application,
        "--account",
        id(&user.account),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_is_a_table_of_names_values_and_sources() {
    let host = start(r#"{ behaviour = "set", claim = "note", value = "{\"a\":1}" }"#).await;
    let ada = host.ada().await;
    let preview = preview_of(&ada);
    let shown = output_of(&host, &preview).await;
    let token = part(&shown, "ID token\n");
    assert!(
        token.contains("Scopes: openid ") && row(token, "NAME") == ["NAME", "VALUE", "FROM"],
        "{shown}"
    );
    assert_eq!(
        row(token, "email"),
        ["email", "ada@example.org", "Assent, for the scope email"]
    );
    assert_eq!(row(token, "note"), ["note", "{\"a\":1}", "second"]);
    assert_eq!(row(token, "iss"), ["iss", &host.issuer(), "Assent"]);
    assert_eq!(row(token, "aud"), ["aud", &ada.application.id, "Assent"]);
    for name in ["exp", "iat", "auth_time", "sid", "acr", "amr", "nonce"] {
        assert_eq!(row(token, name)[1], "set at sign-in", "{shown}");
    }
    assert_eq!(row(part(&shown, "UserInfo\n"), "sub")[2], "Assent");
    assert!(!part(&shown, "UserInfo\n").contains("iss "), "{shown}");
    assert!(shown.contains("Introspection\n"), "{shown}");
    assert!(
        !shown.contains("sha256") && !shown.contains("slim_id_token"),
        "{shown}"
    );
    assert_eq!(
        json_of(&host, &preview).await["sinks"][0]["claims"]["note"],
        json!({"a": 1})
    );

    host.admin_ok(
        Method::PATCH,
        &format!("/applications/{}", ada.application.id),
        json!({"slim_id_token": true}),
    )
    .await;
    assert!(
        part(&output_of(&host, &preview).await, "ID token\n").contains("slim_id_token"),
        "the preview gives the reason for missing claims"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_first_names_the_reason_for_a_rejection() {
    let host = start(r#"{ behaviour = "deny" }"#).await;
    let ada = host.ada().await;
    let preview = preview_of(&ada);
    let shown = output_of(&host, &preview).await;
    let token = part(&shown, "ID token\n");
    assert!(
        token.contains("Stopped: the plugin second rejects this user: "),
        "{shown}"
    );
    let path = format!("/accounts/{}", id(&ada.account));
    host.admin_ok(Method::PATCH, &path, json!({"state": "suspended"}))
        .await;
    let shown = output_of(&host, &preview).await;
    assert!(
        shown.contains(
            "Stopped: no user would be signed in: the account in this application is suspended"
        ),
        "{shown}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_names_the_plugins_whose_claims_are_omitted() {
    let plugins = format!(
        "[[plugins.claim_mappers]]\nname = \"staff-role\"\nfile = \"{}\"\nwrites = [\"note\"]\n\
         on_failure = \"omit\"\nconfig = {{ behaviour = \"panic\" }}\n",
        without_denials().display(),
    );
    let host = TestHost::start_with_plugins(&plugins).await;
    let ada = host.ada().await;
    let preview = preview_of(&ada);
    let call = json_of(&host, &preview).await["sinks"][0]["calls"][0].clone();
    assert_eq!(call["outcome"], "skipped", "{call}");
    assert!(
        call["reason"].text().contains("the hostile plugin panics"),
        "{call}"
    );
    let shown = output_of(&host, &preview).await;
    let line = "staff-role failed, its claims are omitted: ";
    for token in ["ID token\n", "UserInfo\n", "Introspection\n"] {
        let mut lines = part(&shown, token).lines();
        assert!(
            lines.any(|shown| shown.starts_with(line) && shown.contains("plugin panics")),
            "{token}: {shown}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_with_an_unknown_scope_names_it() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let path = format!(
        "/applications/{}/claims-preview?account={}&scope=openid+groups+roles",
        ada.application.id,
        id(&ada.account)
    );
    let (status, refused) = host.admin(Method::GET, &path, Value::Null).await;
    let error = &refused["errors"][0];
    assert_eq!(
        (status, &error["pointer"]),
        (StatusCode::UNPROCESSABLE_ENTITY, &json!("/scope")),
        "{refused}"
    );
    let unknown = "\"roles\" is unknown; expected some of openid, ";
    assert!(error["detail"].text().starts_with(unknown), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_of_a_service_provider_shows_its_name_and_attributes() {
    let host = TestHost::start().await;
    let attributes = json!([{"name": "groups", "values": ["wiki-{roles}", "all"]}]);
    let service_provider =
        TestServiceProvider::register(&host, json!({"custom_attributes": attributes})).await;
    let ada = service_provider.ada(&host).await;
    let shown = output_of(
        &host,
        &[
            "claims",
            "preview",
            &service_provider.id,
            "--account",
            id(&ada.account),
        ],
    )
    .await;
    let assertion = part(&shown, "Assertion\n");
    let name = row(assertion, "NameID");
    assert_eq!(
        (name[1], name[2]),
        ("ada@example.org", "Assent, as emailAddress"),
        "{shown}"
    );
    assert!(
        row(assertion, "groups")[1].contains("all")
            && row(assertion, "groups")[2] == "saml-attributes",
        "{shown}"
    );
    let path = format!("/applications/{}", service_provider.id);
    host.admin_ok(Method::PATCH, &path, json!({"name_id_format": "transient"}))
        .await;
    let shown = output_of(
        &host,
        &[
            "claims",
            "preview",
            &service_provider.id,
            "--account",
            id(&ada.account),
        ],
    )
    .await;
    assert_eq!(
        row(&shown, "NameID")[1..],
        ["set at sign-in", "Assent, as transient"],
        "{shown}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comparison_is_a_table_of_differences() {
    let host = start(r#"{ behaviour = "set", claim = "note", value = "42" }"#).await;
    let ada = host.ada().await;
    let compared = async |value: &str| -> (String, Value) {
        let config = json!({"behaviour": "set", "claim": "note", "value": value});
        let body = json!({"account": id(&ada.account), "sinks": ["id-token"], "candidate": {"plugin": "second",
            "config": config}});
        write_file(host.folder().join("candidate.json"), body.to_string());
        let compare = [
            "claims",
            "compare",
            &ada.application.id,
            "--file",
            "candidate.json",
        ];
        (
            output_of(&host, &compare).await,
            json_of(&host, &compare).await,
        )
    };
    let (shown, whole) = compared("43").await;
    assert_eq!(
        row(&shown, "SINK"),
        ["SINK", "VALUE", "CURRENT", "WITH THE CANDIDATE"],
        "{shown}"
    );
    assert_eq!(
        row(&shown, "ID token"),
        ["ID token", "/claims/note", "42", "43"],
        "{shown}"
    );
    assert_eq!(whole["differences"][0]["path"], "/claims/note");
    assert_eq!(shown.lines().count(), 2, "no other lines: {shown}");
    let (shown, _) = compared("42").await;
    assert_eq!(shown, "No differences.\n");
    let (shown, _) = compared("not json").await;
    assert!(
        shown.contains("Stopped with the candidate: the plugin second failed: "),
        "{shown}"
    );
}
