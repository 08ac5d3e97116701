//! Devices with a passkey approve only with it.

mod rejected;
pub(crate) mod sign_in;
pub(crate) mod software;

use assent::authenticator::enrolled::PendingRequest;
use assent::authenticator::exchange::Reply;
use assent::config;
use assent::domain::devices::relying_party::RelyingParty;
use assent_model::passkey::PasskeyUse;
use assent_model::session::Amr;
use assent_store::sql;
use assent_store::{AnswerOutcome, DeviceAnswer, PasskeyUseOutcome};
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{
    Browser, Database, Device, Json, Page, TestHost, TestUser, Text, id, jwt_claims, temp_folder,
    write_file,
};
use crate::lifecycle::{entries, events};
use crate::retention::RETENTION;
use crate::store::audited;
use software::Software;

const DEVICE: &str = "/authenticator/api/device/passkey";
const REMOVAL: &str = "/authenticator/api/device/passkey/removal";
/// Settings without these limits, because many of these tests send invalid proofs.
const SETTINGS: &str = "[rate_limits]\nunauthenticated_requests = { per_minute = 0 }\nsign_ins_per_user_name = { \
     per_minute = 0 }\n";

async fn call(device: &Device, method: Method, path: &str, body: &Value) -> Reply {
    device
        .call(method, path, "", serde_json::to_vec(body).expect("JSON"))
        .await
        .expect("an answer")
}

fn message(reply: &Reply) -> (StatusCode, &str) {
    (
        reply.status,
        reply.body["error"].as_str().unwrap_or_default(),
    )
}

/// Adds a passkey to a device.
pub(crate) async fn add(device: &Device, passkey: &Software) {
    let offer = call(device, Method::POST, DEVICE, &json!({})).await;
    assert_eq!(offer.status, StatusCode::OK, "{}", offer.body);
    let added = call(
        device,
        Method::PUT,
        DEVICE,
        &passkey.create_credential(&offer.body["options"]),
    )
    .await;
    assert_eq!(added.status, StatusCode::NO_CONTENT, "{}", added.body);
}

#[both_databases]
async fn a_passkey_that_was_added_is_accepted_again(database: Database) {
    let host = TestHost::start_on_with(database, SETTINGS).await;
    let ada = host.ada().await;
    let passkey = Software::new(&host.base);
    let offer = call(&ada.device, Method::POST, DEVICE, &json!({})).await;
    let made = passkey.create_credential(&offer.body["options"]);
    // The response to the first call may be lost.
    for _ in 0..2 {
        let added = call(&ada.device, Method::PUT, DEVICE, &made).await;
        assert_eq!(
            added.status,
            StatusCode::NO_CONTENT,
            "{database:?}: {}",
            added.body
        );
    }
    let added = entries(&host, "event=passkey.added").await;
    assert_eq!(added.len(), 1, "{database:?}: {:?}", events(&added));
    // Another passkey is not accepted, and another device does not get this one.
    let other = Software::new(&host.base).create_credential(&offer.body["options"]);
    let refused = call(&ada.device, Method::PUT, DEVICE, &other).await;
    assert_eq!(
        message(&refused),
        (StatusCode::FORBIDDEN, "invalid_passkey")
    );
    let second = host.authenticator(&ada.user).await;
    let refused = call(&second, Method::PUT, DEVICE, &made).await;
    assert_eq!(
        message(&refused),
        (StatusCode::FORBIDDEN, "invalid_passkey")
    );
    // A removal without a passkey changes nothing either.
    let removed = call(&second, Method::POST, REMOVAL, &json!({})).await;
    assert_eq!(removed.status, StatusCode::NO_CONTENT);
}

/// Returns the body of an approval with an assertion of this passkey.
pub(crate) fn proof(
    device: &Device,
    request: &PendingRequest,
    number: &str,
    assertion: Option<Value>,
) -> Value {
    let signature = device.signature(&device.statement(request, Some(number)).text());
    json!({"decision": "approve", "number": number, "signature": signature, "passkey": assertion})
}

pub(crate) async fn send(device: &Device, request: &PendingRequest, body: &Value) -> Reply {
    call(
        device,
        Method::POST,
        &format!("/authenticator/api/requests/{}", request.id),
        body,
    )
    .await
}

