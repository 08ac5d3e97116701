//! Several instances on one database during key rotation.

use assent_test_macros::both_databases;
use std::collections::{HashMap, HashSet};

use assent::keys::IdTokenError;
use assent_model::clock::Clock;
use assent_model::id::KeyId;
use assent_model::key::{KeyMaterial, KeyPurpose, KeyTimes, SigningAlgorithm, SigningKey};
use josekit::jwk::Jwk;
use josekit::jws::RS256;
use reqwest::{Method, StatusCode};
use tokio::sync::watch;

use super::*;
use crate::harness::{
    Body, Browser, HostOptions, Json, TestHost, Text, get, in_time, jwt_header, open_store,
};

#[both_databases]
async fn concurrent_rotations_create_one_key(database: Database) {
    let installation = Installation::new(database).await;
    let hosts = [
        installation.host().await,
        installation.host().await,
        installation.host().await,
    ];
    assert_eq!(signing(&hosts[0]), signing(&hosts[2]));
    let mut rotations = tokio::task::JoinSet::new();
    for host in &hosts {
        let host = Arc::clone(host);
        rotations.spawn(async move {
            signing_keys::rotate(
                &host,
                SigningAlgorithm::Ps256,
                Takeover::InTime,
                &AuditContext::SERVER,
            )
            .await
        });
    }
    let rotated = rotations.join_all().await;
    let created = rotated
        .iter()
        .filter(|rotated| matches!(rotated, Ok(RotationOutcome::Published(_))))
        .count();
    let found = rotated
        .iter()
        .filter(|rotated| matches!(rotated, Ok(RotationOutcome::Waiting(_))))
        .count();
    assert_eq!(
        (created, found),
        (1, 2),
        "{database:?}: concurrent rotations create one key"
    );

    installation.clock.advance(89 * DAYS);
    let mut rotations = tokio::task::JoinSet::new();
    for host in &hosts {
        let host = Arc::clone(host);
        rotations.spawn(async move {
            signing_keys::maintain_at(&host, host.now())
                .await
                .expect("maintained")
        });
    }
    rotations.join_all().await;
    let set = published(&hosts[0]);
    assert_eq!(
        set.len(),
        2,
        "{database:?}: concurrent maintenance creates one key"
    );
    installation.clock.advance(DAYS);
    for host in &hosts {
        signing_keys::reload(host).await.expect("read");
        assert_eq!(signing(host), set[1]);
    }
}

/// One instance revokes the active key and another the pending key. In either order, a third key becomes active.
#[both_databases]
async fn concurrent_revocations_leave_an_active_key(database: Database) {
    let installation = Installation::new(database).await;
    let open = async || {
        open_store(installation.database.url())
            .await
            .expect("a store")
    };
    let (one, two, now) = (open().await, open().await, installation.clock.now());
    let key = |times| SigningKey {
        id: KeyId::new(now, &SystemEntropy),
        purpose: KeyPurpose::Push,
        material: KeyMaterial::Sealed("a key".to_owned()),
        times,
    };
    // A retired key must not become active again.
    let mut signing = key(KeyTimes::at_once(2, now));
    for first in [key(KeyTimes::at_once(1, now)), signing.clone()] {
        assert!(one.add_key(first, Vec::new()).await.expect("stored"));
    }
    for _ in 0..100 {
        let generation = signing.times.generation + 1;
        let later = KeyTimes {
            signs_from: now + DAYS,
            ..KeyTimes::at_once(generation, now)
        };
        let waiting = key(later);
        assert!(
            two.add_key(waiting.clone(), Vec::new())
                .await
                .expect("stored")
        );
        let fresh = || key(KeyTimes::at_once(0, now));
        let revoked = tokio::join!(
            one.revoke_key(signing.id, json!({}), fresh(), Vec::new(), now),
            two.revoke_key(waiting.id, json!({}), fresh(), Vec::new(), now),
        );
        assert!(
            matches!(revoked, (Ok(true), Ok(true))),
            "{database:?}: {revoked:?}"
        );
        let mut stored = one.signing_keys().await.expect("read");
        let last = stored.pop().expect("a key");
        assert!(
            last.times.generation > generation && last.may_sign(),
            "{database:?}: {:?}",
            last.times
        );
        assert!(last.times.signs_from <= now);
        assert_eq!(
            stored.iter().filter(|key| key.may_sign()).count(),
            1,
            "the retired key"
        );
        signing = last;
    }
}

#[tokio::test]
async fn tokens_of_another_instance_are_accepted_at_once_and_unknown_keys_are_cheap() {
    let installation = Installation::new(Database::Sqlite).await;
    let (one, two) = (installation.host().await, installation.host().await);
    let mut tokens = Vec::new();
    for algorithm in SigningAlgorithm::ALL {
        signing_keys::rotate(&two, algorithm, Takeover::Now, &AuditContext::SERVER)
            .await
            .expect("rotated");
        let later = two.now() + PUBLICATION_MARGIN;
        let key = two.key_ring.signer(algorithm, later).expect("a key");
        tokens.push(
            key.sign(object(claims()), TokenType::IdToken)
                .expect("signed"),
        );
        if let [token] = tokens.as_slice() {
            assert_eq!(
                one.key_ring.verify_own(token),
                Err(IdTokenError::UnknownKey)
            );
            assert_eq!(
                signing_keys::verify_own(&one, token).await,
                Ok(object(claims()))
            );
        }
    }
    // The server read the keys from the database a moment ago. It reads them again after a second.
    assert_eq!(
        signing_keys::verify_own(&one, &tokens[1]).await,
        Err(IdTokenError::UnknownKey)
    );
    installation.clock.advance(Duration::from_secs(1));
    assert_eq!(
        signing_keys::verify_own(&one, &tokens[1]).await,
        Ok(object(claims()))
    );
}

