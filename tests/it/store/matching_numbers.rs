//! Matching numbers of concurrent requests.

use super::*;
use assent_test_macros::both_databases;

/// Twenty-five browsers on two instances send requests for one user at the same moment, with both of her names.
#[both_databases]
async fn concurrent_requests_have_different_numbers_and_five_are_sent(database: Database) {
    let fixture = Arc::new(fixture(database).await);
    let second = open_store(&fixture.url).await.expect("a store");
    let (ada, _) = ada(&fixture.store).await;
    let mut requests = tokio::task::JoinSet::new();
    for count in 0..25_u8 {
        let store = if count % 2 == 0 {
            fixture.store.clone()
        } else {
            second.clone()
        };
        let ada = ada.clone();
        requests.spawn(async move {
            let login = login();
            store.insert_login(login.clone()).await.expect("inserted");
            let name = if count % 3 == 0 {
                "ada"
            } else {
                "ada@example.org"
            };
            let mut request = request(approval(&login, Some(&ada), name), Some(&ada));
            request.approval.browser = Digest::sha256(&[count]);
            let id = request.approval.id;
            let requested = store.request_approval(request).await.expect("requested");
            (
                requested,
                store
                    .approval(id)
                    .await
                    .expect("read")
                    .expect("an approval"),
            )
        });
    }
    let requested = requests.join_all().await;
    let sent = requested
        .iter()
        .filter(|(requested, _)| *requested == RequestOutcome::Prompted(ada.id))
        .count();
    let unsent = requested
        .iter()
        .filter(|(requested, _)| *requested == RequestOutcome::NotPrompted)
        .count();
    assert_eq!((sent, unsent), (5, 20), "{database:?}");
    let mut numbers: Vec<_> = requested
        .iter()
        .map(|(_, approval)| approval.number)
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(
        numbers.len(),
        25,
        "{database:?}: two requests have the same number"
    );
    assert!(
        requested
            .iter()
            .all(|(_, approval)| approval.stage == ApprovalStage::Requested),
        "{database:?}"
    );
    assert_eq!(
        fixture
            .store
            .pending_approvals(ada.id, NOW)
            .await
            .expect("read")
            .len(),
        5
    );
}

/// Each request begins 120 ms after the previous one, so up to 1,000 are younger than two minutes. A rejected request
/// takes no number.
#[tokio::test]
async fn ten_thousand_foreign_requests_never_reuse_a_pending_number() {
    let fixture = fixture(Database::Sqlite).await;
    let store = &fixture.store;
    let (ada, _) = ada(store).await;
    let ask = async |name: &str, browser: String, kind: RequestKind, now: Timestamp| {
        let login = login();
        store.insert_login(login.clone()).await.expect("inserted");
        let id = ApprovalId::new(now, &SystemEntropy);
        let approval = Approval {
            id,
            requested_at: now,
            expires_at: now + Duration::from_secs(120),
            browser: Digest::sha256(browser.as_bytes()),
            ..approval(&login, Some(&ada), name)
        };
        let request = ApprovalRequest {
            kind,
            ..request(approval, Some(&ada))
        };
        let requested = store.request_approval(request).await.expect("requested");
        let stored = store.approval(id).await.expect("read");
        (requested, stored)
    };
    let mut unexpired: Vec<Approval> = Vec::new();
    let (mut drawn, mut refused) = (0, 0);
    for attempt in 0..10_000_u64 {
        let now = NOW + Duration::from_millis(attempt * 2400);
        unexpired.retain(|other| other.expires_at > now);
        let name = ["ada", "ada@example.org"][usize::from(attempt % 2 == 0)];
        // Ada herself sometimes signs in with a known browser.
        let (browser, kind) = match attempt % 50 {
            0 => ("hers".to_owned(), RequestKind::KnownBrowser),
            _ => (format!("stranger {attempt}"), RequestKind::Typed),
        };
        let (requested, stored) = ask(name, browser, kind, now).await;
        match stored {
            Some(stored) => {
                assert!(
                    unexpired.iter().all(|other| other.number != stored.number),
                    "attempt {attempt}"
                );
                unexpired.push(stored);
                drawn += 1;
            }
            None => {
                assert_eq!(
                    (requested, kind),
                    (RequestOutcome::TooMany, RequestKind::Typed),
                    "attempt {attempt}"
                );
                refused += 1;
            }
        }
    }
    assert_eq!(drawn + refused, 10_000);
    assert!(drawn > 9000, "{refused} requests were rejected");
}

