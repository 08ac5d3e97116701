//! The lifecycle of a key, on both databases.

use assent::keys::IdTokenError;
use assent_model::clock::{Clock, Timestamp};
use assent_model::id::KeyId;
use assent_model::key::KeyStage::{Archived, Expired, Published, Retired, Revoked, Signing};
use assent_model::key::{KeyMaterial, KeyPurpose, SigningAlgorithm, SigningKey};
use assent_test_macros::both_databases;
use reqwest::Method;

use super::*;
use crate::harness::{TestHost, in_time};

const RS256: SigningAlgorithm = SigningAlgorithm::Rs256;

#[both_databases]
async fn a_key_is_published_activated_retired_and_deleted(database: Database) {
    let installation = Installation::new(database).await;
    let host = installation.host().await;
    let first = signing(&host);
    let early = token(&host, RS256, claims()).await;
    installation.pass(&host, 88 * DAYS + 23 * HOURS).await;
    assert_eq!(stages(&host), [Signing]);

    installation.pass(&host, HOURS).await;
    assert_eq!(stages(&host), [Signing, Published]);
    let set = published(&host);
    assert_eq!(
        (set.len(), &set[0], &signing(&host)),
        (2, &first, &first),
        "the active key comes first"
    );
    installation
        .pass(&host, 24 * HOURS - std::time::Duration::from_secs(1))
        .await;
    assert_eq!(signing(&host), first);

    // The change happens at that time, without any action.
    installation
        .clock
        .advance(std::time::Duration::from_secs(1));
    assert_eq!(stages(&host), [Retired, Signing]);
    assert_eq!(signing(&host), set[1]);
    assert_eq!(published(&host), [set[1].clone(), first.clone()]);
    assert_eq!(host.key_ring.verify_own(&early), Ok(object(claims())));

    installation.pass(&host, 2 * DAYS).await;
    assert_eq!(stages(&host), [Archived, Signing]);
    assert_eq!(published(&host), [set[1].clone()]);
    let stored = host.store.signing_keys().await.expect("read");
    let stored = stored
        .into_iter()
        .find(|key| key.purpose == KeyPurpose::IdToken(RS256))
        .expect("the first");
    assert!(
        matches!(stored.material, KeyMaterial::Public(_)),
        "the private key is deleted"
    );
    let fresh_start = installation.host().await;
    for host in [&host, &fresh_start] {
        assert_eq!(
            host.key_ring.verify_own(&early),
            Ok(object(claims())),
            "as the hint of an expired token"
        );
    }

    installation.clock.advance(90 * DAYS);
    assert_eq!(stages(&host), [Expired, Signing]);
    signing_keys::maintain_at(&host, host.now())
        .await
        .expect("maintained");
    assert_eq!(stages(&host), [Signing, Published]);
    assert_eq!(
        host.key_ring.verify_own(&early),
        Err(IdTokenError::UnknownKey)
    );
}

#[tokio::test]
async fn each_algorithm_has_its_own_keys() {
    let host = Installation::new(Database::Sqlite).await.host().await;
    let set = host.key_ring.key_set(host.now());
    let of = |number: usize| (&set["keys"][number]["alg"], &set["keys"][number]["n"]);
    assert_eq!((of(0).0, of(1).0), (&json!("RS256"), &json!("PS256")));
    assert_ne!(of(0).1, of(1).1);
    let jwk = |number: usize| {
        josekit::jwk::Jwk::from_map(object(set["keys"][number].clone())).expect("a key")
    };
    let rs256 = josekit::jws::RS256
        .verifier_from_jwk(&jwk(0))
        .expect("a key");
    let ps256 = josekit::jws::PS256
        .verifier_from_jwk(&jwk(1))
        .expect("a key");
    for (algorithm, verifier) in [
        (
            SigningAlgorithm::Rs256,
            &rs256 as &dyn josekit::jws::JwsVerifier,
        ),
        (SigningAlgorithm::Ps256, &ps256),
    ] {
        let token = token(&host, algorithm, claims()).await;
        let (payload, header) =
            josekit::jwt::decode_with_verifier(&token, verifier).expect("a valid signature");
        assert_eq!(
            (payload.claims_set(), header.token_type()),
            (&object(claims()), Some("JWT"))
        );
        assert_eq!(host.key_ring.verify_own(&token), Ok(object(claims())));
    }
}

#[tokio::test]
async fn after_a_long_sleep_the_old_key_signs_until_the_next_is_published() {
    let installation = Installation::new(Database::Sqlite).await;
    let host = installation.host().await;
    let first = signing(&host);
    installation.clock.advance(400 * DAYS);
    assert_eq!(
        (signing(&host), published(&host)),
        (first.clone(), vec![first.clone()])
    );
    signing_keys::maintain_at(&host, host.now())
        .await
        .expect("maintained");
    assert_eq!(
        (signing(&host), stages(&host)),
        (first.clone(), vec![Signing, Published])
    );
    installation.pass(&host, DAYS).await;
    assert_eq!(
        (stages(&host), signing(&host) == first),
        (vec![Retired, Signing], false)
    );
}

