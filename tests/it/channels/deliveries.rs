//! Deliveries in the store: the instance that owns a request, and the decision that counts. On both databases.

use assent_test_macros::both_databases;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use assent_model::approval::{Approval, ApprovalStage, Approver};
use assent_model::delivery::{Delivery, ExternalAuthenticator, Recipient, Ruling};
use assent_model::entropy::SystemEntropy;
use assent_model::id::{ApprovalId, DeliveryId};
use assent_model::secret::Digest;
use assent_model::session::Amr;
use assent_model::user::{LifecycleState, User};
use assent_store::{
    AnswerOutcome, ApprovalRequest, DeviceAnswer, RequestOutcome, Store, UserAction,
};

use crate::harness::{Database, open_store, write_user};
use crate::store::{Fixture, NOW, ada, approval, audited, fixture, login, request, requested};

const LEASE: Duration = Duration::from_secs(35);
const SECOND: Duration = Duration::from_secs(1);

fn vendor() -> Recipient {
    Recipient::Vendor {
        identifier: "ada@vendor".to_owned(),
    }
}

/// Sets the external authenticator of the user for a channel.
async fn add_external_authenticator(store: &Store, user: &User, channel: &str, address: &str) {
    let address = ExternalAuthenticator {
        channel: channel.to_owned(),
        identifier: address.to_owned(),
    };
    let setting = UserAction::SetExternalAuthenticator(user.id.into(), address);
    write_user(store, setting, NOW).await.expect("set");
}

async fn delivery(
    store: &Store,
    approval: ApprovalId,
    channel: &str,
    recipient: Recipient,
) -> Delivery {
    let delivery = Delivery {
        id: DeliveryId::new(NOW, &SystemEntropy),
        approval,
        channel: channel.to_owned(),
        recipient,
        handle: "sealed".to_owned(),
    };
    assert!(
        store
            .add_delivery(delivery.clone(), NOW + SECOND, NOW)
            .await
            .expect("added")
    );
    delivery
}

async fn claimed(store: &Store, channel: &str, after: u64) -> Vec<DeliveryId> {
    let now = NOW + Duration::from_secs(after);
    let leased = store
        .claim_deliveries(channel, 10, LEASE, now)
        .await
        .expect("claimed");
    leased
        .into_iter()
        .map(|leased| leased.delivery.id)
        .collect()
}

#[both_databases]
async fn one_instance_owns_a_delivery_at_a_time_and_another_takes_over(database: Database) {
    let Fixture { store, .. } = &fixture(database).await;
    let (user, _) = ada(store).await;
    let requested = requested(store, Some(&user), "ada").await;
    let stored = delivery(store, requested.id, "vendor", vendor()).await;
    assert_eq!(
        store.next_delivery().await.expect("read"),
        Some(NOW + SECOND)
    );
    assert!(store.due_channels(NOW).await.expect("read").is_empty());
    assert_eq!(claimed(store, "vendor", 0).await, [], "not yet");
    assert_eq!(
        store.due_channels(NOW + SECOND).await.expect("read"),
        ["vendor"]
    );
    assert_eq!(
        claimed(store, "other", 1).await,
        [],
        "a delivery of another channel"
    );
    let leased = store
        .claim_deliveries("vendor", 10, LEASE, NOW + SECOND)
        .await
        .expect("claimed");
    assert_eq!(
        leased
            .iter()
            .map(|leased| &leased.delivery)
            .collect::<Vec<_>>(),
        [&stored]
    );
    assert_eq!(claimed(store, "vendor", 30).await, [], "the lease is held");
    assert_eq!(
        claimed(store, "vendor", 36).await,
        [stored.id],
        "the lease of the previous holder has ended"
    );
    // An instance that continues late cannot release a lease that another instance holds now.
    store
        .release_delivery(&leased[0], NOW)
        .await
        .expect("released");
    assert_eq!(claimed(store, "vendor", 37).await, []);
    assert!(store.end_delivery(stored.id).await.expect("ended"));
    assert!(!store.end_delivery(stored.id).await.expect("ended"), "once");
}

#[both_databases]
async fn concurrent_instances_claim_each_delivery_once(database: Database) {
    let fixture = Arc::new(fixture(database).await);
    let (user, _) = ada(&fixture.store).await;
    let requested = requested(&fixture.store, Some(&user), "ada").await;
    for _ in 0..30 {
        delivery(&fixture.store, requested.id, "vendor", vendor()).await;
    }
    // Separate stores, as separate instances have.
    let mut stores = Vec::new();
    for _ in 0..4 {
        stores.push(open_store(&fixture.url).await.expect("a store"));
    }
    let claims = stores
        .iter()
        .flat_map(|store| (0..5).map(move |_| claimed(store, "vendor", 1)));
    let claimed: Vec<DeliveryId> = futures_util::future::join_all(claims)
        .await
        .into_iter()
        .flatten()
        .collect();
    assert_eq!(
        (claimed.len(), claimed.iter().collect::<BTreeSet<_>>().len()),
        (30, 30)
    );
}

