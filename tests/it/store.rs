//! The store: the same tests on both databases.

mod retention;

mod matching_numbers;
mod pooler;
mod tls;

use assent_test_macros::both_databases;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use assent_model::account::Account;
use assent_model::action_approval::{
    ActionApproval, ActionOutline, ActionProposal, ActionRequester,
};
use assent_model::administration::ProtectedActionKind;
use assent_model::application::{Application, OidcSettings};
use assent_model::application_type::ApplicationType;
use assent_model::approval::{
    Approval, ApprovalStage, ApprovalSubject, Approver, CooldownPolicy, MatchingNumber,
    PromptDetails, RequestKind,
};
use assent_model::audit::{Actor, AuditContext, Entry, Event};
use assent_model::authorization_details::requested::DetailsTexts;
use assent_model::client_secret::{ClientSecret, ClientSecrets};
use assent_model::clock::Timestamp;
use assent_model::device::{Device, DeviceKey, Enrolment};
use assent_model::entropy::SystemEntropy;
use assent_model::group::AssignedAccess;
use assent_model::id::{
    AccountId, ActionApprovalId, ApprovalId, ClientSecretId, ConsentId, DeviceId, Did, EnrolmentId,
    KeyId, LoginId, ReportId, SessionId, UserId,
};
use assent_model::key::{KeyMaterial, KeyPurpose, KeyTimes, SigningKey};
use assent_model::login::{BrowserContext, LocalPage, Login, LoginRequest, LoginStage};
use assent_model::recovery::CodesOfDevice;
use assent_model::redirect::RedirectUri;
use assent_model::report::{NewReport, ReportSubject};
use assent_model::scope::Scopes;
use assent_model::secret::{Digest, Token};
use assent_model::session::Amr;
use assent_model::user::profile::Profile;
use assent_model::user::{LifecycleState, User};
use assent_store::{
    AdminWrite, AdminWrites, AnswerOutcome, ApprovalRequest, AuditNote, ConsentGrant, DeviceAnswer,
    NewInvitation, RequestOutcome, Retention, Store, StoreError, Transition, UserAction, UserGuard,
};

use crate::harness::{Database, DatabaseUrl, Parsed, open_store, temp_folder, write_user};

pub const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

/// A test's store, with its folder.
pub struct Fixture {
    pub store: Store,
    pub url: String,
    _database: DatabaseUrl,
    _folder: tempfile::TempDir,
}

pub async fn fixture(database: Database) -> Fixture {
    let folder = temp_folder();
    let database = database.create_migrated(folder.path()).await;
    let url = database.url().to_owned();
    let store = open_store(&url).await.expect("a store");
    Fixture {
        store,
        url,
        _database: database,
        _folder: folder,
    }
}

fn did() -> Did {
    let mut key = [0; 32];
    assent_model::entropy::Entropy::fill(&SystemEntropy, &mut key);
    Did::from_ed25519(&key)
}

pub fn user(name: &str) -> User {
    let did = did();
    User {
        id: UserId::new(NOW, &SystemEntropy),
        subject: format!("subject of {did}"),
        did,
        name: name.parsed(),
        email: Some(format!("{name}@example.org").parsed()),
        email_confirmed: true,
        profile: Profile {
            given_name: Some("Ada \"Ünïcode\" 'quote".to_owned()),
            ..Profile::default()
        },
        console_role: None,
        state: LifecycleState::Active,
        was_active: true,
        version: 1,
        created_at: NOW,
        updated_at: NOW,
    }
}

fn application() -> Application {
    let uri =
        RedirectUri::register("https://rp.example/cb", ApplicationType::Web, false).expect("a URI");
    Application {
        id: did(),
        name: "Books".to_owned(),
        settings: OidcSettings {
            redirect_uris: vec![uri],
            ..OidcSettings::new(ApplicationType::Web)
        },
        secrets: ClientSecrets::default(),
        version: 1,
        created_at: NOW,
        updated_at: NOW,
    }
}

