//! The permissions of each role and scope at each route.

use assent::http::admin_api::routes::Rule;
use assent::http::admin_api::rules;
use assent_model::administration::AdminScope;
use assent_model::user::ConsoleRole;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Caller, console_caller, service, service_application, service_token};
use crate::harness::{Body, Respond, TestHost, Text, http_client, id};

/// Lists each route with its permission, its protected action, and the callers that may use it.
fn table() -> String {
    let mut lines: Vec<String> = rules()
        .into_iter()
        .map(
            |(
                method,
                path,
                Rule {
                    permission,
                    protected_action,
                },
            )| {
                let roles = ConsoleRole::ALL
                    .into_iter()
                    .filter(|role| role.gives(permission))
                    .map(ConsoleRole::as_str);
                let scopes = AdminScope::ALL
                    .into_iter()
                    .filter(|scope| scope.gives(permission))
                    .map(AdminScope::as_str);
                let (roles, scopes) = (
                    roles.collect::<Vec<_>>().join(" "),
                    scopes.collect::<Vec<_>>().join(" "),
                );
                let action = protected_action.map_or(json!("-"), |kind| json!(kind));
                let action = action.text();
                format!(
                    "{path} {method} | {} | {action} | {roles} | {scopes}",
                    permission.as_str()
                )
            },
        )
        .collect();
    lines.sort();
    lines.join("\n") + "\n"
}

#[test]
fn routes_and_roles_match_the_committed_table() {
    let agreed = include_str!("roles.txt");
    let table = table();
    assert!(
        agreed == table,
        "the table has changed; if this is intended, tests/it/admin_api/roles.txt must be:\n{table}"
    );
}

/// Returns the path with ids that name no object.
fn with_unknown_ids(path: &str) -> String {
    let parts = path.split('/').map(|part| {
        if part.starts_with('{') {
            "nothing"
        } else {
            part
        }
    });
    parts.collect::<Vec<_>>().join("/")
}

/// Calls every route. The server admits a caller with the permission. Otherwise the response names the permission.
async fn assert_permissions(caller: &Caller, name: &str, may: impl Fn(&Rule) -> bool) {
    for (method, path, rule) in rules() {
        // The body changes nothing at any route.
        let body = if method == Method::GET {
            Value::Null
        } else {
            json!({"nothing": 1})
        };
        let answer = caller
            .call(method.clone(), &with_unknown_ids(&path), body)
            .await;
        let what = format!("{name}: {method} {path}: {} {}", answer.status, answer.body);
        if may(&rule) {
            assert!(
                ![StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&answer.status),
                "{what}"
            );
            assert!(!answer.status.is_server_error(), "{what}");
        } else {
            assert_eq!(
                (answer.status, answer.problem()),
                (StatusCode::FORBIDDEN, "forbidden"),
                "{what}"
            );
            let detail = answer.body["detail"].text();
            assert!(detail.contains(rule.permission.as_str()), "{what}");
        }
    }
}

#[tokio::test]
async fn each_role_has_exactly_its_permissions_at_each_route() {
    let host = TestHost::start().await;
    assert_permissions(&Caller::machine(&host), "admin_token", |_| true).await;
    for role in ConsoleRole::ALL {
        let caller = console_caller(&host, role.as_str(), role.as_str()).await;
        assert_permissions(&caller, role.as_str(), |rule| role.gives(rule.permission)).await;
        let me = caller.get("/me").await.success();
        assert_eq!(
            (&me["kind"], &me["role"]),
            (&json!("user"), &json!(role.as_str()))
        );
    }
}

#[tokio::test]
async fn each_admin_scope_has_exactly_its_permissions_at_each_route() {
    let host = TestHost::start().await;
    for scope in AdminScope::ALL {
        let caller = service(&host, &[scope.as_str()]).await;
        assert_permissions(&caller, scope.as_str(), |rule| scope.gives(rule.permission)).await;
        let me = caller.get("/me").await.success();
        assert_eq!(
            (&me["kind"], &me["admin_scopes"]),
            (&json!("application"), &json!([scope.as_str()]))
        );
    }
}