#[both_databases]
async fn a_callback_during_a_poll_triggers_another_poll(database: Database) {
    let Fixture { store, .. } = &fixture(database).await;
    let (user, device) = ada(store).await;
    let requested = requested(store, Some(&user), "ada").await;
    let stored = delivery(store, requested.id, "vendor", vendor()).await;
    let to_phone = delivery(store, requested.id, "push", Recipient::Device(device.id)).await;
    let leased = store
        .claim_deliveries("vendor", 1, LEASE, NOW + SECOND)
        .await
        .expect("claimed");
    let news = async |channel: &str, after: u64| {
        let ids = [requested.id, ApprovalId::new(NOW, &SystemEntropy)];
        store
            .expedite_deliveries(channel, &ids, NOW + Duration::from_secs(after))
            .await
            .expect("expedited")
    };
    assert_eq!(news("other", 2).await, 0, "a delivery of another channel");
    assert_eq!(
        news("push", 0).await,
        0,
        "a delivery to a device is not polled"
    );
    assert_eq!(news("vendor", 2).await, 1);
    assert_eq!(
        claimed(store, "vendor", 3).await,
        [],
        "one instance at a time"
    );
    store
        .release_delivery(&leased[0], NOW + Duration::from_secs(30))
        .await
        .expect("released");
    assert_eq!(claimed(store, "vendor", 3).await, [stored.id]);
    assert_eq!(claimed(store, "push", 1).await, [to_phone.id]);
}

#[both_databases]
async fn a_decided_request_is_completed_at_once_and_begins_no_delivery(database: Database) {
    let Fixture { store, .. } = &fixture(database).await;
    let (user, device) = ada(store).await;
    let approve = DeviceAnswer::Approve {
        amr: vec![Amr::Swk],
        passkey: None,
    };
    for how in ["answer", "number", "cancel", "replace"] {
        let first_request = requested(store, Some(&user), "ada").await;
        let stored = delivery(store, first_request.id, how, vendor()).await;
        assert_eq!(claimed(store, how, 0).await, []);
        match how {
            "answer" => {
                let answer = store
                    .answer_approval(
                        first_request.id,
                        device.id,
                        approve.clone(),
                        audited(&[]),
                        NOW,
                    )
                    .await
                    .expect("answered");
                assert_eq!(answer, AnswerOutcome::Counted);
            }
            "number" => {
                for number in [b"41", b"43", b"44"] {
                    let wrong = DeviceAnswer::NumberMismatch(Digest::sha256(number));
                    store
                        .answer_approval(first_request.id, device.id, wrong, audited(&[]), NOW)
                        .await
                        .expect("answered");
                }
            }
            "cancel" => store
                .cancel_approval(first_request.id, NOW)
                .await
                .expect("cancelled"),
            _ => drop(requested(store, Some(&user), "ada").await),
        }
        assert_eq!(claimed(store, how, 0).await, [stored.id], "{how}");
        let late = Delivery {
            id: DeliveryId::new(NOW, &SystemEntropy),
            ..stored
        };
        assert!(
            !store.add_delivery(late, NOW, NOW).await.expect("read"),
            "{how}"
        );
    }
    let expired = requested(store, Some(&user), "ada").await;
    let late = Delivery {
        id: DeliveryId::new(NOW, &SystemEntropy),
        approval: expired.id,
        channel: "vendor".to_owned(),
        recipient: vendor(),
        handle: String::new(),
    };
    assert!(
        !store
            .add_delivery(late, NOW, expired.expires_at)
            .await
            .expect("read")
    );
}

