//! The keys that hosts sign with, where a test is not about how they are made: two of RSA take longer than most tests.

use std::sync::Arc;

use assent::keys::{self, MasterKey};
use assent_model::audit::chain::ChainKey;
use assent_model::clock::Timestamp;
use assent_model::entropy::SystemEntropy;
use assent_model::id::KeyId;
use assent_model::key::{KeyMaterial, KeyPurpose, KeyTimes, SigningKey};
use assent_store::{ChainContext, Database, Store};
use tokio::sync::OnceCell;

/// Sealed with the master key that the hosts of all tests have.
static KEYS: OnceCell<Vec<(KeyPurpose, String)>> = OnceCell::const_new();

async fn made(master: &MasterKey) -> Vec<(KeyPurpose, String)> {
    let mut made = Vec::new();
    for purpose in KeyPurpose::ALL {
        made.push((
            purpose,
            keys::generate(purpose, master, &SystemEntropy)
                .await
                .expect("a key"),
        ));
    }
    made
}

/// Gives a database that no host has used yet the keys that its first host would make.
pub async fn give_keys(url: &str, master: &MasterKey, now: Timestamp) {
    let code = master.authenticate("audit chain", b"").expect("a code");
    let chaining = ChainContext::new(ChainKey::new(code), Arc::new(SystemEntropy));
    let store = Store::start(Database::open(url).await.expect("a database"), chaining)
        .await
        .expect("a store");
    for (purpose, sealed) in KEYS.get_or_init(async || made(master).await).await {
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
