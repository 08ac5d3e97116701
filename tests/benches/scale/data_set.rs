//! Creates the users, the accounts and the audit entries, with the store's own batch statements.

use std::sync::Arc;

use assent::domain::{Services, accounts, admin, audit};
use assent_model::account::Account;
use assent_model::audit::{Actor, AuditContext, Entry, Event, Origin};
use assent_model::entropy::SystemEntropy;
use assent_model::id::Did;
use assent_model::user::{ConsoleRole, LifecycleState, User};
use assent_store::{AccountWrite, UserWrite, sql};
use assent_tests::harness::{Admin, Application, Database, TestHost, TestUser, id};
use reqwest::Method;
use serde_json::{Value, json};

use super::access::{Assigned, Groups};
use super::names::{self, Draw};

/// The number of objects in one transaction.
const BATCH: u32 = 512;
/// The number of seconds between two batches.
const PASS: u64 = 3600;
/// One in this number of users is recent: the creation is still in the audit log.
const LATELY: u32 = 10;
/// One in this number of users has an account in the small application.
const IN_SMALL: u32 = 1000;

/// The created data.
pub struct DataSet {
    /// The client of the instance's admin API.
    pub admin: Admin,
    /// An application in which all users have an account.
    pub application: Application,
    /// An application in which few users have an account.
    pub small: Application,
    /// The applications that are assigned to groups and to everyone.
    pub assigned: Assigned,
    /// A user with a device and a session.
    pub ada: TestUser,
    /// A sample of the users, from the whole period.
    pub some: Vec<User>,
    /// A sample of the accounts in the large application.
    pub accounts: Vec<Account>,
    /// An administrator with many audit entries, and one with few.
    pub actors: [String; 2],
    /// A date in the middle of the audit log.
    pub middle: String,
    count: u32,
}

impl DataSet {
    pub async fn create(host: &TestHost, count: u32) -> Self {
        let ada = host.ada().await;
        let small = host.native_application().await;
        let large = ada.application.clone();
        let [busy, idle] =
            [1, 2].map(|_| assent_model::id::TokenId::new(host.host.now(), &SystemEntropy));
        let by = |token| {
            AuditContext::new(
                Actor::AdminToken(token),
                Origin {
                    address: Some([192, 0, 2, 7].into()),
                    browser: None,
                },
            )
        };
        let mut draw = Draw::new(7);
        let (mut some, mut accounts) = (Vec::new(), Vec::new());
        let ids: [Did; 2] =
            [&large, &small].map(|application| application.id.parse().expect("an id"));
        let groups = Groups::create(host).await;
        let mut next = 0;
        while next < count {
            let numbers = next..(next + BATCH).min(count);
            let notified = |number| number >= count - count / LATELY;
            let users: Vec<User> = numbers
                .clone()
                .map(|number| user(&host.host, &mut draw, number))
                .collect();
            let writes = numbers.clone().zip(&users).map(|(number, user)| UserWrite {
                user: user.clone(),
                before: None,
                entries: if notified(number) {
                    vec![user_made(&host.host, user, &by(busy))]
                } else {
                    Vec::new()
                },
            });
            host.host
                .store
                .save_users(writes.collect())
                .await
                .expect("stored");
            let mut writes = Vec::new();
            for (number, user) in numbers.clone().zip(&users) {
                let large = account(&host.host, user, &ids[0], number);
                let entries = if notified(number) {
                    vec![account_made(&host.host, &large, &by(busy))]
                } else {
                    Vec::new()
                };
                if number.is_multiple_of(count / 64 + 1) {
                    some.push(user.clone());
                    accounts.push(large.clone());
                }
                writes.push(AccountWrite {
                    account: large,
                    guard: user.into(),
                    before: None,
                    entries,
                });
                if number.is_multiple_of(IN_SMALL) {
                    let account = account(&host.host, user, &ids[1], number);
                    let entries = vec![account_made(&host.host, &account, &by(idle))];
                    writes.push(AccountWrite {
                        account,
                        guard: user.into(),
                        before: None,
                        entries,
                    });
                }
            }
            host.host
                .store
                .save_accounts(writes, host.host.now())
                .await
                .expect("stored");
            groups.add(&host.host, numbers.start as usize, &users).await;
            next = numbers.end;
            host.advance(PASS);
        }
        let assigned = groups.assign(&host.host).await;
        let mut left = count - 2 * (count / LATELY);
        let mut middle = String::new();
        while left > 0 {
            let entries: Vec<Entry> = (0..BATCH.min(left))
                .map(|_| sign_in(&host.host, &mut draw, &some, &ids))
                .collect();
            left -= entries.len() as u32;
            host.host.store.append_audit(entries).await.expect("stored");
            // About two months in total, for any number of entries.
            host.advance(5_000_000 / u64::from(count / BATCH + 1));
            if middle.is_empty() && left < count / 2 {
                middle = moment(host);
            }
        }
        let (token, _) = admin::issue_admin_token(&host.host, &AuditContext::SERVER)
            .await
            .expect("a token");
        let admin = Admin {
            base: host.base.clone(),
            token: token.expose().to_owned(),
        };
        let actors = [busy, idle].map(|token| token.to_string());
        Self {
            admin,
            application: large,
            small,
            assigned,
            ada,
            some,
            accounts,
            actors,
            middle,
            count,
        }
    }

