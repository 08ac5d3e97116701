//! The replacement of the master key.

use std::path::{Path, PathBuf};

use assent::domain::audit;
use assent::domain::keys::sealing_keys::{self, AHEAD, RETENTION, ReplacementStage};
use assent::domain::sessions::session::revoke_all_tokens;
use assent::keys::generation_of;
use assent_test_macros::both_databases;
use reqwest::StatusCode;

use super::*;
use crate::harness::{Application, HostOptions, TestHost, connect, jwt_claims};
use crate::oidc::refresh::{offline_tokens, refresh, refresh_token};

/// Replaces the master key in this folder. Returns the path of the previous key.
pub(crate) fn replace_master_key(folder: &Path) -> PathBuf {
    let (current, previous) = (folder.join("master.key"), folder.join("previous.key"));
    std::fs::rename(&current, &previous).expect("renamed");
    assent::keys::FileMasterKey::read_or_create(&current, &SystemEntropy).expect("a master key");
    previous
}

pub(crate) fn previous_is(file: &Path) -> String {
    format!("previous_master_key_file = \"{}\"", file.display())
}

/// Returns the generations of the sealing keys that encrypted the signing keys in the database.
async fn generations(url: &str) -> Vec<Option<u32>> {
    let mut connection = connect(url).await;
    let statement = "SELECT sealed FROM signing_keys WHERE sealed IS NOT NULL";
    let rows: Vec<(String,)> = assent_store::sql::query_as(statement)
        .fetch_all(&mut connection)
        .await
        .expect("read");
    connection.close().await;
    rows.iter().map(|(sealed,)| generation_of(sealed)).collect()
}

async fn stage(host: &Services) -> ReplacementStage {
    let found = sealing_keys::replacement(host).await;
    found.expect("read").stage
}

/// Advances the clock, and lets the instance maintain its sealing keys.
async fn pass(installation: &Installation, host: &Services, time: Duration) {
    installation.clock.advance(time);
    sealing_keys::maintain_at(host, host.now())
        .await
        .expect("maintained");
}

/// Returns the reason why an instance does not start.
async fn rejection(installation: &Installation, settings: &str) -> String {
    let host = installation.try_host(&installation.clock, settings).await;
    host.expect_err("another master key").to_string()
}

#[both_databases]
async fn identifiers_and_values_survive_a_new_master_key(database: Database) {
    let installation = Installation::new(database).await;
    let url = installation.database.url();
    let before = installation.host().await;
    let derived = |host: &Services| {
        host.root_secret
            .derive("pairwise subject", b"x")
            .expect("derived")
    };
    let (kid, identifier) = (signing(&before), derived(&before));
    let cookie = before.seal("a cookie", b"plain").expect("sealed");
    assert_eq!(generation_of(&cookie), Some(1));
    before.store.close().await;
    let old = installation.folder.path().join("previous.key");
    let previous = replace_master_key(installation.folder.path());
    assert_eq!(old, previous);

    let message = rejection(&installation, "").await;
    assert!(
        message.contains("encrypted with the master key"),
        "{message}"
    );
    let host = installation.host_with(&previous_is(&previous)).await;
    assert_eq!(stage(&host).await, ReplacementStage::Waits { instances: 0 });
    pass(&installation, &host, Duration::ZERO).await;
    // The old sealing key encrypts until all instances know the new one.
    assert_eq!(
        generation_of(&host.seal("a", b"b").expect("sealed")),
        Some(1)
    );
    pass(&installation, &host, AHEAD).await;
    assert_eq!(
        generation_of(&host.seal("a", b"b").expect("sealed")),
        Some(2)
    );
    assert!(generations(url).await.iter().all(|found| *found == Some(2)));
    assert_eq!(stage(&host).await, ReplacementStage::Expires);
    host.store.close().await;

    // The old master key no longer decrypts any value. The new one decrypts all of them.
    std::fs::rename(
        installation.folder.path().join("master.key"),
        installation.folder.path().join("new.key"),
    )
    .expect("renamed");
    std::fs::copy(&previous, installation.folder.path().join("master.key")).expect("copied");
    let message = rejection(&installation, "").await;
    assert!(
        message.contains("encrypted with the master key"),
        "{message}"
    );
    std::fs::rename(
        installation.folder.path().join("new.key"),
        installation.folder.path().join("master.key"),
    )
    .expect("renamed");
    let after = installation.host().await;
    assert_eq!((signing(&after), derived(&after)), (kid, identifier));
    let opened = after
        .sealing_keys
        .open("a cookie", &cookie)
        .expect("opened");
    assert_eq!(opened.as_slice(), b"plain");
    let verdict = audit::verify::verify(&after.store, None)
        .await
        .expect("read");
    assert!(verdict.broken.is_none(), "{verdict:?}");
}