#[tokio::test]
async fn the_key_set_is_served_from_memory_during_an_outage() {
    let host = Installation::new(Database::Sqlite).await.host().await;
    let set = published(&host);
    host.store.close().await;
    assert_eq!(published(&host), set);
}

/// The cached key set of an application. As in client libraries, it is fetched again only if a `kid` is not in it.
#[derive(Default)]
struct Client {
    keys: HashMap<String, Jwk>,
    fetches: usize,
}

impl Client {
    /// Verifies the signature of a token. Returns its `kid`.
    async fn verify(&mut self, id_token: &str, base: &str) -> String {
        let header: Value = jwt_header(id_token);
        let kid = header["kid"].text().to_owned();
        if !self.keys.contains_key(&kid) {
            self.fetches += 1;
            let set = get(format!("{base}/oidc/jwks")).await;
            let set: Value = set.read_json().await;
            let keys = set["keys"].items().iter().map(|key| object(key.clone()));
            self.keys = keys
                .map(|key| {
                    (
                        key["kid"].text().to_owned(),
                        Jwk::from_map(key).expect("a key"),
                    )
                })
                .collect();
        }
        let key = self
            .keys
            .get(&kid)
            .unwrap_or_else(|| panic!("{kid} is not in the key set that was just fetched"));
        let verifier = RS256.verifier_from_jwk(key).expect("a verifier");
        josekit::jwt::decode_with_verifier(id_token, &verifier).expect("a valid signature");
        kid
    }
}