/// Returns the options for the assertion with which the device must approve.
pub(crate) async fn question(device: &Device, request: &PendingRequest, number: &str) -> Value {
    let reply = send(device, request, &proof(device, request, number, None)).await;
    assert_eq!(
        message(&reply),
        (StatusCode::CONFLICT, "passkey_required"),
        "{}",
        reply.body
    );
    reply.body["options"].clone()
}

/// Ada's device has a passkey, and a sign-in of hers waits.
pub(crate) struct Fixture {
    pub(crate) host: TestHost,
    ada: TestUser,
    pub(crate) passkey: Software,
    waiting: Page,
    pub(crate) request: PendingRequest,
    number: String,
}

impl Fixture {
    pub(crate) async fn on(database: Database) -> Self {
        let host = TestHost::start_on_with(database, SETTINGS).await;
        let ada = host.ada().await;
        let passkey = Software::new(&host.base);
        add(&ada.device, &passkey).await;
        let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
        let request = ada.device.pending_requests(5).await.remove(0);
        let number = waiting.number();
        Self {
            host,
            ada,
            passkey: Software {
                counter: 2,
                ..passkey
            },
            waiting,
            request,
            number,
        }
    }

    pub(crate) async fn question(&self) -> Value {
        question(&self.ada.device, &self.request, &self.number).await
    }

    /// Approves with this assertion.
    pub(crate) async fn approve(&self, assertion: Value) -> Reply {
        let proof = proof(
            &self.ada.device,
            &self.request,
            &self.number,
            Some(assertion),
        );
        send(&self.ada.device, &self.request, &proof).await
    }

    async fn standing(&self) -> Value {
        let reply = call(
            &self.ada.device,
            Method::GET,
            "/authenticator/api/requests",
            &Value::Null,
        )
        .await;
        reply.body["passkey"].clone()
    }

    async fn events(&self) -> Vec<String> {
        let entries = entries(&self.host, &format!("user={}", id(&self.ada.user))).await;
        events(&entries).into_iter().map(str::to_owned).collect()
    }

    /// Returns the numbers of stored passkeys and challenges.
    async fn stored(&self) -> (i64, i64) {
        let mut connection = self.host.connection().await;
        let mut counts = Vec::new();
        for table in ["passkeys", "passkey_ceremonies"] {
            let (count,): (i64,) = sql::query_as(format!("SELECT COUNT(*) FROM {table}"))
                .fetch_one(&mut connection)
                .await
                .expect("a count");
            counts.push(count);
        }
        (counts[0], counts[1])
    }
}