#[tokio::test]
async fn a_clock_set_back_leaves_an_active_key() {
    let installation = Installation::new(Database::Sqlite).await;
    let host = installation.host().await;
    let first = signing(&host);
    signing_keys::rotate(&host, RS256, Takeover::Now, &AuditContext::SERVER)
        .await
        .expect("rotated");
    installation.clock.advance(PUBLICATION_MARGIN);
    assert_ne!(signing(&host), first);
    let long_ago = Timestamp::from_millis(installation.clock.now().millis() / 2);
    assert_eq!(
        host.key_ring
            .signer(RS256, long_ago)
            .expect("a key")
            .key_id(),
        first
    );
}

#[tokio::test]
async fn without_a_rotation_interval_only_commands_rotate() {
    let installation = Installation::new(Database::Sqlite).await;
    let host = installation
        .host_with("rotation_interval = \"0s\"\npublish_ahead = \"2h\"")
        .await;
    installation.pass(&host, 4000 * DAYS).await;
    assert_eq!(stages(&host), [Signing]);
    assert!(matches!(
        signing_keys::rotate(&host, RS256, Takeover::InTime, &AuditContext::SERVER).await,
        Ok(RotationOutcome::Published(_))
    ));
    assert!(matches!(
        signing_keys::rotate(&host, RS256, Takeover::InTime, &AuditContext::SERVER).await,
        Ok(RotationOutcome::Waiting(_))
    ));
    installation.pass(&host, 2 * HOURS).await;
    assert_eq!(stages(&host), [Retired, Signing]);
}

#[both_databases]
async fn an_immediate_rotation_activates_the_pending_key(database: Database) {
    let installation = Installation::new(database).await;
    let host = installation.host().await;
    signing_keys::rotate(&host, RS256, Takeover::InTime, &AuditContext::SERVER)
        .await
        .expect("rotated");
    let set = published(&host);
    installation.clock.advance(PUBLICATION_MARGIN);
    let RotationOutcome::Signing(now) =
        signing_keys::rotate(&host, RS256, Takeover::Now, &AuditContext::SERVER)
            .await
            .expect("rotated")
    else {
        panic!("it signs");
    };
    assert_eq!(
        (now.key_id.clone(), signing(&host)),
        (set[1].clone(), set[1].clone())
    );
    assert_eq!(stages(&host), [Retired, Signing]);
}

/// Clients cache the key set. A key is in their cache before they receive a token with its signature.
#[both_databases]
async fn an_immediate_rotation_waits_for_the_caches_of_clients(database: Database) {
    let installation = Installation::new(database).await;
    let host = installation.host().await;
    let first = signing(&host);
    let rotate = || signing_keys::rotate(&host, RS256, Takeover::Now, &AuditContext::SERVER);
    let Ok(RotationOutcome::Published(next)) = rotate().await else {
        panic!("it is published");
    };
    assert_eq!(published(&host), [first.clone(), next.key_id.clone()]);
    installation.clock.advance(PUBLICATION_MARGIN / 2);
    let Ok(RotationOutcome::Waiting(same)) = rotate().await else {
        panic!("it waits");
    };
    assert_eq!(
        (same.key_id, same.times),
        (next.key_id.clone(), next.times),
        "a repetition changes nothing"
    );
    installation
        .clock
        .advance(PUBLICATION_MARGIN / 2 - std::time::Duration::from_millis(1));
    assert_eq!(signing(&host), first);
    installation
        .clock
        .advance(std::time::Duration::from_millis(1));
    assert_eq!(signing(&host), next.key_id);
    assert_eq!(stages(&host), [Retired, Signing]);
}

