//! The admin API.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{Database, Respond, TestHost, Text, http_client, id};

#[tokio::test]
async fn the_admin_api_requires_a_valid_token() {
    let host = TestHost::start().await;
    let url = format!("{}/admin/api/v1/users", host.base);
    for request in [
        http_client().get(&url),
        http_client().get(&url).bearer_auth("am_x"),
        http_client().post(&url).json(&json!({})),
    ] {
        let response = request.response().await;
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(
            response.headers()["content-type"],
            "application/problem+json"
        );
        assert_eq!(response.headers()["www-authenticate"], "Bearer");
    }
    host.advance(900);
    assert_eq!(
        host.admin(Method::GET, "/users", Value::Null).await.0,
        StatusCode::UNAUTHORIZED,
        "a token ends"
    );
}

#[tokio::test]
async fn applications_are_created_read_updated_listed_and_deleted() {
    let host = TestHost::start().await;
    let body = json!({"name": "Books", "application_type": "web", "redirect_uris": ["https://rp.example/cb"]});
    let created = host.admin_ok(Method::POST, "/applications", body).await;
    assert!(id(&created).starts_with("did:key:z6Mk"));
    assert_eq!(created["token_endpoint_auth_method"], "client_secret_basic");
    assert_eq!(created["has_secret"], false);
    let path = format!("/applications/{}", id(&created));
    let secret = host
        .admin_ok(Method::POST, &format!("{path}/secret/rotate"), Value::Null)
        .await;
    assert_eq!(secret["client_secret"].as_str().map(str::len), Some(43));
    let changed = host
        .admin_ok(Method::PATCH, &path, json!({"name": "More books"}))
        .await;
    assert_eq!(
        (&changed["name"], &changed["has_secret"]),
        (&json!("More books"), &json!(true))
    );
    assert_eq!(
        host.admin_ok(Method::GET, &path, Value::Null).await,
        changed
    );
    for _ in 0..2 {
        host.native_application().await;
    }
    let page = host
        .admin_ok(Method::GET, "/applications?limit=2", Value::Null)
        .await;
    assert_eq!(page["items"].as_array().map(Vec::len), Some(2));
    let next = page["next"].text();
    let page = host
        .admin_ok(
            Method::GET,
            &format!("/applications?limit=2&after={next}"),
            Value::Null,
        )
        .await;
    assert_eq!(
        (page["items"].as_array().map(Vec::len), &page["next"]),
        (Some(1), &Value::Null)
    );
    assert_eq!(
        host.admin(Method::DELETE, &path, Value::Null).await.0,
        StatusCode::NO_CONTENT
    );
    assert_eq!(
        host.admin(Method::GET, &path, Value::Null).await.0,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn invalid_input_is_rejected_with_a_plain_message() {
    let host = TestHost::start().await;
    host.user("ada").await;
    let application = |uri: &str, kind: &str| json!({"name": "B", "application_type": kind, "redirect_uris": [uri]});
    for (method, path, body, status, word) in [
        (
            Method::POST,
            "/applications",
            application("http://rp.example/cb", "web"),
            422,
            "https://",
        ),
        (
            Method::POST,
            "/applications",
            application("javascript:alert(1)", "native"),
            422,
            "custom scheme",
        ),
        (
            Method::POST,
            "/applications",
            application("https://rp.example/#x", "spa"),
            422,
            "fragment",
        ),
        (
            Method::POST,
            "/applications",
            application("https://rp.example/", "desktop"),
            400,
            "application_type: unknown variant `desktop`",
        ),
        (
            Method::POST,
            "/applications",
            json!({"redirect_uris": ["https://a.example", 1]}),
            400,
            "redirect_uris[1]: ",
        ),
        (
            Method::POST,
            "/users",
            json!("ada"),
            400,
            "expected here: invalid type: string",
        ),
        (
            Method::POST,
            "/applications",
            json!({"name": " ", "application_type": "web", "redirect_uris": ["https://a.example"]}),
            422,
            "name",
        ),
        (
            Method::POST,
            "/applications",
            json!({"name": "x", "application_type": "web", "redirect_uris": []}),
            422,
            "one redirect URI",
        ),
        (
            Method::POST,
            "/applications",
            json!({"nam": "x"}),
            400,
            "unknown field `nam`",
        ),
        (Method::POST, "/users", json!({}), 422, "name"),
        (
            Method::POST,
            "/users",
            json!({"name": "a b"}),
            422,
            "without spaces",
        ),
        (
            Method::POST,
            "/users",
            json!({"name": "eve", "email": "nowhere"}),
            422,
            "ada@example.org",
        ),
        (
            Method::POST,
            "/users",
            json!({"name": "ADA"}),
            409,
            "name: another user signs in with it",
        ),
        (
            Method::POST,
            "/users",
            json!({"name": "eve", "profile": {"password": "x"}}),
            422,
            "unknown field `password`",
        ),
        (
            Method::POST,
            "/users",
            json!({"name": "eve", "profile": {"name": 1}}),
            422,
            "profile: name: invalid type",
        ),
        (Method::GET, "/users?limit=0", Value::Null, 400, "1 to 200"),
        (Method::GET, "/users?after=x", Value::Null, 400, "next"),
        (Method::GET, "/users?page=2", Value::Null, 400, "after"),
        (Method::GET, "/users/x", Value::Null, 404, "no such user"),
        (Method::DELETE, "/users", Value::Null, 405, "method"),
        (Method::GET, "/nothing", Value::Null, 404, "no such path"),
    ] {
        let (got, problem) = host.admin(method.clone(), path, body.clone()).await;
        assert_eq!(got.as_u16(), status, "{method} {path} {body}: {problem}");
        assert_eq!(problem["status"], status);
        assert!(
            problem["detail"].text().contains(word),
            "{method} {path} {body}: {problem}"
        );
    }
    let users = host.admin_ok(Method::GET, "/users", Value::Null).await;
    assert_eq!(users["items"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn public_applications_have_no_secret_and_a_user_has_one_account_each() {
    let host = TestHost::start().await;
    let native = host.native_application().await;
    let user = host.user("ada").await;
    let secret = host
        .admin(
            Method::POST,
            &format!("/applications/{}/secret/rotate", native.id),
            Value::Null,
        )
        .await;
    assert_eq!(
        secret.0,
        StatusCode::UNPROCESSABLE_ENTITY,
        "a public application has no secret"
    );
    host.account(&user, &native).await;
    let again = host
        .admin(
            Method::POST,
            &format!("/applications/{}/accounts", native.id),
            json!({"user_id": id(&user)}),
        )
        .await;
    let detail =
        "the user already has an account in this application, or the account's name is taken";
    assert_eq!(
        (again.0, &again.1["detail"]),
        (StatusCode::CONFLICT, &json!(detail))
    );
}

#[tokio::test]
async fn users_and_accounts_are_created_updated_and_deleted() {
    let host = TestHost::start().await;
    let user = host.user("ada").await;
    let native = host.native_application().await;
    let account = host.account(&user, &native).await;
    let path = format!("/users/{}", id(&user));
    let changed = host
        .admin_ok(
            Method::PATCH,
            &path,
            json!({"email": "", "console_role": "auditor"}),
        )
        .await;
    assert_eq!(
        (&changed["email"], &changed["console_role"]),
        (&Value::Null, &json!("auditor"))
    );
    let changed = host
        .admin_ok(Method::PATCH, &path, json!({"state": "suspended"}))
        .await;
    assert_eq!(
        (&changed["state"], &changed["console_role"]),
        (&json!("suspended"), &json!("auditor")),
        "the rest stays"
    );
    let refused = host
        .admin(Method::POST, &format!("{path}/enrolments"), Value::Null)
        .await;
    assert_eq!(refused.0, StatusCode::UNPROCESSABLE_ENTITY);
    host.admin_ok(
        Method::PATCH,
        &path,
        json!({"state": "terminated", "console_role": null}),
    )
    .await;
    let refused = host
        .admin(Method::PATCH, &path, json!({"state": "active"}))
        .await;
    assert_eq!(refused.0, StatusCode::UNPROCESSABLE_ENTITY);

    let path = format!("/accounts/{}", id(&account));
    let changed = host
        .admin_ok(
            Method::PATCH,
            &path,
            json!({"roles": ["owner"], "name": "ada.l"}),
        )
        .await;
    assert_eq!(
        (&changed["roles"], &changed["name"]),
        (&json!(["owner"]), &json!("ada.l"))
    );
    let listed = host
        .admin_ok(
            Method::GET,
            &format!("/applications/{}/accounts", native.id),
            Value::Null,
        )
        .await;
    assert_eq!(listed["items"], json!([changed]));
    assert_eq!(
        host.admin(Method::DELETE, &path, Value::Null).await.0,
        StatusCode::NO_CONTENT
    );
}

#[tokio::test]
async fn profile_updates_merge_members_and_a_new_email_is_unverified() {
    let host = TestHost::start().await;
    let user = host.user("ada").await;
    let path = format!("/users/{}", id(&user));
    let change = async |body| host.admin_ok(Method::PATCH, &path, body).await;
    let changed = change(json!({"profile": {"nickname": "Countess", "given_name": null}})).await;
    assert_eq!(
        (&changed["profile"]["nickname"], &changed["profile"]["name"]),
        (&json!("Countess"), &json!("Ada Lovelace"))
    );
    assert!(changed["profile"].get("given_name").is_none());
    assert_eq!(changed["profile"]["email_verified"], true);
    let changed = change(json!({"email": "ada@other.example"})).await;
    assert_eq!(changed["profile"]["email_verified"], false);
    let changed =
        change(json!({"email": "ada@example.org", "profile": {"email_verified": true}})).await;
    assert_eq!(changed["profile"]["email_verified"], true);
}

#[both_databases]
async fn a_concurrent_update_does_not_undo_a_suspension(database: Database) {
    let host = TestHost::start_on(database).await;
    let user = host.user("ada").await;
    let application = host.native_application().await;
    let account = host.account(&user, &application).await;
    let (user, account) = (
        format!("/users/{}", id(&user)),
        format!("/accounts/{}", id(&account)),
    );
    for round in 0..20 {
        for (path, other) in [
            (&user, json!({"profile": {"nickname": format!("{round}")}})),
            (&account, json!({"roles": []})),
        ] {
            host.admin_ok(Method::PATCH, path, json!({"state": "active"}))
                .await;
            let suspension = host.admin_ok(Method::PATCH, path, json!({"state": "suspended"}));
            let others = (
                host.admin_ok(Method::PATCH, path, other.clone()),
                host.admin_ok(Method::PATCH, path, other),
            );
            tokio::join!(suspension, others.0, others.1);
            assert_eq!(
                host.admin_ok(Method::GET, path, Value::Null).await["state"],
                "suspended",
                "{database:?} {path}"
            );
        }
    }
}
