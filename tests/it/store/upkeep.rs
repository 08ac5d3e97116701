//! Retention, consents and opening a database.

use super::*;
use assent_test_macros::both_databases;

#[tokio::test]
async fn old_rows_are_swept_in_slices_and_others_stay() {
    let hour = Duration::from_secs(3600);
    let retention = Retention {
        logins: hour,
        access_tokens: hour,
        refresh_tokens: hour,
        sessions: hour,
        enrolments: hour,
        admin_tokens: hour,
        traces: hour,
        audit: hour,
        streams: &[],
        denials: hour,
    };
    for database in Database::BOTH {
        let Fixture { store, .. } = &fixture(database).await;
        let (ada, phone) = ada(store).await;
        let asked = asked(store, Some(&ada), "ada").await;
        for _ in 0..1200 {
            store.insert_login(login()).await.expect("inserted");
        }
        assert_eq!(
            store
                .apply_retention(retention, NOW + hour)
                .await
                .expect("swept"),
            0
        );
        assert!(store.approval(asked.id).await.expect("read").is_some());
        // The logins, and the link by which the phone was enrolled.
        assert_eq!(
            store
                .apply_retention(retention, NOW + hour + hour)
                .await
                .expect("swept"),
            1202
        );
        assert!(store.approval(asked.id).await.expect("read").is_none());
        assert!(store.user(ada.id).await.expect("read").is_some());
        assert!(store.device(phone.id).await.expect("read").is_some());
    }
}

#[both_databases]
async fn a_consent_holds_for_its_time(database: Database) {
    let Fixture { store, .. } = &fixture(database).await;
    let (ada, _) = ada(store).await;
    let application = application();
    store
        .insert_application(application.clone(), Vec::new())
        .await
        .expect("inserted");
    let days = |count: u64| NOW + Duration::from_secs(count * 86_400);
    let remember = async |scopes, now: Timestamp| {
        let given = ConsentGrant {
            id: ConsentId::new(now, &SystemEntropy),
            user: ada.id,
            application: application.id.clone(),
            scopes: Scopes::known(scopes),
            until: now + Duration::from_secs(14 * 86_400),
        };
        store
            .remember_consent(given, now)
            .await
            .expect("remembered");
    };
    let at = async |moment| {
        store
            .consented_scopes(ada.id, &application.id, moment)
            .await
            .expect("read")
            .to_string()
    };
    remember("openid email", NOW).await;
    remember("openid profile", days(1)).await;
    assert_eq!(
        at(days(1)).await,
        "openid profile email",
        "what holds already is kept"
    );
    assert_eq!(at(days(15)).await, "");
    remember("openid", days(15)).await;
    assert_eq!(at(days(15)).await, "openid", "what is over is not");
}

#[tokio::test]
async fn a_database_that_sorts_ids_out_of_the_order_of_time_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let danish = "TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'da'";
    let url = Database::Postgres.create_with(folder.path(), danish).await;
    let error = open_store(url.url())
        .await
        .expect_err("in Danish, aa comes after z")
        .to_string();
    assert!(
        error.contains("it sorts texts by the rules of a language; make it with `createdb"),
        "{error}"
    );
}

#[tokio::test]
async fn a_database_that_can_not_be_opened_is_named_without_its_password() {
    for url in [
        "mysql://x",
        "sqlite:///proc/nowhere/assent.db",
        "postgres://u:hunter2@127.0.0.1:1/x",
    ] {
        let error = open_store(url)
            .await
            .expect_err("no such database")
            .to_string();
        assert!(
            error.starts_with("cannot open the database") && !error.contains("hunter2"),
            "{error}"
        );
    }
}
