//! A database of the release before goes on: everybody keeps their state, and what was open is put in order.

use assent::id::Did;
use assent::model::search::{Place, Prefix};
use assent::model::user::LifeState;
use sqlx::migrate::Migrator;
use sqlx::{AnyConnection, Connection};

use crate::harness::{Database, open_store};

/// The last migration of the release before.
const LAST: &str = "0007";

/// Makes the tables as the release did whose last migration has this number.
pub async fn release(last: &str, url: &str, folder: &std::path::Path) -> AnyConnection {
    let released = folder.join("released");
    std::fs::create_dir(&released).expect("a folder");
    let all = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/migrations");
    for file in std::fs::read_dir(all).expect("a folder") {
        let file = file.expect("a file");
        if file.file_name().to_string_lossy().as_ref() < format!("{last}~").as_str() {
            std::fs::copy(file.path(), released.join(file.file_name())).expect("copied");
        }
    }
    sqlx::any::install_default_drivers();
    let url = if url.starts_with("sqlite:") { format!("{url}?mode=rwc") } else { url.to_owned() };
    let mut connection = AnyConnection::connect(&url).await.expect("the database");
    let migrator = Migrator::new(released).await.expect("the migrations");
    migrator.run_direct(None, &mut connection, false).await.expect("the tables");
    connection
}

#[tokio::test]
async fn everybody_keeps_their_state_and_each_person_has_one_open_request_on_both_databases() {
    for database in Database::BOTH {
        let folder = tempfile::tempdir().expect("a folder");
        let url = database.create(folder.path()).await.url().to_owned();
        let mut connection = release(LAST, &url, folder.path()).await;
        let states = ["active", "suspended", "terminated"];
        let id = |kind: usize, number: usize| format!("01a0000000007{kind:03}80000000{number:08}");
        let execute = async |connection: &mut AnyConnection, text: String| {
            sqlx::raw_sql(sqlx::AssertSqlSafe(text)).execute(connection).await.expect("kept");
        };
        let application = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK";
        execute(
            &mut connection,
            format!(
                "INSERT INTO applications (id, name, settings, version, created_at, updated_at)
                 VALUES ('{application}', 'Books', '{{}}', 1, 0, 0)"
            ),
        )
        .await;
        for (number, state) in states.iter().enumerate() {
            let (user, account) = (id(1, number), id(2, number));
            execute(
                &mut connection,
                format!(
                    "INSERT INTO users (id, did, subject, name, profile, state, version, created_at, updated_at)
                     VALUES ('{user}', 'did {number}', 'sub {number}', 'user{number}', '{{}}', '{state}', 1, 0, 0);
                     INSERT INTO accounts (id, user_id, application_id, name, roles, short_code, state, version, created_at)
                     VALUES ('{account}', '{user}', '{application}', 'user{number}', '[]', 'S{number}', '{state}', 1, 0)"
                ),
            )
            .await;
        }
        // By name and by e-mail address, which each had one; and a name that nobody has.
        for (number, user) in [(1, Some(id(1, 0))), (2, Some(id(1, 0))), (3, None)] {
            let user = user.map_or("NULL".to_owned(), |user| format!("'{user}'"));
            let (login, approval) = (id(3, number), id(4, number));
            execute(
                &mut connection,
                format!(
                    "INSERT INTO logins (id, browser, request, created_at, expires_at) VALUES ('{login}', 'b', '{{}}', 0, 0);
                     INSERT INTO approvals (id, login_id, user_id, name_digest, number, shown, requested_at, expires_at,
                                            attempts_left, state)
                     VALUES ('{approval}', '{login}', {user}, 'digest {number}', '42', '{{}}', 0, 1, 3, 'requested')"
                ),
            )
            .await;
        }
        connection.close().await.expect("closed");

        let store = open_store(&url).await.expect("brought up to date");
        store.close().await;
        let options = if url.starts_with("sqlite:") { format!("{url}?mode=rw") } else { url.clone() };
        let mut connection = AnyConnection::connect(&options).await.expect("the database");
        for table in ["users", "accounts"] {
            let kept: Vec<(String,)> =
                sqlx::query_as(sqlx::AssertSqlSafe(format!("SELECT state FROM {table} ORDER BY id")))
                    .fetch_all(&mut connection)
                    .await
                    .expect("read");
            assert_eq!(kept.iter().map(|(state,)| state.as_str()).collect::<Vec<_>>(), states, "{database:?} {table}");
            let invited = format!("UPDATE {table} SET state = 'invited' WHERE state = 'active'");
            execute(&mut connection, invited).await;
            let nonsense = sqlx::AssertSqlSafe(format!("UPDATE {table} SET state = 'nonsense'"));
            assert!(sqlx::query(nonsense).execute(&mut connection).await.is_err(), "{database:?} {table}");
        }
        let open: Vec<(String, String)> = sqlx::query_as("SELECT name_digest, state FROM approvals ORDER BY id")
            .fetch_all(&mut connection)
            .await
            .expect("read");
        let open: Vec<&str> = open.iter().map(|(_, state)| state.as_str()).collect();
        assert_eq!(open, ["withdrawn", "requested", "requested"], "{database:?}");
        let (accounts,): (i64,) =
            sqlx::query_as("SELECT COUNT(*) FROM accounts").fetch_one(&mut connection).await.expect("read");
        assert_eq!(accounts, 3, "{database:?}");
    }
}

