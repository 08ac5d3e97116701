//! Searching an audit log in which filters match many or few entries.

use assent::domain::audit::entry;
use assent_model::audit::{Actor, AuditContext, Event, Origin};
use assent_model::entropy::SystemEntropy;
use assent_model::id::{Did, TokenId};
use assent_test_macros::both_databases;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Database, Json, TestHost, Text};

#[both_databases]
async fn a_page_has_a_bounded_cost_and_the_next_page_continues(database: Database) {
    let host = TestHost::start_on(database).await;
    let applications = [1, 2].map(|byte| Did::from_ed25519(&[byte; 32]));
    let actors = [1, 2].map(|_| TokenId::new(host.host.now(), &SystemEntropy));
    let created = |event, application: usize, actor: usize| {
        let by = AuditContext::new(Actor::AdminToken(actors[actor]), Origin::NONE);
        entry(&host.host, event, &by).in_application(applications[application].clone())
    };
    // The first entry matches both filters. Many later entries match only one of them.
    host.host
        .store
        .append_audit(vec![created(Event::LogoSet, 0, 1)])
        .await
        .expect("stored");
    for _ in 0..110 {
        host.advance(5);
        let entries = (0..200)
            .map(|number| created(Event::LogoRemoved, number % 2, number % 2))
            .collect();
        host.host.store.append_audit(entries).await.expect("stored");
    }
    let page = async |filter: &str, after: Option<&str>| {
        let after = after
            .map(|after| format!("&after={after}"))
            .unwrap_or_default();
        host.admin_ok(Method::GET, &format!("/audit?{filter}{after}"), Value::Null)
            .await
    };
    let all = async |filter: &str| {
        let (mut found, mut pages, mut after) = (Vec::new(), 0, None::<String>);
        loop {
            let page = page(filter, after.as_deref()).await;
            found.extend(page["items"].items().clone());
            pages += 1;
            after = page["next"].as_str().map(str::to_owned);
            if after.is_none() {
                return (found, pages);
            }
        }
    };
    let both = format!("application={}&actor={}", applications[0], actors[1]);
    let first = page(&both, None).await;
    assert_eq!(
        first["items"],
        json!([]),
        "{database:?}: ten thousand entries were read"
    );
    let (found, pages) = all(&both).await;
    assert_eq!((found.len(), pages), (1, 2), "{database:?}");
    assert_eq!(found[0]["event"], "application.logo-set");
    // The search uses the filter with the fewest matches first.
    let (found, pages) = all(&format!("{both}&event=application.logo-set")).await;
    assert_eq!((found.len(), pages), (1, 1), "{database:?}");
    // No entry is about a protected action.
    let action = "subject=action";
    assert_eq!(page(action, None).await["items"], json!([]), "{database:?}");
    let (found, pages) = all(action).await;
    assert_eq!((found.len(), pages), (0, 3), "{database:?}");
    let (found, pages) = all(&format!("application={}&{action}", applications[1])).await;
    assert_eq!((found.len(), pages), (0, 2), "{database:?}");
    // With many matches, no entry is missing or repeated.
    let much = format!(
        "application={}&actor={}&limit=200",
        applications[0], actors[0]
    );
    let (found, _) = all(&much).await;
    assert_eq!(found.len(), 11_000, "{database:?}");
    assert!(
        found.is_sorted_by(|one, next| one["id"].as_str() > next["id"].as_str()),
        "{database:?}"
    );
    let at = found[5_000]["at"].text().to_owned();
    let (older, newer) = (
        all(&format!("{much}&until={at}")).await.0,
        all(&format!("{much}&since={at}")).await.0,
    );
    assert_eq!(older.len() + newer.len(), 11_000, "{database:?}");
    assert!(
        newer.len() >= 5_000 && newer.iter().all(|entry| entry["at"].as_str() >= Some(&at)),
        "{database:?}"
    );
}