fn account(user: &User, application: &Application) -> Account {
    Account {
        id: AccountId::new(NOW, &SystemEntropy),
        user_id: user.id,
        application_id: application.id.clone(),
        name: user.name.to_string(),
        roles: vec!["reader".to_owned()],
        short_code: format!("{}", AccountId::new(NOW, &SystemEntropy)),
        state: LifecycleState::Active,
        individual: true,
        assigned: AssignedAccess::default(),
        version: 1,
        created_at: NOW,
    }
}

fn new_device(user: &User) -> Device {
    let key = openssl::ec::EcKey::generate(
        &openssl::ec::EcGroup::from_curve_name(openssl::nid::Nid::X9_62_PRIME256V1)
            .expect("a curve"),
    )
    .expect("a key");
    let mut context = openssl::bn::BigNumContext::new().expect("a context");
    let (mut x, mut y) = (
        openssl::bn::BigNum::new().expect("x"),
        openssl::bn::BigNum::new().expect("y"),
    );
    key.public_key()
        .affine_coordinates(key.group(), &mut x, &mut y, &mut context)
        .expect("coordinates");
    let bytes = |n: openssl::bn::BigNum| {
        <[u8; 32]>::try_from(n.to_vec_padded(32).expect("padded")).expect("32 bytes")
    };
    Device {
        id: DeviceId::new(NOW, &SystemEntropy),
        user_id: user.id,
        name: "Phone".to_owned(),
        key: DeviceKey::from_coordinates(bytes(x), bytes(y)).expect("a key"),
        push: None,
        created_at: NOW,
        revoked_at: None,
    }
}

pub fn login() -> Login {
    Login {
        context: BrowserContext {
            place: "Unknown place".to_owned(),
            browser: "Unknown browser".to_owned(),
            ..BrowserContext::default()
        },
        id: LoginId::new(NOW, &SystemEntropy),
        browser: Digest::sha256(b"browser"),
        request: LoginRequest::Local {
            page: LocalPage::Console,
        },
        stage: LoginStage::Identify,
        created_at: NOW,
        expires_at: NOW + Duration::from_secs(1800),
    }
}

pub fn approval(login: &Login, user: Option<&User>, name: &str) -> Approval {
    Approval {
        id: ApprovalId::new(NOW, &SystemEntropy),
        subject: ApprovalSubject::SignIn(login.id),
        user_id: user.map(|user| user.id),
        name_digest: Digest::sha256(name.as_bytes()),
        browser: login.browser,
        scanned_by: None,
        is_same_browser: false,
        number: MatchingNumber::parse("42"),
        shown: PromptDetails {
            application: None,
            application_name: "Assent".to_owned(),
            account: name.to_owned(),
            browser: BrowserContext {
                place: "This computer".to_owned(),
                browser: "Firefox".to_owned(),
                ..BrowserContext::default()
            },
            details: DetailsTexts::default(),
        },
        requested_at: NOW,
        expires_at: NOW + Duration::from_secs(120),
        attempts_left: 3,
        stage: ApprovalStage::Requested,
    }
}

/// Returns an audit entry without a user.
pub fn entry(event: Event) -> Entry {
    Entry::new(event, &AuditContext::SERVER, NOW, &SystemEntropy)
}

/// Returns the audit note of an answer. `pauses` has the cooldowns after denials, in seconds.
pub fn audited(pauses: &[u64]) -> AuditNote {
    let pause = CooldownPolicy {
        steps: pauses.iter().copied().map(Duration::from_secs).collect(),
        forgotten_after: Duration::from_secs(86_400),
        within: Duration::from_secs(86_400),
        report: None,
    };
    AuditNote {
        entry: entry(Event::SignInDenied),
        cooldown: (pause, entry(Event::CooldownStarted)),
        receipt: None,
    }
}

async fn insert_user(store: &Store, user: User) {
    let inserted = write_user(store, UserAction::Insert(user), NOW).await;
    inserted.expect("inserted");
}

/// Creates Ada with an enrolled device.
pub async fn ada(store: &Store) -> (User, Device) {
    let user = user("ada");
    insert_user(store, user.clone()).await;
    let device = new_device(&user);
    enrol(store, &device).await;
    (user, device)
}