#[tokio::test]
async fn admin_scopes_apply_to_the_admin_api_only_while_the_application_has_them() {
    let host = TestHost::start().await;
    let application = service_application(&host, &["admin:read", "admin:users"]).await;
    let path = format!("/applications/{}", application.id);
    for refused in [
        "admin:operate",
        "admin:read openid",
        "admin:read admin:operate",
        "admin:everything",
    ] {
        let (status, answer) = service_token(&host, &application, refused).await;
        assert_eq!(
            (status, &answer["error"]),
            (StatusCode::BAD_REQUEST, &json!("invalid_scope")),
            "{refused}"
        );
    }
    let caller = async |scopes| {
        let (_, token) = service_token(&host, &application, scopes).await;
        let token = token["access_token"].text().to_owned();
        Caller::Bearer {
            base: host.base.clone(),
            token,
        }
    };
    let ordinary = caller("openid profile").await;
    assert_eq!(
        ordinary.get("/me").await.status,
        StatusCode::UNAUTHORIZED,
        "a token without an admin scope is invalid"
    );
    let reader = caller("admin:read").await;
    assert_eq!(reader.get("/users").await.status, StatusCode::OK);
    assert_eq!(
        reader
            .call(Method::POST, "/users", json!({"name": "eve"}))
            .await
            .status,
        StatusCode::FORBIDDEN
    );

    // UserInfo rejects the token, and introspection reports it to other applications as inactive.
    let Caller::Bearer { token, .. } = &reader else {
        unreachable!()
    };
    let client = http_client();
    let userinfo = client
        .get(format!("{}/oidc/me", host.base))
        .bearer_auth(token)
        .response()
        .await;
    assert_eq!(userinfo.status(), StatusCode::FORBIDDEN);
    let other = host.web_application().await;
    for (asks, active) in [(&application, true), (&other, false)] {
        let requested = client
            .post(format!("{}/oidc/token/introspection", host.base))
            .form(&[("token", token)]);
        let requested = requested
            .basic_auth(&asks.id, asks.secret.as_ref())
            .response()
            .await;
        let returned: Value = requested.read_json().await;
        assert_eq!(returned["active"], active, "{returned}");
        assert!(!active || returned["scope"] == "admin:read", "{returned}");
    }

    host.admin_ok(
        Method::PATCH,
        &path,
        json!({"admin_scopes": ["admin:users"]}),
    )
    .await;
    assert_eq!(
        reader.get("/users").await.status,
        StatusCode::UNAUTHORIZED,
        "a removed scope is invalid at once"
    );
    let refused = host
        .admin(
            Method::PATCH,
            &path,
            json!({"grant_types": ["authorization_code"]}),
        )
        .await;
    assert_eq!(refused.0, StatusCode::UNPROCESSABLE_ENTITY, "{}", refused.1);
    let native = host.native_application().await;
    let path = format!("/applications/{}", native.id);
    let refused = host
        .admin(
            Method::PATCH,
            &path,
            json!({"admin_scopes": ["admin:read"]}),
        )
        .await;
    assert_eq!(refused.0, StatusCode::UNPROCESSABLE_ENTITY, "{}", refused.1);
}

#[tokio::test]
async fn only_owners_grant_roles_and_admin_scopes() {
    let host = TestHost::start().await;
    let user = host.user("eve").await;
    let application = host.web_application().await;
    let trusted = service_application(&host, &["admin:read"]).await;
    let database_dump: Vec<_> = AdminScope::ALL
        .into_iter()
        .map(AdminScope::as_str)
        .collect();
    let admin = console_caller(&host, "grace", "admin").await;
    let service = service(&host, &database_dump).await;
    let users = format!("/users/{}", id(&user));
    let applications = format!("/applications/{}", application.id);
    for (who, caller) in [("admin", &admin), ("service", &service)] {
        for (method, path, body) in [
            (
                Method::PATCH,
                users.as_str(),
                json!({"console_role": "auditor"}),
            ),
            (Method::PATCH, &users, json!({"console_role": null})),
            (
                Method::POST,
                "/users",
                json!({"name": "mallory", "console_role": "owner"}),
            ),
            (
                Method::PATCH,
                &applications,
                json!({"admin_scopes": ["admin:read"]}),
            ),
            (
                Method::POST,
                "/applications",
                json!({"name": "x", "application_type": "web", "redirect_uris": ["https://a.example"],
                       "admin_scopes": ["admin:read"]}),
            ),
            // A caller that can rotate the secret of a service account can act as that account.
            (
                Method::POST,
                &format!("/applications/{}/secret/rotate", trusted.id),
                Value::Null,
            ),
            (
                Method::PATCH,
                &format!("/applications/{}", trusted.id),
                json!({"name": "x"}),
            ),
            (
                Method::DELETE,
                &format!("/applications/{}", trusted.id),
                Value::Null,
            ),
        ] {
            let answer = caller.call(method.clone(), path, body.clone()).await;
            assert_eq!(
                answer.status,
                StatusCode::FORBIDDEN,
                "{who}: {method} {path} {body}: {}",
                answer.body
            );
            assert_eq!(answer.problem(), "forbidden");
        }
    }
    let owner = console_caller(&host, "ada", "owner").await;
    for role in ["support", "owner"] {
        owner
            .call(Method::PATCH, &users, json!({"console_role": role}))
            .await
            .success();
    }
    owner
        .call(
            Method::PATCH,
            &applications,
            json!({"admin_scopes": ["admin:audit"]}),
        )
        .await
        .success();
}