#[both_databases]
async fn a_passkey_approval_is_visible_in_amr_and_acr(database: Database) {
    let it = Fixture::on(database).await;
    assert_eq!(it.standing().await, "set");
    let options = it.question().await;
    assert_eq!(options["userVerification"], "required");
    assert_eq!(options["rpId"], "localhost");
    let approved = it.approve(it.passkey.create_assertion(&options)).await;
    assert_eq!(approved.body["outcome"], "approved", "{}", approved.body);

    let browser = it.waiting.browser();
    let code = browser.finish(&it.waiting.url).await.parameter("code");
    let (status, tokens) = it.ada.application.exchange(&it.host.base, &code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let claims = jwt_claims(tokens["id_token"].text());
    assert_eq!(claims["amr"], json!(["swk", "user", "mfa"]));
    assert_eq!(claims["acr"], "urn:assent:acr:device");
    let events = it.events().await;
    assert!(
        events.iter().any(|event| event == "passkey.added"),
        "{events:?}"
    );
}

#[tokio::test]
async fn denials_and_reports_need_no_passkey() {
    let it = Fixture::on(Database::Sqlite).await;
    assert_eq!(it.ada.device.deny(&it.request).await, "denied");
    it.ada.device.end_cooldown().await;
    it.ada
        .begin_sign_in(&Browser::new(&it.host.base), &[])
        .await;
    let request = it.ada.device.pending_requests(5).await.remove(0);
    assert_eq!(it.ada.device.submit_report(&request).await, "reported");
}

#[tokio::test]
async fn a_wrong_number_is_rejected_before_the_passkey_challenge() {
    let it = Fixture::on(Database::Sqlite).await;
    let wrong = if it.number == "42" { "43" } else { "42" };
    let reply = send(
        &it.ada.device,
        &it.request,
        &proof(&it.ada.device, &it.request, wrong, None),
    )
    .await;
    assert_eq!(
        message(&reply),
        (StatusCode::UNPROCESSABLE_ENTITY, "number_mismatch")
    );
    assert_eq!(it.stored().await, (1, 0));
}

#[both_databases]
async fn a_passkey_is_removed_with_its_own_assertion(database: Database) {
    let it = Fixture::on(database).await;
    let device = &it.ada.device;
    let removal = async |assertion: Value| {
        call(
            device,
            Method::POST,
            REMOVAL,
            &json!({"passkey": assertion}),
        )
        .await
    };
    let requested = removal(Value::Null).await;
    assert_eq!(
        message(&requested),
        (StatusCode::CONFLICT, "passkey_required")
    );
    let other = Software {
        counter: 9,
        ..Software::new(&it.host.base)
    };
    assert_eq!(
        message(&removal(other.create_assertion(&requested.body["options"])).await),
        (StatusCode::FORBIDDEN, "invalid_passkey")
    );
    assert_eq!(it.standing().await, "set");
    let options = removal(Value::Null).await.body["options"].clone();
    assert_eq!(
        removal(it.passkey.create_assertion(&options)).await.status,
        StatusCode::NO_CONTENT
    );
    assert_eq!(
        (it.standing().await, it.stored().await),
        (json!("none"), (0, 0))
    );
    assert!(
        it.events()
            .await
            .iter()
            .any(|event| event == "passkey.removed")
    );
    assert_eq!(device.approve(&it.request, &it.number).await, "approved");
    // Another passkey may be added now.
    add(device, &Software::new(&it.host.base)).await;
}

#[tokio::test]
async fn enrolment_links_and_recovery_codes_need_the_passkey_and_notify_other_devices() {
    let it = Fixture::on(Database::Sqlite).await;
    let device = &it.ada.device;
    let (link, codes) = (
        "/authenticator/api/devices/enrolment-links",
        "/authenticator/api/recovery-codes",
    );
    let confirm = async |path: &str, assertion: Value| {
        call(device, Method::POST, path, &json!({"passkey": assertion})).await
    };
    it.host.advance(1);
    let third = it.host.authenticator(&it.ada.user).await;
    for (path, other, counter) in [(link, codes, 2), (codes, link, 3)] {
        let bare = device
            .call(Method::POST, path, "", Vec::new())
            .await
            .expect("an answer");
        assert_eq!(message(&bare), (StatusCode::CONFLICT, "passkey_required"));
        // An assertion for the other action is not valid here.
        let elsewhere = confirm(other, Value::Null).await.body["options"].clone();
        let passkey = Software {
            counter,
            ..it.passkey.clone()
        };
        assert_eq!(
            message(&confirm(path, passkey.create_assertion(&elsewhere)).await),
            (StatusCode::FORBIDDEN, "invalid_passkey")
        );
        let options = confirm(path, Value::Null).await.body["options"].clone();
        let shown = passkey.create_assertion(&options);
        assert_eq!(
            confirm(path, shown.clone()).await.status,
            StatusCode::CREATED
        );
        assert_eq!(
            message(&confirm(path, shown).await),
            (StatusCode::FORBIDDEN, "invalid_passkey"),
            "replayed"
        );
    }
    // The removal of another device needs the passkey too, because that device shows the notifications. The removal of
    // the device itself does not.
    let removal = format!("/authenticator/api/devices/{}", third.device());
    let bare = device
        .call(Method::DELETE, &removal, "", Vec::new())
        .await
        .expect("an answer");
    assert_eq!(message(&bare), (StatusCode::CONFLICT, "passkey_required"));
    let passkey = Software {
        counter: 4,
        ..it.passkey.clone()
    };
    let shown = json!({"passkey": passkey.create_assertion(&bare.body["options"])});
    assert_eq!(
        call(device, Method::DELETE, &removal, &shown).await.status,
        StatusCode::NO_CONTENT
    );
    it.host.advance(1);
    let second = it.host.authenticator(&it.ada.user).await;
    it.host.advance(1);
    add(&second, &Software::new(&it.host.base)).await;
    let reply = call(
        device,
        Method::GET,
        "/authenticator/api/requests",
        &Value::Null,
    )
    .await;
    let notifications = reply.body["notifications"].items().clone();
    assert!(
        notifications
            .iter()
            .any(|one| one["event"] == "passkey.added"),
        "{notifications:?}"
    );
}

#[both_databases]
async fn a_passkey_is_deleted_with_its_device_and_its_user(database: Database) {
    let it = Fixture::on(database).await;
    it.question().await;
    assert_eq!(it.stored().await, (1, 1));
    assert_eq!(
        call(
            &it.ada.device,
            Method::DELETE,
            "/authenticator/api/device",
            &Value::Null
        )
        .await
        .status,
        StatusCode::NO_CONTENT
    );
    assert_eq!(it.stored().await, (0, 0), "revoked");

    let it = Fixture::on(database).await;
    it.question().await;
    let path = format!("/users/{}", id(&it.ada.user));
    it.host
        .admin_ok(Method::PATCH, &path, json!({"state": "terminated"}))
        .await;
    it.host
        .admin_ok(Method::POST, &format!("{path}/erase"), Value::Null)
        .await;
    assert_eq!(it.stored().await, (0, 0), "erased");
}

#[tokio::test]
async fn an_unanswered_challenge_expires() {
    let it = Fixture::on(Database::Sqlite).await;
    it.question().await;
    it.host.advance(121);
    let host = &it.host.host;
    host.store
        .apply_retention(RETENTION, host.now())
        .await
        .expect("swept");
    assert_eq!(it.stored().await, (1, 0));
}

/// The data that the caller of the store has read may change before the store writes.
#[both_databases]
async fn the_store_rejects_approvals_without_the_registered_passkey(database: Database) {
    let it = Fixture::on(database).await;
    let (store, device) = (&it.host.host.store, it.ada.device.device());
    let credential = store
        .passkey(device)
        .await
        .expect("read")
        .expect("a passkey")
        .credential;
    let approve = async |counter: Option<u32>| {
        let passkey = counter.map(|counter| {
            Box::new(PasskeyUse {
                credential: credential.clone(),
                counter,
            })
        });
        let verdict = DeviceAnswer::Approve {
            amr: vec![Amr::Swk],
            passkey,
        };
        store
            .answer_approval(
                it.request.id,
                device,
                verdict,
                audited(&[]),
                it.host.host.now(),
            )
            .await
            .expect("answered")
    };
    assert_eq!(approve(None).await, AnswerOutcome::NoPasskey);
    // The concurrent use with the higher counter wins.
    let used = PasskeyUse {
        credential: credential.clone(),
        counter: 5,
    };
    let other = PasskeyUse {
        counter: 4,
        ..used.clone()
    };
    let approvals = [
        approve(Some(5)).await,
        approve(Some(5)).await,
        approve(Some(4)).await,
        approve(Some(0)).await,
    ];
    assert_eq!(
        approvals,
        [
            AnswerOutcome::Counted,
            AnswerOutcome::NoPasskey,
            AnswerOutcome::NoPasskey,
            AnswerOutcome::NoPasskey
        ]
    );
    let remove = async |used| store.remove_passkey(device, used, Vec::new()).await;
    let refused = remove(other).await.expect("rejected");
    assert_eq!(refused, PasskeyUseOutcome::Rejected);
    let removed = remove(PasskeyUse { counter: 6, ..used }).await;
    assert_eq!(removed.expect("removed"), PasskeyUseOutcome::Accepted);
    assert_eq!(
        approve(Some(7)).await,
        AnswerOutcome::NoPasskey,
        "the passkey is removed"
    );
}

#[tokio::test]
async fn an_instance_on_an_ip_address_offers_no_passkeys() {
    let folder = temp_folder();
    let file = folder.path().join("assent.toml");
    let key = folder.path().join("master.key");
    let relying_party = |base: &str| {
        let text = format!(
            "base_url = \"{base}\"\n[keys]\nmaster_key_file = \"{}\"\n",
            key.display()
        );
        write_file(&file, text);
        RelyingParty::new(&config::load(&file).expect("valid settings"))
    };
    for address in [
        "https://192.0.2.7",
        "https://[2001:db8::1]:8443",
        "http://127.0.0.1:8080",
    ] {
        assert!(relying_party(address).is_none(), "{address}");
    }
    for name in ["https://id.example.org", "http://localhost:8080"] {
        assert!(relying_party(name).is_some(), "{name}");
    }
}