#[tokio::test]
async fn who_was_there_before_is_found_and_counted_on_both_databases() {
    for database in Database::BOTH {
        let folder = tempfile::tempdir().expect("a folder");
        let url = database.create(folder.path()).await.url().to_owned();
        let mut connection = release("0017", &url, folder.path()).await;
        let application = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK";
        let ids = |kind: u32, number: u32| format!("01a0000000007{kind:03}80000000{number:08}");
        let mut text = format!(
            "INSERT INTO applications (id, name, settings, version, created_at, updated_at)
             VALUES ('{application}', 'Books', '{{}}', 1, 0, 0);"
        );
        for number in 0..600 {
            let (user, account) = (ids(1, number), ids(2, number));
            // What can't be read keeps nobody from starting.
            let mut key = [7; 32];
            key[..4].copy_from_slice(&number.to_be_bytes());
            let did = if number == 7 { "nonsense".to_owned() } else { Did::from_ed25519(&key).to_string() };
            text.push_str(&format!(
                "INSERT INTO users (id, did, subject, name, profile, state, version, created_at, updated_at)
                 VALUES ('{user}', '{did}', 'sub {number}', 'user{number}', '{{\"name\": \"Ada Nº{number}\"}}', 'active', 1, 0, 0);
                 INSERT INTO accounts (id, user_id, application_id, name, roles, short_code, state, version, created_at)
                 VALUES ('{account}', '{user}', '{application}', 'there{number}', '[]', 'S{number}', 'suspended', 1, 0);"
            ));
        }
        sqlx::raw_sql(sqlx::AssertSqlSafe(text)).execute(&mut connection).await.expect("kept");
        connection.close().await.expect("closed");
        for _ in 0..2 {
            let store = open_store(&url).await.expect("brought up to date");
            let prefix = |text: &str| Prefix::of(text).expect("a text");
            let found = store.users_found(&prefix("nº599"), None, None, &Place::default(), 9).await.expect("read");
            assert_eq!(
                found.iter().map(|(_, user)| user.name.as_str()).collect::<Vec<_>>(),
                ["user599"],
                "{database:?}"
            );
            let application = application.parse().expect("an id");
            let found = store.accounts_found(&application, &prefix("ada nº59"), None, &Place::default(), 99).await;
            assert_eq!(found.expect("read").len(), 11, "{database:?}");
            let found = store.accounts_found(&application, &prefix("there599"), None, &Place::default(), 9).await;
            assert_eq!(found.expect("read").len(), 1, "{database:?}");
            assert_eq!(store.users_by_state().await.expect("read"), [(LifeState::Active, 600)], "{database:?}");
            store.close().await;
        }
    }
}