/// Returns a report.
pub fn new_report() -> DeviceAnswer {
    let report = NewReport {
        id: ReportId::new(NOW, &SystemEntropy),
        subject: ReportSubject::SignIn(None),
        browser: BrowserContext {
            place: "203.0.113.9".to_owned(),
            browser: "Firefox on Linux".to_owned(),
            ..BrowserContext::default()
        },
    };
    DeviceAnswer::Report(Box::new(report))
}

async fn enrol(store: &Store, device: &Device) -> bool {
    let id = EnrolmentId::new(NOW, &SystemEntropy);
    let token = Token::new("en", id.as_bytes(), &SystemEntropy);
    let expires_at = NOW + Duration::from_secs(60);
    let enrolment = Enrolment {
        id,
        user_id: device.user_id,
        digest: token.digest(),
        expires_at,
        created_by: None,
    };
    let invitation = NewInvitation {
        enrolment,
        inviter: Actor::Server,
        sealed_link: None,
        resent: None,
    };
    let invite = UserAction::Invite(device.user_id.into(), invitation);
    write_user(store, invite, NOW).await.expect("inserted");
    let enrolled = store
        .enrol_device(id, (device.clone(), None), Vec::new(), None)
        .await
        .expect("enrolled");
    assert_eq!(
        store
            .enrol_device(id, (device.clone(), None), Vec::new(), None)
            .await
            .expect("answered"),
        Transition::NotOpen,
        "a link is valid once"
    );
    enrolled.is_done()
}

/// Returns a request for this approval, typed in the browser of [`login`] with the name of this user.
pub fn request(approval: Approval, known: Option<&User>) -> ApprovalRequest {
    ApprovalRequest {
        without_binding: false,
        approval,
        action: None,
        backchannel: None,
        caller_check: None,
        target: None,
        known: known.map(|user| user.id),
        kind: RequestKind::Typed,
        is_carried: true,
        numbers: MatchingNumber::shuffled(&SystemEntropy),
        entry: entry(Event::SignInRequested),
    }
}

pub async fn requested(store: &Store, user: Option<&User>, name: &str) -> Approval {
    let login = login();
    store.insert_login(login.clone()).await.expect("inserted");
    let approval = approval(&login, user, name);
    let requested = store
        .request_approval(request(approval.clone(), user))
        .await
        .expect("requested");
    assert_eq!(
        requested,
        approval
            .user_id
            .map_or(RequestOutcome::NotPrompted, RequestOutcome::Prompted)
    );
    approval
}

/// A user who was erased after the rendering of the summary is not stored again by it.
#[both_databases]
async fn an_action_cannot_be_requested_after_its_user_changed(database: Database) {
    let Fixture { store, .. } = &fixture(database).await;
    let (grace, _) = ada(store).await;
    let mut bob = user("bob");
    insert_user(store, bob.clone()).await;
    let outline = ActionOutline {
        kind: ProtectedActionKind::DeleteUser,
        target_user: Some(bob.id),
        target_application: None,
    };
    let ask = async |bob: &User| {
        let action = ActionApproval {
            id: ActionApprovalId::new(NOW, &SystemEntropy),
            actor: grace.id,
            requester: ActionRequester::Session(SessionId::new(NOW, &SystemEntropy)),
            browser: Digest::sha256(b"browser"),
            action_digest: Digest::sha256(b"action"),
            outline: outline.clone(),
            proposal: Some(ActionProposal {
                action: "{}".to_owned(),
                summary_digest: Digest::sha256(b"summary"),
                names: Vec::new(),
            }),
            requested_at: NOW,
            expires_at: NOW + Duration::from_secs(1800),
            claimed_at: None,
        };
        let mut approval = approval(&login(), Some(&grace), "ada");
        approval.subject = ApprovalSubject::ProtectedAction {
            id: action.id,
            outline: outline.clone(),
        };
        let request = request(approval.clone(), Some(&grace));
        let without = store.request_approval(request.clone()).await;
        assert!(
            !matches!(without, Ok(RequestOutcome::Prompted(_))),
            "{database:?}: a request without its action"
        );
        let requested = store
            .request_approval(ApprovalRequest {
                action: Some(action.clone()),
                target: Some(UserGuard::from(bob)),
                kind: RequestKind::Action,
                ..request
            })
            .await
            .expect("answered");
        let stored = store.action_approval(action.id, NOW).await.expect("read");
        let is_stored = stored.is_some_and(|stored| stored == action);
        let request = store.approval(approval.id).await.expect("read");
        let subject = request.map(|request| request.subject);
        (requested, is_stored, subject == Some(approval.subject))
    };
    let about_bob = (RequestOutcome::Prompted(grace.id), true, true);
    assert_eq!(ask(&bob).await, about_bob, "{database:?}");
    let before = bob.clone();
    bob.name = "erased".parsed();
    let renaming = UserAction::Update(bob.clone(), LifecycleState::Active);
    write_user(store, renaming, NOW).await.expect("renamed");
    assert_eq!(
        ask(&before).await,
        (RequestOutcome::NotOpen, false, false),
        "{database:?}"
    );
    let bob = store.user(bob.id).await.expect("read").expect("bob");
    assert_eq!(ask(&bob).await, about_bob, "{database:?}");
}