    /// Asserts that the product would have written the same data.
    pub async fn prove(&self, host: &TestHost) {
        let verdict = audit::verify::verify(&host.host.store, None)
            .await
            .expect("read");
        assert_eq!(verdict.broken, None);
        assert!(
            verdict.checked.entries >= u64::from(self.count) - 2,
            "{:?}",
            verdict.checked
        );
        for (user, account) in self.some.iter().zip(&self.accounts) {
            let shown = self.get(&format!("/users/{}", user.id)).await;
            assert_eq!(
                (&shown["name"], &shown["state"]),
                (&json!(user.name), &json!(user.state))
            );
            assert_eq!(shown["profile"], json!(user.profile));
            let shown = self.get(&format!("/accounts/{}", account.id)).await;
            assert_eq!(
                (&shown["user_id"], &shown["roles"]),
                (&json!(user.id), &json!(account.roles))
            );
            // An administrator can change these users like any other, and can find them by the new name.
            let changed = json!({"profile": {"name": format!("Changed {}", user.name)}});
            self.admin
                .admin_ok(Method::PATCH, &format!("/users/{}", user.id), changed)
                .await;
            for path in [
                "/users".to_owned(),
                format!("/applications/{}/accounts", self.application.id),
            ] {
                let found = self.get(&format!("{path}?q=changed+{}", user.name)).await;
                assert_eq!(found["items"].as_array().map(Vec::len), Some(1), "{found}");
            }
            self.admin
                .admin_ok(
                    Method::PATCH,
                    &format!("/users/{}", user.id),
                    json!({"profile": user.profile}),
                )
                .await;
        }
        let counts = self.get("/overview").await;
        let users: u64 = counts["users"]
            .as_object()
            .expect("counts")
            .values()
            .filter_map(Value::as_u64)
            .sum();
        assert_eq!(users, u64::from(self.count) + 1, "{counts}");
    }

    pub async fn get(&self, path: &str) -> Value {
        self.admin.admin_ok(Method::GET, path, Value::Null).await
    }
}