#[both_databases]
async fn an_instance_creates_no_keys_in_place_of_lost_ones(database: Database) {
    let installation = Installation::new(database).await;
    installation.host().await.store.close().await;
    let file = installation.folder.path().join("master.key");
    let rows = async |statement: &'static str| -> i64 {
        let mut connection = connect(installation.database.url()).await;
        let (count,) = assent_store::sql::query_as(statement)
            .fetch_one(&mut connection)
            .await
            .expect("read");
        connection.close().await;
        count
    };
    let signing = rows("SELECT COUNT(*) FROM signing_keys").await;
    let mut connection = connect(installation.database.url()).await;
    connection
        .batch("DELETE FROM wrapped_keys")
        .await
        .expect("deleted");
    connection.close().await;

    for is_lost in [false, true] {
        if is_lost {
            std::fs::remove_file(&file).expect("removed");
        }
        let message = rejection(&installation, "").await;
        assert!(
            message.contains("restore the database from a backup"),
            "{message}"
        );
        assert_eq!(file.exists(), !is_lost);
        assert_eq!(rows("SELECT COUNT(*) FROM wrapped_keys").await, 0);
        assert_eq!(rows("SELECT COUNT(*) FROM signing_keys").await, signing);
    }
}

#[both_databases]
async fn the_sealing_key_waits_for_instances_with_the_old_master_key(database: Database) {
    let installation = Installation::new(database).await;
    let old = installation.host().await;
    old.store.probe(&*old.clock).await.expect("a heartbeat");
    let previous = replace_master_key(installation.folder.path());
    let new = installation.host_with(&previous_is(&previous)).await;
    new.store.probe(&*new.clock).await.expect("a heartbeat");
    pass(&installation, &new, Duration::ZERO).await;
    assert_eq!(stage(&new).await, ReplacementStage::Waits { instances: 1 });
    sealing_keys::reload(&old).await.expect("read");
    let cookie = new.seal("a cookie", b"plain").expect("sealed");
    assert!(old.sealing_keys.open("a cookie", &cookie).is_ok());
    old.store.close().await;
    pass(&installation, &new, Duration::ZERO).await;
    assert_eq!(new.sealing_keys.all().len(), 2);
    assert_eq!(stage(&new).await, ReplacementStage::Created);
}

#[both_databases]
async fn concurrent_instances_create_one_sealing_key(database: Database) {
    let installation = Installation::new(database).await;
    installation.host().await.store.close().await;
    let previous = previous_is(&replace_master_key(installation.folder.path()));
    let hosts = [
        installation.host_with(&previous).await,
        installation.host_with(&previous).await,
        installation.host_with(&previous).await,
    ];
    let mut tasks = tokio::task::JoinSet::new();
    for host in &hosts {
        let host = Arc::clone(host);
        tasks.spawn(async move { sealing_keys::maintain_at(&host, host.now()).await });
    }
    while let Some(done) = tasks.join_next().await {
        done.expect("no panic").expect("maintained");
    }
    installation.clock.advance(AHEAD);
    let cookie = hosts[0].seal("a cookie", b"plain").expect("sealed");
    assert_eq!(generation_of(&cookie), Some(2));
    for host in &hosts {
        sealing_keys::reload(host).await.expect("read");
        assert_eq!(host.sealing_keys.all().len(), 2);
        assert!(host.sealing_keys.open("a cookie", &cookie).is_ok());
    }
}

/// Starts an instance with a replaced master key. The tokens of a token family are valid until 40 days after the
/// replacement.
async fn replaced(installation: &Installation) -> Arc<Services> {
    installation.host().await.store.close().await;
    let previous = previous_is(&replace_master_key(installation.folder.path()));
    let host = installation.host_with(&previous).await;
    pass(installation, &host, Duration::ZERO).await;
    let until = (host.now() + AHEAD + 40 * DAYS).millis();
    let family = format!(
        "INSERT INTO token_families (id, code_digest, application_id, redirect_uri, scopes, user_id, account_id, \
         session_id, context, claims, offline, created_at, code_expires_at, retain_until) \
         VALUES ('f', '', '', '', '', '', '', '', '', '', 1, 0, 0, {until})"
    );
    let mut connection = connect(installation.database.url()).await;
    connection.batch(&family).await.expect("inserted");
    connection.close().await;
    pass(installation, &host, AHEAD).await;
    host
}

