//! The effect of an erasure on entries of the user's actions in the console, and on stored answers.

use assent::domain::audit::verify;
use assent::model::chain::Break;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sqlx::Row;

use super::{Administrator, Caller, sent};
use crate::harness::{Database, TestHost, Wish, id};
use crate::life::entries;

async fn erase(host: &TestHost, user: &Value) {
    let path = format!("/users/{}", id(user));
    host.admin_ok(Method::PATCH, &path, json!({"state": "terminated"})).await;
    host.admin_ok(Method::POST, &format!("{path}/erase"), Value::Null).await;
}

#[tokio::test]
async fn an_erased_administrators_address_goes_and_the_data_of_others_stays_on_both_databases() {
    for database in Database::BOTH {
        let host = TestHost::start_with(Wish { database, ..Wish::default() }).await;
        let application = host.web_application().await;
        let ada = Administrator::new(&host, "ada", "owner").await;
        let grace = Administrator::new(&host, "grace", "owner").await;
        let bob = host.user("bob").await;
        for owner in [&ada, &grace] {
            let console = owner.signed_in(&host).await;
            let slim = json!({"slim_id_token": owner.user["name"] == "ada"});
            console.call(Method::PATCH, &format!("/applications/{}", application.id), slim).await.good();
            let nickname = json!({"profile": {"nickname": format!("from {}", owner.user["name"])}});
            console.call(Method::PATCH, &format!("/users/{}", id(&bob)), nickname).await.good();
        }
        let by = async |owner: &Administrator| entries(&host, &format!("actor={}", id(&owner.user))).await;
        let (adas, graces) = (by(&ada).await, by(&grace).await);
        assert!(adas.iter().chain(&graces).all(|entry| entry["personal"]["address"] == "127.0.0.1"), "{adas:?}");
        erase(&host, &ada.user).await;

        let after = by(&ada).await;
        assert_eq!(after.len(), adas.len());
        for (was, is) in adas.iter().zip(&after) {
            assert_eq!((&was["id"], &was["event"], &was["detail"]), (&is["id"], &is["event"], &is["detail"]));
            for origin in ["address", "browser"] {
                assert_eq!(is["personal"][origin], Value::Null, "{database:?}: {is}");
            }
            if is["event"] == "user.changed" {
                assert_eq!(is["personal"]["after"], was["personal"]["after"], "Bob's data stays: {is}");
                assert!(is["personal"]["after"].to_string().contains("from"), "{is}");
            }
        }
        assert_eq!(by(&grace).await, graces, "{database:?}");
        let broken = async || verify(&host.host.store, None).await.expect("looked at").broken;
        assert_eq!(broken().await, None, "{database:?}");

        // Grace was not erased, so verification reports the missing origin. It also finds a replaced one.
        let mut connection = host.connection().await;
        let mut change = async |set: &str| {
            let of_grace = format!("UPDATE audit_entries SET {set} WHERE actor = $1 AND origin_digest IS NOT NULL");
            sqlx::query(sqlx::AssertSqlSafe(of_grace))
                .bind(id(&grace.user))
                .execute(&mut connection)
                .await
                .expect("set");
        };
        change("origin = '{\"address\":\"192.0.2.1\"}'").await;
        assert!(matches!(broken().await, Some(Break::PersonalChanged { .. })), "{database:?}");
        change("origin = NULL, origin_salt = NULL").await;
        assert!(matches!(broken().await, Some(Break::PersonalTaken { .. })), "{database:?}");
    }
}

#[tokio::test]
async fn answers_about_an_erased_user_are_not_kept_and_those_about_others_are_on_both_databases() {
    for database in Database::BOTH {
        let host = TestHost::start_with(Wish { database, ..Wish::default() }).await;
        let application = host.web_application().await;
        let caller = Caller::machine(&host);
        let post = async |path: &str, key: &str, body: &Value| {
            let request = caller.request(Method::POST, path).header("idempotency-key", key);
            sent(if body.is_null() { request } else { request.json(body) }).await
        };
        let (ada, bob) = (json!({"name": "ada", "email": "ada@example.org"}), json!({"name": "bob"}));
        let user = post("/users", "ada", &ada).await.body;
        let other = post("/users", "bob", &bob).await.body;
        let accounts = format!("/applications/{}/accounts", application.id);
        post(&accounts, "account", &json!({"user_id": id(&user)})).await.good();
        let link = format!("/users/{}/enrolments", id(&user));
        assert_eq!(post(&link, "link", &Value::Null).await.status, StatusCode::CREATED);
        let kept = async || {
            let rows = sqlx::query("SELECT id FROM idempotent_requests").fetch_all(&mut host.connection().await).await;
            rows.expect("rows").iter().map(|row| row.get::<String, _>(0)).collect::<Vec<_>>().len()
        };
        assert_eq!(kept().await, 4, "{database:?}");
        erase(&host, &user).await;
        assert_eq!(kept().await, 1, "{database:?}");
        assert_eq!(post("/users", "bob", &bob).await.body["id"], other["id"], "{database:?}");
    }
}