/// Waits until the instance publishes each key that is in the database.
async fn all_published(instance: &Services, any: &Services) {
    let stored = any.store.signing_keys().await.expect("read");
    let stored = stored
        .iter()
        .filter(|key| matches!(key.purpose, KeyPurpose::IdToken(_)));
    let ids: HashSet<KeyId> = stored.map(|key| key.id).collect();
    in_time(async {
        loop {
            let known = instance.key_ring.all_keys(instance.now());
            let known: HashSet<KeyId> = known.iter().map(|key| key.id).collect();
            if ids.is_subset(&known) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

/// Returns the `kid`s in the key set that an instance serves.
async fn served(base: &str) -> HashSet<String> {
    let set: Value = get(format!("{base}/oidc/jwks")).await.read_json().await;
    set["keys"]
        .items()
        .iter()
        .map(|key| key["kid"].text().to_owned())
        .collect()
}

async fn until_served(base: &str, is_done: impl Fn(&HashSet<String>) -> bool) {
    in_time(async {
        while !is_done(&served(base).await) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

/// A key signs only after each instance has served it for as long as clients may cache the key set. A revoked key
/// leaves the key set of each instance.
#[both_databases]
async fn every_instance_serves_a_key_before_any_signs_with_it(database: Database) {
    let host = TestHost::start_on(database).await;
    let (other, second, other_base) = host.second(HostOptions::default()).await;
    let first = signing(&host.host);
    let rotated = signing_keys::rotate(
        &host.host,
        SigningAlgorithm::Rs256,
        Takeover::Now,
        &AuditContext::SERVER,
    )
    .await;
    let Ok(RotationOutcome::Published(next)) = rotated else {
        panic!("{rotated:?}");
    };
    assert!(served(&host.base).await.contains(&next.key_id));
    // The other instance reads the keys by itself, although the clock stands still.
    until_served(&other_base, |set| set.contains(&next.key_id)).await;
    assert_eq!(
        (signing(&host.host), signing(&other)),
        (first.clone(), first.clone())
    );
    host.clock.advance(PUBLICATION_MARGIN);
    assert_eq!(
        (signing(&host.host), signing(&other)),
        (next.key_id.clone(), next.key_id.clone())
    );

    // Both instances serve the replacement key before the revocation takes effect.
    let revoked = signing_keys::revoke(&host.host, &next.key_id, &AuditContext::SERVER).await;
    let Ok(signing_keys::RevocationOutcome::Done { signing: now, .. }) = revoked else {
        panic!("{revoked:?}");
    };
    for base in [&host.base, &other_base] {
        assert!(served(base).await.contains(&now), "{database:?}");
    }
    assert!(!served(&host.base).await.contains(&next.key_id));
    until_served(&other_base, |set| !set.contains(&next.key_id)).await;
    second.stop().await;
}

/// One instance issues the tokens, and the other one serves the key set.
#[both_databases]
async fn a_rotation_under_load_fails_no_client(database: Database) {
    const ROTATIONS: usize = 5;
    let host = TestHost::start_on(database).await;
    let (other, second, other_base) = host.second(HostOptions::default()).await;
    let ada = host.ada().await;
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    let (count, mut counted) = watch::channel((0_usize, false));
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (browser, application, count) =
            (browser.clone(), ada.application.clone(), count.clone());
        let bases = [host.base.clone(), other_base.clone()];
        clients.spawn(async move {
            let (mut client, mut seen) = (Client::default(), HashSet::new());
            for number in 0.. {
                let [tokens_from, keys_from] = [&bases[number % 2], &bases[(number + 1) % 2]];
                let code = browser
                    .get(&application.request(&[]))
                    .await
                    .parameter("code");
                let (status, tokens) = application.exchange(tokens_from, &code, &[]).await;
                assert_eq!(status, StatusCode::OK, "{tokens}");
                seen.insert(client.verify(tokens["id_token"].text(), keys_from).await);
                count.send_modify(|(count, _)| *count += 1);
                if count.borrow().1 {
                    break;
                }
            }
            (seen, client.fetches)
        });
    }
    for number in 0..ROTATIONS {
        // Each key signs tokens before the next rotation.
        let wanted = counted.borrow_and_update().0 + 12;
        let used = counted.wait_for(|(count, _)| *count >= wanted);
        in_time(used).await.expect("clients");
        let by = if number % 2 == 0 { &host.host } else { &other };
        signing_keys::rotate(
            by,
            SigningAlgorithm::Rs256,
            Takeover::Now,
            &AuditContext::SERVER,
        )
        .await
        .expect("rotated");
        for instance in [&host.host, &other] {
            all_published(instance, &host.host).await;
        }
        host.clock.advance(PUBLICATION_MARGIN);
    }
    let wanted = counted.borrow_and_update().0 + 12;
    let used = counted.wait_for(|(count, _)| *count >= wanted);
    in_time(used).await.expect("clients");
    count.send_modify(|(_, done)| *done = true);
    let mut all = HashSet::new();
    for (seen, fetches) in clients.join_all().await {
        assert!(fetches > 1, "{database:?}: a client met an unknown key");
        all.extend(seen);
    }
    assert!(
        all.len() > ROTATIONS / 2,
        "{database:?}: {} keys signed",
        all.len()
    );
    second.stop().await;
}

/// The keys of ES256 and EdDSA rotate as the others do, and no token of an application has a key of another algorithm
/// than its own.
#[both_databases]
async fn keys_of_chosen_algorithms_rotate_and_sign_for_no_other_application(database: Database) {
    let host = TestHost::start_on(database).await;
    let mut users = Vec::new();
    for (name, algorithm) in [
        ("ada", SigningAlgorithm::Rs256),
        ("bob", SigningAlgorithm::Es256),
        ("eve", SigningAlgorithm::EdDsa),
    ] {
        let user = host
            .user_with_account(name, host.web_application().await)
            .await;
        let path = format!("/applications/{}", user.application.id);
        let change = json!({"id_token_signed_response_alg": algorithm.to_string()});
        host.admin_ok(Method::PATCH, &path, change).await;
        let browser = Browser::new(&host.base);
        user.sign_in(&browser).await;
        users.push((user, browser, algorithm));
    }
    let mut seen: HashMap<String, HashSet<String>> = HashMap::new();
    for round in 0..3 {
        for (user, browser, algorithm) in &users {
            let code = browser
                .get(&user.application.request(&[]))
                .await
                .parameter("code");
            let (status, tokens) = user.application.exchange(&host.base, &code, &[]).await;
            assert_eq!(status, StatusCode::OK, "{database:?}: {tokens}");
            let id_token = tokens["id_token"].text();
            let header = jwt_header(id_token);
            let name = algorithm.to_string();
            assert_eq!(header["alg"], name.as_str(), "{database:?}");
            let set: Value = get(format!("{}/jwks", host.issuer()))
                .await
                .read_json()
                .await;
            let keys = assent::keys::client::keys_of_set(&set).expect("keys");
            let verified = assent::keys::client::verify(id_token, &keys, &[name.as_str()]);
            assert!(verified.is_ok(), "{database:?}: {name}");
            let kids = seen.entry(name.clone()).or_default();
            let is_new = kids.insert(header["kid"].text().to_owned());
            let rotates = *algorithm != SigningAlgorithm::Rs256;
            assert_eq!(is_new, rotates || round == 0, "{database:?}: {name}");
        }
        for algorithm in [SigningAlgorithm::Es256, SigningAlgorithm::EdDsa] {
            let by = &AuditContext::SERVER;
            let rotated = signing_keys::rotate(&host.host, algorithm, Takeover::Now, by).await;
            assert!(
                matches!(rotated, Ok(RotationOutcome::Published(_))),
                "{database:?}: {rotated:?}"
            );
        }
        host.clock.advance(PUBLICATION_MARGIN);
    }
    let all: usize = seen.values().map(HashSet::len).sum();
    let different: HashSet<&String> = seen.values().flatten().collect();
    assert_eq!((all, different.len()), (7, 7), "{database:?}: {seen:?}");
}
