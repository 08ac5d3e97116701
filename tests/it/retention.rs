//! Background tasks: they are correct, and their cost depends on the pending work, not on the size of the database.

use assent_store::sql::{self, Connection};
use assent_test_macros::both_databases;
use std::time::Duration;

use assent_model::clock::Timestamp;
use assent_model::entropy::SystemEntropy;
use assent_model::id::{Did, SessionId, UserId};
use assent_store::{Retention, Store, UserAction};
use reqwest::StatusCode;

use crate::harness::{
    Browser, Database, DatabaseUrl, TestHost, Text, open_store, temp_folder, write_user,
};
use crate::oidc::token::userinfo;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const HOUR: Duration = Duration::from_secs(3600);
pub(crate) const RETENTION: Retention = Retention {
    logins: HOUR,
    sessions: HOUR,
    enrolments: HOUR,
    admin_tokens: HOUR,
    traces: HOUR,
    receipts: HOUR,
    audit: HOUR,
    streams: &[],
    denials: HOUR,
};

/// A store with Ada and some applications, and the test's own connection to its database.
struct Fixture {
    store: Store,
    connection: Connection,
    url: DatabaseUrl,
    applications: Vec<Did>,
    _folder: tempfile::TempDir,
}

impl Fixture {
    async fn new(database: Database) -> Self {
        let folder = temp_folder();
        let url = database.create(folder.path()).await;
        let store = open_store(url.url()).await.expect("a store");
        let mut connection = url.connection().await;
        let ada = "INSERT INTO users (id, did, subject, name, search_key, profile, state, version, created_at,
                                      updated_at)
                   VALUES ('ada', 'did', 'subject', 'ada', 'ada', '{}', 'active', 1, 0, 0)";
        sql::query(ada)
            .execute(&mut connection)
            .await
            .expect("inserted");
        let mut applications: Vec<Did> = (0..4).map(|n| Did::from_ed25519(&[n; 32])).collect();
        applications.sort_by_key(ToString::to_string);
        for application in &applications {
            sql::query(
                "INSERT INTO applications (id, name, search_key, settings, version, created_at, updated_at)
                 VALUES ($1, 'Books', 'books', '{}', 1, 0, 0)",
            )
            .bind(application.to_string())
            .execute(&mut connection)
            .await
            .expect("inserted");
        }
        Self {
            store,
            connection,
            url,
            applications,
            _folder: folder,
        }
    }

    /// Inserts a logout delivery to this application, due after `due` seconds.
    async fn delivery(&mut self, id: &str, application: usize, due: u64) {
        sql::query(
            "INSERT INTO logout_deliveries (id, application_id, sid, subject, attempts, next_attempt_at, created_at)
             VALUES ($1, $2, $1, 'subject', 0, $3, $3)",
        )
        .bind(id.to_owned())
        .bind(self.applications[application].to_string())
        .bind((NOW + Duration::from_secs(due)).millis())
        .execute(&mut self.connection)
        .await
        .expect("inserted");
    }

    /// Inserts a session with this `sid` that began at `began` and lasts an hour, with an application that takes part
    /// in it.
    async fn session(&mut self, sid: &str, began: Timestamp) {
        sql::query(
            "INSERT INTO sessions (id, digest, sid, user_id, auth_time, amr, created_at, expires_at, signed_out)
             VALUES ($1, '', $2, 'ada', $3, '[]', $3, $4, 0)",
        )
        .bind(SessionId::new(began, &SystemEntropy).to_string())
        .bind(sid.to_owned())
        .bind(began.millis())
        .bind((began + HOUR).millis())
        .execute(&mut self.connection)
        .await
        .expect("inserted");
        sql::query(
            "INSERT INTO session_applications (sid, application_id, user_id, subject) VALUES ($1, $2, 'ada', 'subject')
             ON CONFLICT (sid, application_id) DO NOTHING",
        )
        .bind(sid.to_owned())
        .bind(self.applications[0].to_string())
        .execute(&mut self.connection)
        .await
        .expect("inserted");
    }

    /// Returns the `sid`s of the sessions for which the participating applications are stored.
    async fn names(&mut self) -> Vec<String> {
        let names: Vec<(String,)> =
            sql::query_as("SELECT sid FROM session_applications ORDER BY sid")
                .fetch_all(&mut self.connection)
                .await
                .expect("read");
        names.into_iter().map(|(sid,)| sid).collect()
    }

    /// Returns the number of scanned rows of a table. Only PostgreSQL counts them, and reports closed connections.
    async fn looked_at(self, table: &str) -> i64 {
        self.store.close().await;
        self.connection.close().await;
        let (count,): (i64,) = sql::query_as(
            "SELECT CAST(seq_tup_read + (SELECT SUM(idx_tup_read) FROM pg_stat_user_indexes i WHERE i.relid = t.relid)
                         AS BIGINT)
             FROM pg_stat_user_tables t WHERE relname = $1",
        )
        .bind(table.to_owned())
        .fetch_one(&mut self.url.connection().await)
        .await
        .expect("read");
        count
    }

    /// Returns the number of rows of each table that were read without an index.
    async fn scanned(self) -> Vec<(String, i64)> {
        self.store.close().await;
        self.connection.close().await;
        sql::query_as("SELECT CAST(relname AS TEXT), seq_tup_read FROM pg_stat_user_tables")
            .fetch_all(&mut self.url.connection().await)
            .await
            .expect("read")
    }
}