#[both_databases]
async fn users_applications_and_accounts_are_read_as_written(database: Database) {
    let Fixture { store, .. } = &fixture(database).await;
    let mut user = user("ada");
    insert_user(store, user.clone()).await;
    assert_eq!(store.user(user.id).await.expect("read"), Some(user.clone()));
    for login in ["ada", "ada@example.org"] {
        let found = store.user_by_login(&login.parsed()).await.expect("read");
        assert_eq!(found.as_ref(), Some(&user), "{login}");
    }
    user.email = None;
    user.state = LifecycleState::Suspended;
    let update = UserAction::Update(user.clone(), LifecycleState::Active);
    let updated = write_user(store, update.clone(), NOW).await;
    updated.expect("updated");
    let again = write_user(store, update, NOW).await;
    assert!(
        matches!(again, Err(StoreError::Stale)),
        "the record was changed since"
    );
    user.version += 1;
    assert_eq!(store.user(user.id).await.expect("read"), Some(user.clone()));

    let mut application = application();
    let insertion = AdminWrite::InsertClient(application.clone(), None);
    write(store, insertion, NOW).await.expect("inserted");
    application.secrets = ClientSecrets::only(ClientSecret {
        id: ClientSecretId::new(NOW, &SystemEntropy),
        digest: Digest::sha256(b"secret"),
        sealed: Some("sealed".to_owned()),
        created_at: NOW,
    });
    let update = async || write(store, AdminWrite::UpdateClient(application.clone()), NOW).await;
    update().await.expect("updated");
    assert!(
        matches!(update().await, Err(StoreError::Stale)),
        "the record was changed since"
    );
    application.version += 1;
    assert_eq!(
        store.application(&application.id).await.expect("read"),
        Some(Arc::new(application.clone()))
    );

    let account = account(&user, &application);
    let insertion = AdminWrite::InsertAccount(account.clone());
    write(store, insertion, NOW).await.expect("inserted");
    assert_eq!(
        store
            .account_of(user.id, &application.id)
            .await
            .expect("read"),
        Some(account.clone())
    );
    let summary = &store.users(None, 10).await.expect("read")[0];
    assert_eq!((summary.accounts, summary.devices), (1, 0));

    let (id, version) = (application.id.clone(), application.version);
    let delete = async |version| {
        write(
            store,
            AdminWrite::DeleteApplication(id.clone(), version),
            NOW,
        )
        .await
    };
    assert!(
        matches!(delete(version + 1).await, Err(StoreError::Stale)),
        "another version"
    );
    delete(version).await.expect("deleted");
    assert_eq!(
        store.account(account.id).await.expect("read"),
        None,
        "accounts are deleted with the application"
    );
    let delete = async |version| write_user(store, UserAction::Delete(user.id, version), NOW).await;
    assert!(
        matches!(delete(user.version + 1).await, Err(StoreError::Stale)),
        "another version"
    );
    delete(user.version).await.expect("deleted");
    assert!(matches!(delete(user.version).await, Err(StoreError::Stale)));
}