/// The page of a replaced request may still show its number.
#[both_databases]
async fn a_number_is_released_when_its_request_expires_not_when_it_ends(database: Database) {
    let Fixture { store, .. } = &fixture(database).await;
    let (ada, _) = ada(store).await;
    let numbers = MatchingNumber::shuffled(&SystemEntropy);
    // Each request replaces the previous one, because the browser and the name are the same.
    let ask = async |seconds: u64| {
        let login = login();
        store.insert_login(login.clone()).await.expect("inserted");
        let now = NOW + Duration::from_secs(seconds);
        let approval = Approval {
            requested_at: now,
            expires_at: now + Duration::from_secs(120),
            ..approval(&login, Some(&ada), "ada")
        };
        let id = approval.id;
        let request = ApprovalRequest {
            numbers: numbers.clone(),
            ..request(approval, Some(&ada))
        };
        let requested = store.request_approval(request).await.expect("requested");
        assert_eq!(requested, RequestOutcome::Prompted(ada.id), "{database:?}");
        store
            .approval(id)
            .await
            .expect("read")
            .expect("an approval")
    };
    let (first, second) = (ask(0).await, ask(60).await);
    let replaced = store
        .approval(first.id)
        .await
        .expect("read")
        .expect("an approval");
    assert_eq!(replaced.stage, ApprovalStage::Replaced, "{database:?}");
    let third = ask(119).await;
    assert_ne!(
        third.number, first.number,
        "{database:?}: it ended, and has not expired"
    );
    assert_ne!(third.number, second.number, "{database:?}");
    assert_eq!(
        ask(120).await.number,
        first.number,
        "{database:?}: it has expired"
    );
}

/// A user who approves each sign-in may begin the next one. Requests without an approval stay limited, and the log says
/// by which limit.
#[both_databases]
async fn approved_requests_do_not_count_for_a_typed_name(database: Database) {
    let log = crate::harness::Log::capture();
    let fixture = fixture(database).await;
    let store = &fixture.store;
    let mut connection = crate::harness::connect(&fixture.url).await;
    let (ada, _) = ada(store).await;
    let mut ask = async |name: &str, attempt: u64, approves: bool| {
        let login = login();
        store.insert_login(login.clone()).await.expect("inserted");
        let now = NOW + Duration::from_millis(attempt);
        let approval = Approval {
            id: ApprovalId::new(now, &SystemEntropy),
            requested_at: now,
            expires_at: now + Duration::from_secs(120),
            browser: Digest::sha256(format!("{name} {attempt}").as_bytes()),
            ..approval(&login, Some(&ada), name)
        };
        let id = approval.id;
        let request = request(approval, Some(&ada));
        let outcome = store.request_approval(request).await.expect("requested");
        if approves {
            let approve = "UPDATE approvals SET state = 'approved' WHERE id = $1";
            assent_store::sql::query(approve)
                .bind(id.to_string())
                .execute(&mut connection)
                .await
                .expect("approved");
        }
        outcome
    };
    for attempt in 0..35 {
        let outcome = ask("ada", attempt, attempt < 20).await;
        assert_ne!(outcome, RequestOutcome::TooMany, "{database:?} {attempt}");
    }
    for attempt in 0..25 {
        let outcome = ask("ada@example.org", attempt, false).await;
        assert_ne!(outcome, RequestOutcome::TooMany, "{database:?} {attempt}");
    }
    let outcome = ask("ada@example.org", 25, false).await;
    assert_eq!(outcome, RequestOutcome::TooMany, "{database:?}");
    let words = [
        "approval request rejected by a limit",
        "60 unexpired requests of one user",
    ];
    // The writer of SQLite has a thread of its own, whose log lines the test does not receive.
    if matches!(database, Database::Postgres) {
        assert!(log.has(&words), "{:?}", log.lines());
    }
}