#[both_databases]
async fn a_token_without_a_family_is_invalid_without_an_error(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let tokens = ada.tokens(&host, &Browser::new(&host.base)).await;
    let token = tokens["access_token"].text();
    assert_eq!(
        userinfo(&host, token).await.0,
        StatusCode::OK,
        "{database:?}"
    );
    sql::query("DELETE FROM token_families")
        .execute(&mut host.connection().await)
        .await
        .expect("deleted");
    assert_eq!(
        userinfo(&host, token).await.0,
        StatusCode::UNAUTHORIZED,
        "{database:?}"
    );
}

#[both_databases]
async fn pending_logouts_are_ordered_oldest_first_per_application(database: Database) {
    let mut it = Fixture::new(database).await;
    // The order of the ids differs from the order of the times, and so does the order of the applications.
    for (id, application, due) in [
        ("z", 2, 1),
        ("a", 2, 4),
        ("m", 1, 2),
        ("b", 0, 3),
        ("later", 3, 60),
    ] {
        it.delivery(id, application, due).await;
    }
    let now = NOW + Duration::from_secs(10);
    let [third, second, first, _] = [0, 1, 2, 3].map(|n| it.applications[n].clone());
    assert_eq!(
        it.store.due_logouts(now).await.expect("read"),
        [first.clone(), second.clone(), third.clone()]
    );
    let claimed = it
        .store
        .claim_logout(&first, HOUR, now)
        .await
        .expect("claimed")
        .expect("a delivery");
    assert_eq!(
        (claimed.id.as_str(), claimed.attempts),
        ("z", 1),
        "{database:?}"
    );
    assert_eq!(
        it.store.due_logouts(now).await.expect("read"),
        [second, third, first.clone()],
        "{database:?}"
    );
    assert_eq!(
        it.store
            .claim_logout(&first, HOUR, now)
            .await
            .expect("claimed")
            .expect("a delivery")
            .id,
        "a"
    );
    assert_eq!(
        it.store
            .claim_logout(&first, HOUR, now)
            .await
            .expect("claimed"),
        None,
        "{database:?}"
    );
    assert_eq!(it.store.due_logouts(now).await.expect("read").len(), 2);
}

#[tokio::test]
async fn a_hundred_thousand_pending_logouts_are_not_scanned() {
    let mut it = Fixture::new(Database::Postgres).await;
    sql::query(
        "INSERT INTO logout_deliveries (id, application_id, sid, subject, attempts, next_attempt_at, created_at)
         SELECT 'sid' || n, $1, 'sid' || n, 'subject', 0, $2 + n, $2 FROM generate_series(1, 100000) AS n",
    )
    .bind(it.applications[0].to_string())
    .bind(NOW.millis())
    .execute(&mut it.connection)
    .await
    .expect("inserted");
    for application in 1..4 {
        it.delivery(&format!("one of {application}"), application, 1)
            .await;
    }
    let now = NOW + HOUR;
    for _ in 0..10 {
        let due = it.store.due_logouts(now).await.expect("read");
        assert_eq!(due.len(), 4);
        it.store
            .claim_logout(&it.applications[0], HOUR, now)
            .await
            .expect("claimed")
            .expect("a delivery");
    }
    let count = it.looked_at("logout_deliveries").await;
    assert!(count < 1000, "{count} rows were read");
}