#[both_databases]
async fn a_vendor_decision_applies_to_its_own_pending_request_only(database: Database) {
    let Fixture { store, .. } = &fixture(database).await;
    let (user, device) = ada(store).await;
    for channel in ["vendor", "other", "push"] {
        add_external_authenticator(store, &user, channel, "ada@vendor").await;
    }
    let stage = async |id| {
        store
            .approval(id)
            .await
            .expect("read")
            .expect("an approval")
            .stage
    };
    let rule = async |delivery: DeliveryId, ruling, now| {
        let outcome = store
            .rule_on_approval(delivery, ruling, audited(&[]), now)
            .await;
        outcome.expect("decided") == AnswerOutcome::Counted
    };
    // A delivery to a device: a vendor's decision has no effect.
    let first = requested(store, Some(&user), "ada").await;
    let to_phone = delivery(store, first.id, "push", Recipient::Device(device.id)).await;
    assert!(!rule(to_phone.id, Ruling::Approved, NOW).await);
    // The request has expired.
    let late = delivery(store, first.id, "vendor", vendor()).await;
    assert!(!rule(late.id, Ruling::Approved, first.expires_at).await);
    assert!(
        !rule(late.id, Ruling::Approved, NOW).await,
        "an ended delivery accepts no further decision"
    );
    // The user is suspended.
    let suspended = delivery(store, first.id, "vendor", vendor()).await;
    let update = async |user: User| {
        let state = user.state;
        let update = UserAction::Update(user, state);
        write_user(store, update, NOW).await.expect("updated");
    };
    update(User {
        state: LifecycleState::Suspended,
        ..user.clone()
    })
    .await;
    assert!(!rule(suspended.id, Ruling::Approved, NOW).await);
    update(User {
        version: 2,
        ..user.clone()
    })
    .await;
    // The name belongs to no user.
    let unknown = requested(store, None, "nobody").await;
    let to_unknown = delivery(store, unknown.id, "vendor", vendor()).await;
    assert!(!rule(to_unknown.id, Ruling::Approved, NOW).await);
    // A newer request of the same browser replaced the request.
    let replaced = requested(store, Some(&user), "ada@example.org").await;
    let older = delivery(store, replaced.id, "vendor", vendor()).await;
    let newer = requested_later(store, &user).await;
    assert!(!rule(older.id, Ruling::Approved, NOW).await);
    assert_eq!(stage(replaced.id).await, ApprovalStage::Replaced);
    // A decision counts for its own request, and only once.
    let own = delivery(store, newer, "vendor", vendor()).await;
    let second = delivery(store, newer, "other", vendor()).await;
    assert!(rule(own.id, Ruling::Approved, NOW).await);
    assert!(!rule(second.id, Ruling::Denied, NOW).await);
    assert_eq!(
        stage(newer).await,
        ApprovalStage::Approved {
            by: Approver::Channel("vendor".to_owned()),
            at: NOW
        }
    );
    // The external authenticator was changed or removed meanwhile.
    let requested = requested_later(store, &user).await;
    let by_old = delivery(store, requested, "vendor", vendor()).await;
    add_external_authenticator(store, &user, "vendor", "ada.new@vendor").await;
    assert!(!rule(by_old.id, Ruling::Approved, NOW).await);
    let by_none = delivery(store, requested, "vendor", vendor()).await;
    let removal = UserAction::RemoveExternalAuthenticator(user.id.into(), "vendor".to_owned());
    write_user(store, removal, NOW).await.expect("removed");
    assert!(!rule(by_none.id, Ruling::Approved, NOW).await);
    assert_eq!(stage(requested).await, ApprovalStage::Requested);
    // A denial ends the request too.
    let stored = delivery(store, requested, "other", vendor()).await;
    assert!(rule(stored.id, Ruling::Denied, NOW).await);
    assert_eq!(stage(requested).await, ApprovalStage::Denied);
    assert_eq!(
        store.next_delivery().await.expect("read"),
        None,
        "every delivery has ended"
    );
}

/// Creates a later request of the user by email address.
async fn requested_later(store: &Store, user: &User) -> ApprovalId {
    let login = login();
    store.insert_login(login.clone()).await.expect("inserted");
    let id = ApprovalId::new(NOW + Duration::from_millis(1), &SystemEntropy);
    let approval = Approval {
        id,
        ..approval(&login, Some(user), "ada@example.org")
    };
    let requested = store
        .request_approval(request(approval, Some(user)))
        .await
        .expect("requested");
    assert_eq!(requested, RequestOutcome::Prompted(user.id));
    id
}

#[both_databases]
async fn of_fifty_concurrent_decisions_by_devices_and_vendors_one_counts(database: Database) {
    let fixture = Arc::new(fixture(database).await);
    let store = &fixture.store;
    let (user, device) = ada(store).await;
    let requested = requested(store, Some(&user), "ada").await;
    add_external_authenticator(store, &user, "vendor", "ada@vendor").await;
    let mut deliveries = Vec::new();
    for _ in 0..50 {
        deliveries.push(delivery(store, requested.id, "vendor", vendor()).await);
    }
    let mut answers = Vec::new();
    for (n, delivery) in deliveries.into_iter().enumerate() {
        let (fixture, device) = (Arc::clone(&fixture), device.id);
        let verdict = DeviceAnswer::Approve {
            amr: vec![Amr::Swk],
            passkey: None,
        };
        answers.push(tokio::spawn(async move {
            if n % 2 == 0 {
                let ruling = if n % 4 == 0 {
                    Ruling::Approved
                } else {
                    Ruling::Denied
                };
                let outcome = fixture
                    .store
                    .rule_on_approval(delivery.id, ruling, audited(&[]), NOW)
                    .await;
                outcome.expect("decided") == AnswerOutcome::Counted
            } else {
                let answer = fixture
                    .store
                    .answer_approval(requested.id, device, verdict, audited(&[]), NOW)
                    .await
                    .expect("answered");
                answer == AnswerOutcome::Counted
            }
        }));
    }
    let mut counted = 0;
    for answer in answers {
        counted += usize::from(answer.await.expect("an answer"));
    }
    assert_eq!(counted, 1);
}