/// Executes a write of administration without an audit entry.
async fn write(store: &Store, write: AdminWrite, now: Timestamp) -> Result<(), StoreError> {
    let plan = AdminWrites {
        writes: vec![(write, Vec::new())],
        ..AdminWrites::default()
    };
    store.execute(plan, now).await
}

#[both_databases]
async fn unique_names_are_enforced_and_concurrent_writes_succeed(database: Database) {
    let fixture = Arc::new(fixture(database).await);
    insert_user(&fixture.store, user("ada")).await;
    let mut writes = tokio::task::JoinSet::new();
    for number in 0..100 {
        let fixture = Arc::clone(&fixture);
        let name = if number % 10 == 0 {
            "ada".to_owned()
        } else {
            format!("user{number}")
        };
        writes.spawn(async move {
            (
                number,
                write_user(&fixture.store, UserAction::Insert(user(&name)), NOW).await,
            )
        });
    }
    for (number, outcome) in writes.join_all().await {
        match outcome {
            Ok(()) => assert_ne!(number % 10, 0, "{database:?}"),
            Err(StoreError::Taken(_)) => assert_eq!(number % 10, 0, "{database:?}"),
            Err(error) => panic!("{database:?}: {error}"),
        }
    }
    assert_eq!(
        fixture.store.users(None, 200).await.expect("read").len(),
        91,
        "{database:?}"
    );
}

#[both_databases]
async fn names_and_emails_of_sign_ins_are_unique(database: Database) {
    let Fixture { store, .. } = &fixture(database).await;
    insert_user(store, user("ada")).await;
    let mut eve = user("eve");
    eve.name = "ada@example.org".parsed();
    assert!(
        matches!(
            write_user(store, UserAction::Insert(eve), NOW).await,
            Err(StoreError::Taken(_))
        ),
        "{database:?}"
    );
    let mut eve = user("eve");
    insert_user(store, eve.clone()).await;
    eve.email = Some("ada@example.org".parsed());
    assert!(
        matches!(
            write_user(store, UserAction::Update(eve, LifecycleState::Active), NOW).await,
            Err(StoreError::Taken(_))
        ),
        "{database:?}"
    );
}

#[both_databases]
async fn lists_are_paged(database: Database) {
    let Fixture { store, .. } = &fixture(database).await;
    for number in 0..5 {
        insert_user(store, user(&format!("user{number}"))).await;
    }
    let first = store.users(None, 3).await.expect("read");
    let rest = store
        .users(first.last().map(|row| row.user.id), 3)
        .await
        .expect("read");
    assert_eq!((first.len(), rest.len()), (3, 2));
}

#[both_databases]
async fn concurrent_starts_on_a_new_database_agree(database: Database) {
    let folder = temp_folder();
    let database = database.create(folder.path()).await;
    let mut starts = tokio::task::JoinSet::new();
    for number in 0..4 {
        let url = database.url().to_owned();
        starts.spawn(async move {
            let store = open_store(&url)
                .await
                .unwrap_or_else(|error| panic!("{error}"));
            let id = KeyId::new(NOW, &SystemEntropy);
            let material = KeyMaterial::Sealed(format!("key {number}"));
            let key = SigningKey {
                id,
                purpose: KeyPurpose::Push,
                material,
                times: KeyTimes::at_once(1, NOW),
            };
            store.add_key(key, Vec::new()).await.expect("answered");
            let keys = store.signing_keys().await.expect("read");
            keys.iter()
                .map(|key| key.id.to_string())
                .collect::<Vec<_>>()
                .join(" ")
        });
    }
    let keys: BTreeSet<String> = starts.join_all().await.into_iter().collect();
    assert_eq!(keys.len(), 1, "one key for all: {keys:?}");
}