#[both_databases]
async fn session_records_are_deleted_with_their_last_name(database: Database) {
    let mut it = Fixture::new(database).await;
    // The user of the second session signed in again after three hours, in the same browser.
    it.session("once", NOW).await;
    it.session("twice", NOW).await;
    it.session("twice", NOW + 3 * HOUR).await;
    assert_eq!(
        it.store
            .apply_retention(RETENTION, NOW + HOUR)
            .await
            .expect("swept"),
        0
    );
    assert_eq!(it.names().await, ["once", "twice"]);
    assert_eq!(
        it.store
            .apply_retention(RETENTION, NOW + 2 * HOUR)
            .await
            .expect("swept"),
        2
    );
    assert_eq!(it.names().await, ["twice"], "{database:?}");
    assert_eq!(
        it.store
            .apply_retention(RETENTION, NOW + 5 * HOUR)
            .await
            .expect("swept"),
        1
    );
    assert!(it.names().await.is_empty(), "{database:?}");
}

#[tokio::test]
async fn retention_does_not_scan_active_sessions() {
    let mut it = Fixture::new(Database::Postgres).await;
    for statement in [
        "INSERT INTO sessions (id, digest, sid, user_id, auth_time, amr, created_at, expires_at, signed_out)
         SELECT $1 || n, '', 'sid' || n, 'ada', 0, '[]', 0, $2, 0 FROM generate_series(1, 20000) AS n",
        "INSERT INTO session_applications (sid, application_id, user_id, subject)
         SELECT 'sid' || n, $1, 'ada', 'subject' FROM generate_series(1, 20000) AS n WHERE n > 0 OR $2 > 0",
    ] {
        let first = if statement.contains("sessions (id") {
            SessionId::new(NOW + HOUR, &SystemEntropy).to_string()
        } else {
            it.applications[0].to_string()
        };
        let query = sql::query(statement).bind(first).bind((NOW + 3 * HOUR).millis());
        query.execute(&mut it.connection).await.expect("inserted");
    }
    it.session("over", NOW - HOUR).await;
    for _ in 0..3 {
        it.store
            .apply_retention(RETENTION, NOW + HOUR)
            .await
            .expect("swept");
    }
    assert_eq!(it.names().await.len(), 20_000);
    // The test itself has just read each row once.
    let count = it.looked_at("session_applications").await - 20_000;
    assert!(count < 1000, "{count} rows were read");
}

#[both_databases]
async fn unused_codes_are_deleted_and_used_codes_are_kept(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let (forgotten, exchanged) = (Browser::new(&host.base), Browser::new(&host.base));
    ada.sign_in(&forgotten).await;
    let code = ada.sign_in(&exchanged).await;
    let (_, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    let token = tokens["access_token"].text();
    host.advance(601);
    host.host
        .store
        .apply_retention(RETENTION, host.host.now())
        .await
        .expect("swept");
    let mut connection = host.connection().await;
    let left: Vec<(String,)> = sql::query_as("SELECT claims FROM token_families")
        .fetch_all(&mut connection)
        .await
        .expect("read");
    assert_eq!(left, [("{}".to_owned(),)], "{database:?}");
    // The token family exists as long as its tokens, and detects a second use of the code.
    assert_eq!(
        userinfo(&host, token).await.0,
        StatusCode::OK,
        "{database:?}"
    );
    host.advance(2900);
    host.host
        .store
        .apply_retention(RETENTION, host.host.now())
        .await
        .expect("swept");
    assert_eq!(
        userinfo(&host, token).await.0,
        StatusCode::OK,
        "{database:?}"
    );
    assert_eq!(
        ada.application.exchange(&host.base, &code, &[]).await.1["error"],
        "invalid_grant"
    );
    assert_eq!(
        userinfo(&host, token).await.0,
        StatusCode::UNAUTHORIZED,
        "{database:?}"
    );
}

/// While a transaction reads an old snapshot, PostgreSQL keeps deleted rows in the indexes.
#[tokio::test]
async fn deletion_beside_an_open_snapshot_does_not_slow_down() {
    const ROWS: i64 = 20_000;
    for (table, insert) in [
        (
            "sign_on_requests",
            "INSERT INTO sign_on_requests (id, request, expires_at)
             SELECT lpad(to_hex($1 + n), 12, '0') || repeat('0', 20), '', $1
             FROM generate_series(1, CAST($2 AS BIGINT)) AS n",
        ),
        (
            "revoked_tokens",
            "INSERT INTO revoked_tokens (id, expires_at)
             SELECT 'token' || n, $1 + n FROM generate_series(1, CAST($2 AS BIGINT)) AS n",
        ),
    ] {
        let mut it = Fixture::new(Database::Postgres).await;
        sql::query(insert)
            .bind(NOW.millis())
            .bind(ROWS)
            .execute(&mut it.connection)
            .await
            .expect("inserted");
        // Autovacuum does this in production. Without it, PostgreSQL does not know the size of the table.
        it.connection.batch("ANALYZE").await.expect("analysed");
        let mut reader = it.url.connection().await;
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT count(*) FROM users;";
        reader.batch(begin).await.expect("a snapshot");
        let deleted = it
            .store
            .apply_retention(RETENTION, NOW + 48 * HOUR)
            .await
            .expect("applied");
        assert_eq!(i64::try_from(deleted), Ok(ROWS), "{table}");
        reader.batch("COMMIT").await.expect("ended");
        reader.close().await;
        let count = it.looked_at(table).await;
        // The first slices of a table of this size may scan it. From the start of the index, the factor would be 20.
        assert!(count <= 8 * ROWS, "{table}: {count} rows were read");
    }
}

/// Without the index, the deletion of a user or an application reads whole tables.
#[tokio::test]
async fn every_foreign_key_has_an_index() {
    let mut it = Fixture::new(Database::Postgres).await;
    let without: Vec<(String,)> = sql::query_as(
        "SELECT CAST(conrelid AS regclass) || ' ' || conname FROM pg_constraint
         JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]
         WHERE contype = 'f' AND conparentid = 0
           AND NOT EXISTS (SELECT 1 FROM pg_index
                           WHERE indrelid = conrelid AND indkey[0] = conkey[1]
                             AND COALESCE(pg_get_expr(indpred, indrelid), '')
                                 IN ('', '(' || attname || ' IS NOT NULL)'))",
    )
    .fetch_all(&mut it.connection)
    .await
    .expect("read");
    assert_eq!(without, []);
}

