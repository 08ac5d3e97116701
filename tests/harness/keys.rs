//! Signing keys of test instances. Tests share them, because generating two RSA keys takes longer than most tests.

use std::sync::Arc;

use assent::keys::{self, MasterKey};
use assent_model::audit::chain::ChainKey;
use assent_model::clock::Timestamp;
use assent_model::entropy::SystemEntropy;
use assent_model::id::KeyId;
use assent_model::key::{KeyMaterial, KeyPurpose, KeyTimes, SigningKey};
use assent_store::{ChainContext, Database, Store};
use tokio::sync::OnceCell;

/// Sealed with the master key that the instances of all tests have.
static KEYS: OnceCell<Vec<(KeyPurpose, String)>> = OnceCell::const_new();

async fn created(master: &MasterKey) -> Vec<(KeyPurpose, String)> {
    let mut created = Vec::new();
    for purpose in KeyPurpose::ALL {
        created.push((
            purpose,
            keys::generate(purpose, master, &SystemEntropy)
                .await
                .expect("a key"),
        ));
    }
    created
}

/// Stores the keys that a first instance would generate in an unused database.
pub async fn give_keys(url: &str, master: &MasterKey, now: Timestamp) {
    let code = master.authenticate("audit chain", b"").expect("a code");
    let chaining = ChainContext::new(ChainKey::new(code), Arc::new(SystemEntropy));
    let store = Store::start(Database::open(url).await.expect("a database"), chaining)
        .await
        .expect("a store");
    for (purpose, sealed) in KEYS.get_or_init(async || created(master).await).await {
        let key = SigningKey {
            id: KeyId::new(now, &SystemEntropy),
            purpose: *purpose,
            material: KeyMaterial::Sealed(sealed.clone()),
            times: KeyTimes::at_once(1, now),
        };
        store.add_key(key, Vec::new()).await.expect("kept");
    }
    store.close().await;
}
