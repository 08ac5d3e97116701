//! Keys of test instances. Tests share the signing keys, because the generation of two RSA keys takes longer than most
//! tests.

use std::sync::Arc;

use assent::keys::{self, FileMasterKey, MasterKey, RootSecret, SealingKeys, SymmetricKey};
use assent_model::audit::chain::ChainKey;
use assent_model::clock::Timestamp;
use assent_model::entropy::SystemEntropy;
use assent_model::id::KeyId;
use assent_model::key::{KeyMaterial, KeyPurpose, KeyTimes, SigningKey};
use assent_model::secret::Digest;
use assent_model::wrapped_key::WrappedKeyPurpose;
use assent_store::{ChainContext, Database, Store};
use tokio::sync::OnceCell;

/// The sealing key of all test instances, and the signing keys that it sealed.
struct SharedKeys {
    sealing: SymmetricKey,
    signing: Vec<(KeyPurpose, String)>,
}

static KEYS: OnceCell<SharedKeys> = OnceCell::const_new();

async fn created() -> SharedKeys {
    let sealing = SymmetricKey::generate(&SystemEntropy);
    let keys = SealingKeys::single(sealing.clone()).expect("a sealing key");
    let mut signing = Vec::new();
    for purpose in KeyPurpose::ALL
        .into_iter()
        .filter(|purpose| purpose.has_key_at_start())
    {
        let now = Timestamp::from_millis(0);
        let sealed = keys::generate(purpose, &keys, now, &SystemEntropy).await;
        signing.push((purpose, sealed.expect("a key")));
    }
    SharedKeys { sealing, signing }
}

/// Stores the keys that a first instance would generate in an unused database. The root secret authenticates the
/// compiled plugins that all tests share. So it depends on the master key, which the tests also share.
pub async fn give_keys(url: &str, master: &FileMasterKey, now: Timestamp) {
    let shared = KEYS.get_or_init(created).await;
    let database = Database::open(url).await.expect("a database");
    let root = Digest::sha256(master.fingerprint().as_bytes());
    let root = SymmetricKey::from_bytes(root.as_bytes()).expect("32 bytes");
    let mut all = Vec::new();
    for (purpose, key) in [
        (WrappedKeyPurpose::Root, &root),
        (WrappedKeyPurpose::Sealing(1), &shared.sealing),
    ] {
        let wrapped = keys::wrap(master, purpose, now, key, &SystemEntropy);
        all.push(wrapped.expect("wrapped"));
    }
    let added = database.add_first_wrapped_keys(&all).await;
    added.expect("stored");
    let code = RootSecret::new(root).derive("audit chain", b"");
    let code = code.expect("a code");
    let chaining = ChainContext::new(
        ChainKey::new(&code).expect("a key"),
        Arc::new(SystemEntropy),
    );
    let store = Store::start(database, chaining, master.fingerprint()).await;
    let store = store.expect("a store");
    for (purpose, sealed) in &shared.signing {
        let key = SigningKey {
            id: KeyId::new(now, &SystemEntropy),
            purpose: *purpose,
            material: KeyMaterial::Sealed(sealed.clone()),
            times: KeyTimes::at_once(1, now),
        };
        store.add_key(key, Vec::new()).await.expect("stored");
    }
    store.close().await;
}
