//! A database of the first release goes on with its keys.

use assent::entropy::Entropy;
use assent::keys::{self as sealed_keys, MasterKey, PushKey};
use assent::model::key::{KeyPurpose, KeyStage, SigningAlgorithm};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sqlx::any::AnyConnectOptions;
use sqlx::migrate::Migrator;
use sqlx::{AnyConnection, ConnectOptions, Connection};

use super::*;

/// Makes the tables as the first release did, and the two keys that it made: their sealed texts.
async fn first_release(installation: &Installation, master: &MasterKey) -> [String; 2] {
    let released = installation.folder.path().join("released");
    std::fs::create_dir(&released).expect("a folder");
    let migration = "0001_first_light.sql";
    let all = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/migrations");
    std::fs::copy(all.join(migration), released.join(migration)).expect("copied");
    sqlx::any::install_default_drivers();
    let url = match installation.url.strip_prefix("sqlite:") {
        Some(_) => format!("{}?mode=rwc", installation.url),
        None => installation.url.clone(),
    };
    let options: AnyConnectOptions = url.parse().expect("a URL");
    let mut connection: AnyConnection = options.connect().await.expect("the database");
    let migrator = Migrator::new(released).await.expect("a migration");
    migrator.run_direct(None, &mut connection, false).await.expect("the tables");
    let id_token = KeyPurpose::IdToken(SigningAlgorithm::Rs256);
    let id_token = sealed_keys::generate(id_token, master, &SystemEntropy).await.expect("a key");
    let push = sealed_keys::generate(KeyPurpose::Push, master, &SystemEntropy).await.expect("a key");
    for (purpose, sealed) in [("id_token", &id_token), ("push", &push)] {
        let mut id = [0; 16];
        SystemEntropy.fill(&mut id);
        sqlx::query("INSERT INTO signing_keys (id, purpose, sealed, created_at) VALUES ($1, $2, $3, $4)")
            .bind(id.map(|byte| format!("{byte:02x}")).concat())
            .bind(purpose)
            .bind(sealed)
            .bind(installation.clock.now().millis())
            .execute(&mut connection)
            .await
            .expect("kept");
    }
    connection.close().await.expect("closed");
    [id_token, push]
}

/// The thumbprint of RFC 7638, as the first release named its key.
fn thumbprint(private_key: &[u8]) -> String {
    let key = openssl::pkey::PKey::private_key_from_pkcs8(private_key).expect("a key").rsa().expect("RSA");
    let [n, e] = [key.n(), key.e()].map(|number| URL_SAFE_NO_PAD.encode(number.to_vec()));
    URL_SAFE_NO_PAD.encode(openssl::sha::sha256(format!(r#"{{"e":"{e}","kty":"RSA","n":"{n}"}}"#).as_bytes()))
}

#[tokio::test]
async fn a_database_of_the_first_release_keeps_its_keys_and_their_names() {
    for database in Database::BOTH {
        let installation = Installation::new(database).await;
        let master = MasterKey::read_or_make(&installation.folder.path().join("master.key"), &SystemEntropy);
        let master = master.expect("a key");
        let [id_token, push] = first_release(&installation, &master).await;
        let host = installation.host().await;
        assert_eq!(signing(&host), thumbprint(&master.open("id_token", &id_token).expect("opened")), "{database:?}");
        assert_eq!(published(&host).await, [signing(&host)]);
        let push = PushKey::open(&push, &master, String::new()).expect("a key");
        assert_eq!(host.push_key.public_key(), push.public_key(), "devices are subscribed with it");
        // It lives on like any other.
        installation.pass(&host, 89 * DAYS).await;
        assert_eq!(stages(&host), [KeyStage::Signing, KeyStage::Published]);
    }
}
