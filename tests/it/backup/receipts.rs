//! Receipts outlive a restore, with the keys that verify them.

use assent_test_macros::both_databases;

use super::{Restored, back_up, run_ok};
use crate::harness::{Browser, Database, HostOptions, TestHost, Text};
use crate::lifecycle::entries;
use crate::receipts::{key_document, receipt, verify};

#[both_databases]
async fn a_restore_keeps_receipts_and_their_keys(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    ada.sign_in(&Browser::new(&host.base)).await;
    let approved = entries(&host, "event=sign-in.approved").await;
    let request = approved[0]["detail"]["request"].text();
    let before = receipt(&host, request).await;
    let keys = key_document(&host).await;
    let backup = back_up(&host).await;
    let restored = Restored::empty(database).await;
    let arguments = ["restore", backup.text(), "--accept-lost-revocations"];
    run_ok(&host, restored.url(), &arguments).await;
    let Restored {
        folder,
        database: url,
    } = restored;
    let options = HostOptions {
        database,
        ..HostOptions::default()
    };
    let host = host.replace(url, options).await;
    assert_eq!(receipt(&host, request).await, before);
    // The address of the restored instance differs, and so does its issuer.
    assert_eq!(key_document(&host).await["keys"], keys["keys"]);
    verify(&keys, &before).expect("a valid receipt");
    drop(folder);
}