#[both_databases]
async fn acknowledged_writes_survive_a_restart(database: Database) {
    let fixture = fixture(database).await;
    let ada = user("ada");
    insert_user(&fixture.store, ada.clone()).await;
    fixture.store.close().await;
    assert!(matches!(
        write_user(&fixture.store, UserAction::Insert(user("late")), NOW).await,
        Err(StoreError::Closed)
    ));
    let store = open_store(&fixture.url).await.expect("a store");
    assert_eq!(store.user(ada.id).await.expect("read"), Some(ada));
}

#[both_databases]
async fn an_approval_is_decided_once_by_a_device_of_its_user(database: Database) {
    let Fixture { store, .. } = &fixture(database).await;
    let (ada, device) = ada(store).await;
    let eve = user("eve");
    insert_user(store, eve.clone()).await;
    let eves_device = new_device(&eve);
    assert!(enrol(store, &eves_device).await);

    let requested = requested(store, Some(&ada), "ada").await;
    let pending = store.pending_approvals(ada.id, NOW).await.expect("read");
    assert_eq!(
        pending.iter().map(|pending| pending.id).collect::<Vec<_>>(),
        [requested.id]
    );
    let approve = DeviceAnswer::Approve {
        amr: vec![Amr::Swk, Amr::User],
        passkey: None,
    };
    let answer_of = async |device: DeviceId, verdict, now| {
        store
            .answer_approval(requested.id, device, verdict, audited(&[]), now)
            .await
            .expect("answered")
    };
    let answer = async |verdict, now| answer_of(device.id, verdict, now).await;
    assert_eq!(
        answer_of(eves_device.id, approve.clone(), NOW).await,
        AnswerOutcome::Late
    );
    assert_eq!(
        answer(approve.clone(), requested.expires_at).await,
        AnswerOutcome::Late
    );
    let mut suspended = ada.clone();
    suspended.state = LifecycleState::Suspended;
    let update = UserAction::Update(suspended, LifecycleState::Suspended);
    write_user(store, update, NOW).await.expect("updated");
    assert_eq!(answer(approve.clone(), NOW).await, AnswerOutcome::Late);
    let active = User {
        version: 2,
        ..ada.clone()
    };
    let update = UserAction::Update(active, LifecycleState::Active);
    write_user(store, update, NOW).await.expect("updated");
    let wrong = DeviceAnswer::NumberMismatch(Digest::sha256(b"41"));
    for _ in 0..5 {
        let counted_once = AnswerOutcome::NumberMismatch { attempts_left: 2 };
        assert_eq!(answer(wrong.clone(), NOW).await, counted_once);
    }
    let other = DeviceAnswer::NumberMismatch(Digest::sha256(b"43"));
    assert_eq!(
        answer(other, NOW).await,
        AnswerOutcome::NumberMismatch { attempts_left: 1 }
    );
    assert_eq!(answer(approve, NOW).await, AnswerOutcome::Counted);
    assert_eq!(answer(DeviceAnswer::Deny, NOW).await, AnswerOutcome::Late);
    let stored = store
        .approval(requested.id)
        .await
        .expect("read")
        .expect("an approval");
    let by = Approver::Device {
        id: device.id,
        amr: vec![Amr::Swk, Amr::User],
    };
    let expected = ApprovalStage::Approved { by, at: NOW };
    assert_eq!(stored.stage, expected);
    assert!(
        store
            .pending_approvals(ada.id, NOW)
            .await
            .expect("read")
            .is_empty()
    );
}

#[both_databases]
async fn a_revoked_device_cannot_decide(database: Database) {
    let Fixture { store, .. } = &fixture(database).await;
    let (ada, device) = ada(store).await;
    let requested = requested(store, Some(&ada), "ada").await;
    let revoked = store
        .revoke_device_of(
            ada.id,
            device.id,
            CodesOfDevice::End,
            entry(Event::DeviceRevoked),
            NOW,
        )
        .await;
    assert!(revoked.expect("revoked").is_some());
    let verdict = DeviceAnswer::Deny;
    assert_eq!(
        store
            .answer_approval(requested.id, device.id, verdict, audited(&[]), NOW)
            .await
            .expect("answered"),
        AnswerOutcome::Late
    );
}