#[tokio::test]
async fn the_erasure_of_a_user_scans_no_rows_of_others() {
    let mut it = Fixture::new(Database::Postgres).await;
    let user = UserId::new(NOW, &SystemEntropy);
    for statement in [
        "INSERT INTO users (id, did, subject, name, search_key, profile, state, version, created_at, updated_at)
         VALUES ($1, 'did 2', 'subject 2', 'bob', 'bob', '{}', 'terminated', 1, 0, 0)",
        "INSERT INTO login_names (name, user_id) VALUES ('bob', $1)",
    ] {
        sql::query(statement)
            .bind(user.to_string())
            .execute(&mut it.connection)
            .await
            .expect("inserted");
    }
    for statement in [
        "INSERT INTO logins (id, browser, request, context, created_at, expires_at)
         SELECT 'login' || n, '', '{}', '{}', $1, $1 FROM generate_series(1, 20000) AS n",
        "INSERT INTO approvals (id, login_id, user_id, named_user, name_digest, kind, browser, number, attempts_left,
                                prompt, requested_at, expires_at)
         SELECT 'approval' || n, 'login' || n, 'ada', 'ada', 'digest', 'typed', '', '10', 3, '{}', $1, $1
         FROM generate_series(1, 20000) AS n",
        "INSERT INTO sessions (id, digest, sid, user_id, auth_time, amr, created_at, expires_at, signed_out)
         SELECT 'session' || n, '', 'sid' || n, 'ada', 0, '[]', 0, $1, 0 FROM generate_series(1, 20000) AS n",
        "INSERT INTO token_families (id, code_digest, application_id, redirect_uri, scopes, user_id, account_id,
                                     session_id, context, claims, offline, created_at, code_expires_at, retain_until)
         SELECT 'family' || n, '', '', '', '', 'ada', '', 'session' || n, '{}', '{}', 0, $1, $1, $1 + 86400000
         FROM generate_series(1, 20000) AS n",
        "INSERT INTO idempotent_requests (id, body_digest, in_progress_until, expires_at, attempt)
         SELECT 'request' || n, '', $1, $1, '' FROM generate_series(1, 20000) AS n",
        "INSERT INTO idempotent_request_subjects (request_id, subject)
         SELECT 'request' || n, 'user' || n FROM generate_series(1, 20000) AS n WHERE $1 > 0",
        "INSERT INTO audit_entries (id, lane, seq, previous, digest, happened_at, event, actor_kind, actor, user_id,
                                    detail)
         SELECT 'entry' || n, 0, n, '', '', $1, 'session.started', 'user', 'ada', 'ada', '{}'
         FROM generate_series(1, 20000) AS n",
    ] {
        sql::query(statement)
            .bind(NOW.millis())
            .execute(&mut it.connection)
            .await
            .expect("inserted");
    }
    // Autovacuum does this in production.
    it.connection.batch("ANALYZE").await.expect("analysed");
    let name = "erased".parse().expect("a name");
    let erasure = UserAction::Erase(user, 1, name);
    let erased = write_user(&it.store, erasure, NOW).await;
    erased.expect("erased");
    for (table, count) in it.scanned().await {
        assert!(count < 1000, "{count} rows of {table} were scanned");
    }
}
