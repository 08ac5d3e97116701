//! The requests of an administrator, and their response times.

use std::time::{Duration, Instant};

use reqwest::Client;

use super::data_set::{DataSet, object_id};
use super::names::Draw;

/// The number of requests of each kind.
const TIMES: usize = 100;
/// The limit for the 99th percentile.
const GOAL: Duration = Duration::from_millis(100);

/// A kind of request: its name, and its paths, which take turns.
type Kind = (&'static str, Vec<String>);

/// Measures all kinds, and returns those that are too slow.
pub async fn measure(made: &DataSet) -> Vec<String> {
    let client = Client::new();
    let get = async |path: &str| {
        let url = format!("{}/admin/api/v1{path}", made.admin.base);
        let started = Instant::now();
        let answer = client
            .get(url)
            .bearer_auth(&made.admin.token)
            .send()
            .await
            .expect("an answer");
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        answer.bytes().await.expect("a body");
        started.elapsed()
    };
    let path = format!("/audit?limit=1&until={}", made.middle);
    let page = made.get(&path).await;
    let half_way = page["next"].as_str().expect("a further page");
    let mut slow = Vec::new();
    for (name, paths) in kinds(made, half_way) {
        // The first request opens connections, and its data comes from the disk.
        get(&paths[0]).await;
        let mut took = Vec::with_capacity(TIMES);
        for path in paths.iter().cycle().take(TIMES.max(paths.len())) {
            took.push(get(path).await);
        }
        took.sort_unstable();
        let at = |percent: usize| took[(took.len() * percent).div_ceil(100) - 1];
        let millis = |time: Duration| time.as_secs_f64() * 1000.0;
        println!(
            "  {name:<44} p50 {:>7.2} ms   p99 {:>7.2} ms",
            millis(at(50)),
            millis(at(99))
        );
        if at(99) >= GOAL {
            slow.push(format!("{name}: {:.1} ms", millis(at(99))));
        }
    }
    slow
}

fn kinds(made: &DataSet, half_way: &str) -> Vec<Kind> {
    let mut draw = Draw::new(11);
    let mut of_users = |path: &dyn Fn(&str) -> String| -> Vec<String> {
        (0..TIMES)
            .map(|_| path(&made.some[draw.below(made.some.len())].id.to_string()))
            .collect()
    };
    let one = |path: &str| vec![path.to_owned()];
    let each = |paths: &[&str]| {
        paths
            .iter()
            .map(|path| (*path).to_owned())
            .collect::<Vec<_>>()
    };
    let q = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let middle = &made.some[made.some.len() / 2];
    let whole = middle.name.to_string();
    let words = middle.profile.name.clone().unwrap_or_default();
    let turned = words
        .split_once(' ')
        .map(|(one, other)| format!("{other}, {one}"))
        .unwrap_or_default();
    let large = format!("/applications/{}/accounts", made.application.id);
    let small = format!("/applications/{}/accounts", made.small.id);
    let account = made.accounts[made.accounts.len() / 2].id;
    let (application, [busy, idle]) = (&made.application.id, &made.actors);
    let deep = |id: String, term: &str| q(&format!("{id}{term}"));
    let user = middle.id.to_string();
    let mut kinds: Vec<Kind> = vec![
        ("users", one("/users")),
        (
            "users, a page far down",
            vec![format!("/users?limit=200&after={user}")],
        ),
        (
            "users by name, each order and state",
            each(&[
                "/users?order=name",
                "/users?order=-name",
                "/users?order=name&state=active",
                "/users?order=-name&state=terminated",
                "/users?order=name&role=auditor",
            ]),
        ),
        (
            "users by name, a page far down",
            vec![
                format!("/users?order=name&after={}", deep(user.clone(), "maria s")),
                format!(
                    "/users?order=-name&limit=200&after={}",
                    deep(user.clone(), "maria s")
                ),
            ],
        ),
        ("users by id", of_users(&|id| format!("/users/{id}"))),
        (
            "users of a state, each",
            each(&[
                "/users?state=active",
                "/users?state=invited",
                "/users?state=suspended",
                "/users?state=terminated",
            ]),
        ),
        (
            "users with a role, each",
            each(&[
                "/users?role=auditor",
                "/users?role=support",
                "/users?role=admin",
                "/users?role=owner",
            ]),
        ),
        (
            "users with a role, of a rare state",
            one("/users?role=auditor&state=terminated"),
        ),
        (
            "users, a whole name",
            vec![format!("/users?q={}", q(&whole))],
        ),
        (
            "users, an email address's beginning",
            vec![format!("/users?q={}", q(&format!("{whole}@ex")))],
        ),
        (
            "users, a name that nobody has",
            one("/users?q=nobody-has-this"),
        ),
        (
            "users, one letter, each",
            ('a'..='z')
                .map(|letter| format!("/users?q={letter}"))
                .collect(),
        ),
        (
            "users, two words",
            vec![
                format!("/users?q={}", q(&words)),
                format!("/users?q={}", q(&turned)),
            ],
        ),
        (
            "users, two frequent words",
            each(&[
                "/users?q=maria+schmi",
                "/users?q=anna+m%C3%BCll",
                "/users?q=maria+x",
            ]),
        ),
        (
            "users, letters beyond ASCII",
            vec![
                format!("/users?q={}", q("Ольга")),
                format!("/users?q={}", q("ł")),
                format!("/users?q={}", q("伟")),
            ],
        ),
        (
            "users, one letter far down",
            vec![format!(
                "/users?q=m&after={}",
                deep(user.clone(), "maria s")
            )],
        ),
        (
            "users, one letter, of a rare state",
            each(&["/users?q=m&state=terminated", "/users?q=a&state=suspended"]),
        ),
        (
            "users, one letter, with a role",
            each(&[
                "/users?q=m&role=admin",
                "/users?q=a&role=owner",
                "/users?q=m&role=auditor",
            ]),
        ),
        (
            "a user's accounts",
            of_users(&|id| format!("/users/{id}/accounts")),
        ),
        (
            "a user's activity",
            of_users(&|id| format!("/users/{id}/activity")),
        ),
        (
            "a user's sessions",
            of_users(&|id| format!("/users/{id}/sessions")),
        ),
        (
            "a user's devices",
            vec![format!("/users/{}/devices", object_id(&made.ada.user))],
        ),
        ("accounts", vec![large.clone()]),
        (
            "accounts, a page far down",
            vec![format!("{large}?limit=200&after={account}")],
        ),
        (
            "accounts of a state",
            vec![
                format!("{large}?state=suspended"),
                format!("{large}?state=terminated"),
            ],
        ),
        (
            "accounts, one letter, each",
            ('a'..='z')
                .map(|letter| format!("{large}?q={letter}"))
                .collect(),
        ),
        (
            "accounts, one letter, of a state",
            vec![
                format!("{large}?q=m&state=suspended"),
                format!("{large}?q=m&state=terminated"),
            ],
        ),
        (
            "accounts, two words",
            vec![
                format!("{large}?q={}", q(&words)),
                format!("{large}?q={}", q(&turned)),
            ],
        ),
        (
            "accounts of the small application",
            vec![
                small.clone(),
                format!("{small}?q=m"),
                format!("{small}?q=maria&state=suspended"),
            ],
        ),
        (
            "claims preview",
            vec![format!(
                "/applications/{application}/claims-preview?account={}",
                object_id(&made.ada.account)
            )],
        ),
        ("overview", one("/overview")),
        (
            "applications, with the numbers of their users",
            one("/applications?order=name"),
        ),
        ("reports that are open", one("/reports?open=true")),
        ("users whose requests are paused", one("/cooldowns")),
        (
            "users without a confirmed address",
            vec![
                "/users/unconfirmed-emails".to_owned(),
                format!("/users/unconfirmed-emails?limit=200&after={user}"),
            ],
        ),
        (
            "a user's access",
            of_users(&|id| format!("/users/{id}/access")),
        ),
    ];
    for (name, group) in [
        ("use by a large group", made.assigned.large_group),
        ("use by a small group", made.assigned.small_group),
    ] {
        let path = format!("/groups/{group}/access");
        kinds.push((
            name,
            vec![
                path.clone(),
                format!("{path}?unused=never"),
                format!("{path}?unused=90-days&limit=200&after={user}"),
            ],
        ));
    }
    let access = |application: &str| format!("/applications/{application}/access");
    let assigned = &made.assigned;
    for (name, unconfirmed, application) in [
        (
            "access by accounts",
            "unconfirmed, by accounts",
            application,
        ),
        ("access of few", "unconfirmed, of few", &made.small.id),
        (
            "access by a large group",
            "unconfirmed, by a large group",
            &assigned.large.id,
        ),
        (
            "access by a small group",
            "unconfirmed, by a small group",
            &assigned.small.id,
        ),
        (
            "access by everyone",
            "unconfirmed, by everyone",
            &assigned.everyone.id,
        ),
    ] {
        let path = access(application);
        let letters = ('a'..='z').map(|letter| format!("{path}?q={letter}"));
        kinds.extend([
            (
                name,
                vec![path.clone(), format!("{path}?limit=200&after={user}")],
            ),
            (
                name,
                vec![
                    format!("{path}?denied=true"),
                    format!("{path}?denied=true&after={user}"),
                ],
            ),
            (
                name,
                [
                    "unused=never",
                    "unused=90-days",
                    "role=reader",
                    "role=nobody-has-this",
                ]
                .map(|condition| format!("{path}?{condition}"))
                .to_vec(),
            ),
            (
                name,
                letters
                    .chain([
                        format!("{path}?q={}", q(&words)),
                        format!("{path}?q=nobody-has-this"),
                    ])
                    .collect(),
            ),
            (unconfirmed, {
                let path = format!("/users/unconfirmed-emails?application={application}");
                vec![path.clone(), format!("{path}&limit=200&after={user}")]
            }),
        ]);
    }
    let audit = |filter: &str| format!("/audit?{filter}");
    let since = &made.middle;
    kinds.extend([
        ("audit", vec![audit("limit=200")]),
        (
            "audit, far down",
            vec![audit(&format!("limit=200&after={}", q(half_way)))],
        ),
        (
            "audit, a frequent event",
            vec![
                audit("event=sign-in.completed"),
                audit("event=user.created"),
            ],
        ),
        (
            "audit, a rare event",
            vec![audit("event=sign-in.reported"), audit("event=user.erased")],
        ),
        ("audit, a user", of_users(&|id| format!("/audit?user={id}"))),
        (
            "audit, a user and an event",
            of_users(&|id| format!("/audit?user={id}&event=sign-in.denied")),
        ),
        (
            "audit, an application",
            vec![
                audit(&format!("application={application}")),
                audit(&format!("application={}", made.small.id)),
            ],
        ),
        (
            "audit, an application and a rare event",
            vec![audit(&format!(
                "application={application}&event=sign-in.reported"
            ))],
        ),
        (
            "audit, an application and what it has not",
            vec![audit(&format!(
                "application={application}&event=user.created"
            ))],
        ),
        (
            "audit, an actor",
            vec![
                audit(&format!("actor={busy}")),
                audit(&format!("actor={idle}")),
            ],
        ),
        (
            "audit, an actor and what they never did",
            vec![audit(&format!("actor={busy}&event=sign-in.completed"))],
        ),
        (
            "audit, an actor and an application",
            vec![
                audit(&format!("actor={busy}&application={}", made.small.id)),
                audit(&format!("actor={idle}&application={application}")),
            ],
        ),
        ("audit, since", vec![audit(&format!("since={since}"))]),
        ("audit, until", vec![audit(&format!("until={since}"))]),
        (
            "audit, since and until, with an event",
            vec![audit(&format!(
                "since={since}&until={since}T12:00:00Z&event=sign-in.denied"
            ))],
        ),
        (
            "audit, until, an application and an event",
            vec![audit(&format!(
                "until={since}&application={application}&event=sign-in.denied"
            ))],
        ),
    ]);
    kinds
}