/// Lets the instance delete unused sealing keys. Returns the number of the remaining ones.
async fn remaining_sealing_keys(host: &Services) -> usize {
    sealing_keys::delete_replaced_at(host, host.now())
        .await
        .expect("maintained");
    host.sealing_keys.all().len()
}

#[both_databases]
async fn replaced_sealing_keys_are_deleted_when_nothing_needs_them(database: Database) {
    let installation = Installation::new(database).await;
    let host = replaced(&installation).await;
    installation.clock.advance(RETENTION);
    assert_eq!(
        remaining_sealing_keys(&host).await,
        2,
        "a refresh token is valid"
    );
    installation.clock.advance(10 * DAYS);
    assert_eq!(remaining_sealing_keys(&host).await, 1);
    assert_eq!(stage(&host).await, ReplacementStage::None);
    let mut connection = connect(installation.database.url()).await;
    let events = "SELECT event FROM audit_entries WHERE event LIKE 'sealing-key.%' ORDER BY event";
    let events: Vec<(String,)> = assent_store::sql::query_as(events)
        .fetch_all(&mut connection)
        .await
        .expect("read");
    connection.close().await;
    let events: Vec<&str> = events.iter().map(|(event,)| event.as_str()).collect();
    assert_eq!(events, ["sealing-key.created", "sealing-key.deleted"]);
}

#[both_databases]
async fn a_revocation_of_all_tokens_ends_the_need_for_replaced_sealing_keys(database: Database) {
    let installation = Installation::new(database).await;
    let host = replaced(&installation).await;
    revoke_all_tokens(&host, &AuditContext::SERVER)
        .await
        .expect("revoked");
    installation
        .clock
        .advance(RETENTION - Duration::from_secs(1));
    assert_eq!(
        remaining_sealing_keys(&host).await,
        2,
        "browsers are known by cookies"
    );
    installation.clock.advance(Duration::from_secs(1));
    assert_eq!(remaining_sealing_keys(&host).await, 1);
}

/// An attacker with write access to the database and a replaced key could try to put that key back into use.
#[both_databases]
async fn a_removed_or_delayed_sealing_key_stays_in_use(database: Database) {
    let installation = Installation::new(database).await;
    let host = replaced(&installation).await;
    let mut connection = connect(installation.database.url()).await;
    for change in [
        "UPDATE wrapped_keys SET seals_from = 9999999999999 WHERE generation = 2",
        "DELETE FROM wrapped_keys WHERE generation = 2",
    ] {
        connection.batch(change).await.expect("changed");
        assert!(sealing_keys::reload(&host).await.is_err(), "{change}");
        let sealed = host.seal("a", b"b").expect("sealed");
        assert_eq!(generation_of(&sealed), Some(2), "{change}");
    }
    connection.close().await;
}

/// Refreshes the tokens. Returns the user's identifiers and the new refresh token.
async fn refreshed(host: &TestHost, application: &Application, token: &str) -> (Value, String) {
    let (status, answer) = refresh(&host.base, application, token, &[]).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let claims = jwt_claims(answer["id_token"].text());
    (claims["sub"].clone(), refresh_token(&answer).to_owned())
}

#[both_databases]
async fn tokens_and_subjects_survive_a_new_master_key(database: Database) {
    let options = |keys| HostOptions {
        database,
        keys,
        ..HostOptions::default()
    };
    let host = TestHost::start_on(database).await;
    let application = host.web_application().await;
    let ada = host.user_with_account("ada", application.clone()).await;
    let tokens = offline_tokens(&host, &ada).await;
    let (subject, token) = refreshed(&host, &application, refresh_token(&tokens)).await;
    let access = tokens["access_token"].text().to_owned();

    let previous = previous_is(&replace_master_key(host.folder()));
    let host = host.restart_with(options(&previous)).await;
    sealing_keys::maintain_at(&host.host, host.host.now())
        .await
        .expect("maintained");
    host.clock.advance(AHEAD);
    sealing_keys::maintain_at(&host.host, host.host.now())
        .await
        .expect("maintained");
    let (again, token) = refreshed(&host, &application, &token).await;
    assert_eq!(again, subject);
    let (status, _) = crate::oidc::token::userinfo(&host, &access).await;
    assert_eq!(status, StatusCode::OK);

    let host = host.restart_with(options("")).await;
    let (again, _) = refreshed(&host, &application, &token).await;
    assert_eq!(again, subject);
}