fn moment(host: &TestHost) -> String {
    let at = host.host.now().millis();
    let mut parts = [at / 1000 / 86400, at / 1000 % 86400];
    // Converts days to a civil date (Howard Hinnant's algorithm).
    parts[0] += 719_468;
    let era = parts[0].div_euclid(146_097);
    let day = parts[0].rem_euclid(146_097);
    let year = (day - day / 1460 + day / 36524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (date, month) = (
        of_year - (153 * month + 2) / 5 + 1,
        if month < 10 { month + 3 } else { month - 9 },
    );
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{date:02}")
}

/// Whether a character is an Arabic letter, which is written from right to left.
fn is_arabic(character: char) -> bool {
    ('\u{600}'..='\u{6ff}').contains(&character)
}

fn user(host: &Arc<Services>, draw: &mut Draw, number: u32) -> User {
    let (given, family) = names::name(draw);
    // A name does not mix both writing directions.
    let login = if given.starts_with(is_arabic) {
        format!("{given}{number}")
    } else {
        format!("{given}.{family}{number}").to_lowercase()
    };
    let mut user = admin::new_user(host, login.parse().expect("a name")).expect("a user");
    let domain = ["example.org", "example.com", "mail.example.net"][draw.below(3)];
    user.email = Some(format!("{login}@{domain}").parse().expect("an address"));
    user.profile.name = Some(format!("{given} {family}"));
    user.profile.given_name = Some(given);
    user.profile.family_name = Some(family);
    user.profile.email_verified = draw.below(4) > 0;
    user.profile.locale = Some(["de", "en", "fr"][draw.below(3)].to_owned());
    if draw.below(3) == 0 {
        user.profile.phone_number = Some(format!("+49 30 {:07}", draw.below(10_000_000)));
    }
    user.state = match draw.below(1000) {
        0..880 => LifecycleState::Active,
        880..970 => LifecycleState::Invited,
        970..999 => LifecycleState::Suspended,
        _ => LifecycleState::Terminated,
    };
    if draw.below(500) == 0 {
        let role = [
            ConsoleRole::Auditor,
            ConsoleRole::Support,
            ConsoleRole::Admin,
        ][draw.below(20).min(2)];
        user.console_role = Some(role);
    }
    user
}

fn account(host: &Arc<Services>, user: &User, application: &Did, number: u32) -> Account {
    let mut account = accounts::new_account(host, user, application.clone());
    account.state = if number.is_multiple_of(40) {
        LifecycleState::Suspended
    } else {
        LifecycleState::Active
    };
    account.roles = vec!["reader".to_owned()];
    account
}

fn user_made(host: &Arc<Services>, user: &User, by: &AuditContext) -> Entry {
    let shown = json!({"login_name": user.name, "email": user.email, "name": user.profile.name});
    audit::entry(host, Event::UserCreated, by)
        .about(user.id)
        .with("state", user.state.as_str())
        .personal("after", shown)
}

fn account_made(host: &Arc<Services>, account: &Account, by: &AuditContext) -> Entry {
    audit::entry(host, Event::AccountCreated, by)
        .about(account.user_id)
        .in_application(account.application_id.clone())
        .with("account", account.id.to_string())
        .with("state", account.state.as_str())
        .personal(
            "after",
            json!({"name": account.name, "roles": account.roles}),
        )
}

/// Makes the audit log this many times as large. Each copy of an entry has the time of the original in its id. The
/// copies are in no hash chain. They are inserted in the order of their ids, and the indexes are made afterwards,
/// because random places in trees of this size would take an hour.
pub async fn copy_entries(host: &TestHost, database: Database, times: u32) {
    let (digits, indexes) = match database {
        Database::Sqlite => (
            "substr(lower(hex(randomblob(8))), 1, 15)",
            "SELECT name, sql FROM sqlite_master
             WHERE type = 'index' AND tbl_name = 'audit_entries' AND sql IS NOT NULL",
        ),
        Database::Postgres => (
            "substr(md5(random()::text), 1, 15)",
            // The definition of a partitioned index names no partition, and would leave all of them without one.
            "SELECT indexname::text, replace(indexdef, ' ON ONLY ', ' ON ') FROM pg_indexes
             WHERE tablename = 'audit_entries' AND indexdef NOT LIKE 'CREATE UNIQUE%'",
        ),
    };
    let copies = format!(
        "WITH RECURSIVE numbers (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM numbers WHERE n < {times})
         INSERT INTO audit_entries (lane, seq, previous, digest, id, happened_at, event, actor_kind, actor, user_id,
             application_id, approval_id, detail, personal, personal_salt, personal_digest, origin, origin_salt,
             origin_digest)
         SELECT 1000000, n, previous, digest, substr(id, 1, 17) || {digits}, happened_at, event, actor_kind, actor,
             user_id, application_id, approval_id, detail, personal, personal_salt, personal_digest, origin,
             origin_salt, origin_digest
         FROM audit_entries CROSS JOIN numbers"
    );
    let mut connection = host.connection().await;
    let indexes: Vec<(String, String)> = sql::query_as(indexes)
        .fetch_all(&mut connection)
        .await
        .expect("indexes");
    for (name, _) in &indexes {
        let drop = format!("DROP INDEX {name}");
        connection.batch(&drop).await.expect("dropped");
    }
    connection.batch(&copies).await.expect("copied");
    for (_, index) in &indexes {
        connection.batch(index).await.expect("made again");
    }
}

/// Returns an audit entry of a sign-in: mostly a completed one, sometimes a denied one. One in ten thousand is a report
/// by the user.
fn sign_in(
    host: &Arc<Services>,
    draw: &mut Draw,
    create_users: &[User],
    applications: &[Did; 2],
) -> Entry {
    let user = &create_users[draw.below(create_users.len())];
    let event = match draw.below(10_000) {
        0 => Event::SignInReported,
        1..300 => Event::SignInDenied,
        300..600 => Event::NumberMatchFailed,
        600..4000 => Event::SignInApproved,
        _ => Event::SignedIn,
    };
    let address = [203, 0, 113, (draw.below(250) + 1) as u8];
    let origin = Origin {
        address: Some(address.into()),
        browser: Some("Firefox on Linux".to_owned()),
    };
    // The small application has few audit entries.
    let application = &applications[usize::from(draw.below(5000) == 0)];
    audit::entry(
        host,
        event,
        &AuditContext::new(Actor::User(user.id), origin),
    )
    .about(user.id)
    .in_application(application.clone())
    .with("kind", "sign-in")
}

/// Returns the id of an object in an answer.
pub fn object_id(value: &Value) -> &str {
    id(value)
}