#[both_databases]
async fn a_revoked_key_is_removed_at_once_and_another_signs(database: Database) {
    let installation = Installation::new(database).await;
    let host = installation.host().await;
    let first = signing(&host);
    let forged = token(&host, RS256, claims()).await;

    // No key is pending, so the server creates one.
    let revoked = signing_keys::revoke(&host, &first, &AuditContext::SERVER)
        .await
        .expect("revoked");
    assert!(
        matches!(&revoked, signing_keys::RevocationOutcome::Done { signing: now, .. } if *now == signing(&host)),
        "{revoked:?}"
    );
    assert_eq!(stages(&host), [Revoked, Signing]);
    assert!(!published(&host).contains(&first));
    assert_eq!(
        host.key_ring.verify_own(&forged),
        Err(IdTokenError::UnknownKey)
    );
    assert!(matches!(
        signing_keys::revoke(&host, &first, &AuditContext::SERVER).await,
        Ok(signing_keys::RevocationOutcome::Already)
    ));
    assert!(matches!(
        signing_keys::revoke(&host, "nothing", &AuditContext::SERVER).await,
        Ok(signing_keys::RevocationOutcome::Unknown)
    ));

    // A pending key replaces the revoked active key. A pending key that is revoked itself replaces no key.
    let second = signing(&host);
    signing_keys::rotate(&host, RS256, Takeover::InTime, &AuditContext::SERVER)
        .await
        .expect("rotated");
    let waiting = published(&host)[1].clone();
    signing_keys::revoke(&host, &waiting, &AuditContext::SERVER)
        .await
        .expect("revoked");
    assert_eq!(
        (stages(&host), signing(&host)),
        (vec![Revoked, Signing, Revoked], second.clone())
    );
    signing_keys::rotate(&host, RS256, Takeover::InTime, &AuditContext::SERVER)
        .await
        .expect("rotated");
    let waiting = published(&host)[1].clone();
    signing_keys::revoke(&host, &second, &AuditContext::SERVER)
        .await
        .expect("revoked");
    assert_eq!(
        (stages(&host), signing(&host)),
        (vec![Revoked, Revoked, Revoked, Signing], waiting.clone())
    );

    // A retired key does not become active again.
    let third = waiting;
    signing_keys::rotate(&host, RS256, Takeover::Now, &AuditContext::SERVER)
        .await
        .expect("rotated");
    installation.clock.advance(PUBLICATION_MARGIN);
    signing_keys::rotate(&host, RS256, Takeover::InTime, &AuditContext::SERVER)
        .await
        .expect("rotated");
    let [fourth, waiting, retired] = &published(&host)[..] else {
        panic!("three keys")
    };
    assert_eq!(*retired, third);
    signing_keys::revoke(&host, fourth, &AuditContext::SERVER)
        .await
        .expect("revoked");
    assert_eq!(
        (signing(&host), published(&host)),
        (waiting.clone(), vec![waiting.clone(), third])
    );

    let stored = host.store.signing_keys().await.expect("read");
    let revoked = stored.iter().filter(|key| key.times.revoked_at.is_some());
    assert!(
        revoked
            .clone()
            .all(|key| matches!(key.material, KeyMaterial::Public(_)))
            && revoked.count() == 4
    );
    assert_eq!(
        signing(&*installation.host().await),
        *waiting,
        "after a restart too"
    );
    installation.pass(&host, 90 * DAYS).await;
    assert_eq!(stages(&host), [Archived, Signing, Published]);
}

/// The revocation of the active key waits for the other instances. Its caller may disconnect earlier.
#[tokio::test]
async fn a_revocation_completes_without_its_caller() {
    let host = TestHost::start().await;
    let revoked = signing(&host.host);
    let path = format!("/keys/{revoked}/revoke");
    {
        let mut call = Box::pin(host.admin(Method::POST, &path, Value::Null));
        let published_another = async {
            while published(&host.host).len() < 2 {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            (status, answer) = &mut call => panic!("it waits: {status} {answer}"),
            () = in_time(published_another) => {}
        }
    }
    in_time(async {
        while published(&host.host).contains(&revoked) {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
    assert_ne!(signing(&host.host), revoked);
}

/// The clock of one instance is wrong. By that clock, the active key was replaced long ago.
#[both_databases]
async fn a_clock_far_ahead_publishes_and_deletes_no_key(database: Database) {
    // SQLite has no clock, so the server compares a run with earlier ones. Each earlier run here has a correct clock.
    for days in [3, 93, 500] {
        let installation = Installation::new(database).await;
        let host = installation.host().await;
        host.store.probe(&*host.clock).await.expect("probed");
        signing_keys::rotate(&host, RS256, Takeover::InTime, &AuditContext::SERVER)
            .await
            .expect("rotated");
        let before = private_halves(&host).await;
        let clock = Arc::new(ManualClock::new(installation.clock.now() + DAYS * days));
        let ahead = installation.host_by(&clock, "").await;
        signing_keys::maintain(&ahead).await.expect("maintained");
        assert_eq!(private_halves(&host).await, before, "{days} days ahead");
        // An instance with a correct clock would make the change.
        signing_keys::maintain_at(&host, clock.now())
            .await
            .expect("maintained");
        assert_ne!(private_halves(&host).await, before, "{days} days later");
    }
}

/// Returns the stored keys, and whether each has its private key.
async fn private_halves(host: &Services) -> Vec<(KeyId, bool)> {
    let stored = host.store.signing_keys().await.expect("read");
    let with_half = |key: SigningKey| (key.id, matches!(key.material, KeyMaterial::Sealed(_)));
    stored.into_iter().map(with_half).collect()
}