#[both_databases]
async fn a_vendor_decision_without_letters_is_rejected_after_a_second_request(database: Database) {
    let Fixture { store, .. } = &fixture(database).await;
    let (user, _) = ada(store).await;
    add_external_authenticator(store, &user, "vendor", "ada@vendor").await;
    let typed = async |browser: &[u8], without_binding| {
        let login = login();
        store.insert_login(login.clone()).await.expect("inserted");
        let approval = Approval {
            browser: Digest::sha256(browser),
            ..approval(&login, Some(&user), "ada")
        };
        let request = ApprovalRequest {
            without_binding,
            ..request(approval.clone(), Some(&user))
        };
        (
            approval.id,
            store.request_approval(request).await.expect("requested"),
        )
    };
    let (one, reached) = typed(b"one", true).await;
    assert_eq!(reached, RequestOutcome::Prompted(user.id), "{database:?}");
    let carried = delivery(store, one, "vendor", vendor()).await;
    // The second request is for an application that no such channel serves. The user could still mistake one for the
    // other.
    let (two, reached) = typed(b"two", false).await;
    assert_eq!(reached, RequestOutcome::NotPrompted, "{database:?}");
    let ruled = store
        .rule_on_approval(carried.id, Ruling::Approved, audited(&[]), NOW + SECOND)
        .await;
    assert_eq!(
        ruled.expect("read"),
        AnswerOutcome::Late,
        "{database:?}: the decision of the vendor came too late"
    );
    for id in [one, two] {
        let stage = store
            .approval(id)
            .await
            .expect("read")
            .expect("an approval")
            .stage;
        assert_eq!(stage, ApprovalStage::Conflicted, "{database:?}");
    }
}

/// The stranger's requests replace each other, and the last one is cancelled. None of them conflicts with the user's
/// own request.
#[both_databases]
async fn a_request_beyond_the_limit_of_its_name_ends_a_delegated_request(database: Database) {
    for (name, before, without_binding, expected) in [
        ("ada", 29, true, ApprovalStage::Conflicted),
        // The user's other name. The page of the delivered request must not reveal it.
        ("ada@example.org", 30, true, ApprovalStage::Withdrawn),
        // The name of another user, and a request that only the user's devices can approve.
        ("eve", 30, true, ApprovalStage::Requested),
        ("ada", 29, false, ApprovalStage::Requested),
    ] {
        let Fixture { store, .. } = &fixture(database).await;
        let (user, _) = ada(store).await;
        add_external_authenticator(store, &user, "vendor", "ada@vendor").await;
        let typed = async |name: &str, browser: &[u8], without_binding| {
            let login = login();
            store.insert_login(login.clone()).await.expect("inserted");
            let known = Some(&user).filter(|_| name != "eve");
            let approval = Approval {
                browser: Digest::sha256(browser),
                ..approval(&login, known, name)
            };
            let request = ApprovalRequest {
                without_binding,
                ..request(approval.clone(), known)
            };
            (
                approval.id,
                store.request_approval(request).await.expect("requested"),
            )
        };
        let mut last = None;
        for _ in 0..before {
            last = Some(typed(name, b"stranger", true).await.0);
        }
        store
            .cancel_approval(last.expect("a request"), NOW)
            .await
            .expect("cancelled");
        let (own, reached) = typed("ada", b"own", without_binding).await;
        assert_eq!(
            reached,
            RequestOutcome::Prompted(user.id),
            "{database:?} {name}"
        );
        let carried = delivery(store, own, "vendor", vendor()).await;

        let (refused, reached) = typed(name, b"stranger", true).await;
        assert_eq!(reached, RequestOutcome::TooMany, "{database:?} {name}");
        assert!(
            store.approval(refused).await.expect("read").is_none(),
            "{database:?} {name}"
        );
        let stage = store
            .approval(own)
            .await
            .expect("read")
            .expect("an approval")
            .stage;
        assert_eq!(stage, expected, "{database:?} {name}");
        let ruled = store
            .rule_on_approval(carried.id, Ruling::Approved, audited(&[]), NOW + SECOND)
            .await;
        assert_eq!(
            ruled.expect("read") == AnswerOutcome::Counted,
            expected == ApprovalStage::Requested,
            "{database:?} {name}"
        );
    }
}
