//! The writes of a plan, with the same audit entries as separate requests.

use std::time::Duration;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

use super::change::{ChangeAction, LogoFetch, Operation};
use super::plan::ManifestPlan;
use crate::domain::admin::accounts::{account_creation, account_deletion, account_update};
use crate::domain::admin::changes::{
    application_deletion, client_creation, client_update, service_provider_creation,
    service_provider_update,
};
use crate::domain::admin::execution::{Execution, Recorder, Writes};
use crate::domain::admin::fetched_logos::{fetch_logo, replaced_logo};
use crate::domain::admin::groups::{group_creation, group_deletion, group_update};
use crate::domain::admin::logos::logo_change;
use crate::domain::admin::{AdminError, ManifestError, Result};
use crate::domain::keys::saml_keys;
use crate::domain::operations::wakeups::Wakeup;
use assent_model::audit::Event;

/// The number of logos that the server fetches at the same time.
const FETCHES: usize = 4;
/// The time for all logos of a manifest. A single one has ten seconds.
const FETCH_TIME: Duration = Duration::from_secs(30);

/// Executes all changes of a plan in one transaction, after it fetched the logos.
///
/// # Errors
/// If a name is taken. [`AdminError::Manifest`] if a logo cannot be fetched. Then nothing is changed.
pub(super) async fn execute(recorder: Recorder<'_>, plan: &ManifestPlan) -> Result<Execution<()>> {
    if plan.changes.is_empty() {
        return Ok(Execution::Done(()));
    }
    let recorder = Recorder {
        manifest: Some((&plan.owner, plan.digest.to_text())),
        ..recorder
    };
    let mut all = fetched_logos(&recorder, &plan.logo_fetches).await?;
    for change in &plan.changes {
        all.extend(writes(&recorder, &change.operation).await?);
    }
    let Execution::Done(()) = recorder.execute(plan.expected.clone(), all).await? else {
        return Ok(Execution::Overtaken);
    };
    recorder.services.wakeups.send(Wakeup::LoggedOut);
    tracing::info!(
        owner = %plan.owner,
        plan = plan.digest.to_text(),
        created = plan.count(ChangeAction::Create),
        deleted = plan.count(ChangeAction::Delete),
        changes = plan.changes.len(),
        "manifest applied"
    );
    Ok(Execution::Done(()))
}

/// Fetches logos. Returns their writes.
async fn fetched_logos(recorder: &Recorder<'_>, fetches: &[LogoFetch]) -> Result<Writes> {
    let jobs = Vec::from(fetches).into_iter();
    let jobs = jobs.map(|fetch| fetched_logo(recorder, fetch));
    let writes = collected(jobs, FETCH_TIME).await?;
    match fetches.get(writes.len()) {
        None => Ok(writes.into_iter().flatten().collect()),
        Some(late) => {
            let seconds = FETCH_TIME.as_secs();
            Err(not_fetched(
                late,
                &format!("all new logos of a manifest must be fetched within {seconds} seconds"),
            ))
        }
    }
}

/// Returns the results of these jobs in their order. It has fewer results if the time ends before the next one.
async fn collected<T, F: Future<Output = Result<T>>>(
    jobs: impl Iterator<Item = F>,
    time: Duration,
) -> Result<Vec<T>> {
    let results = stream::iter(jobs).buffered(FETCHES);
    let results = results.take_until(tokio::time::sleep(time));
    results.try_collect().await
}

async fn fetched_logo(recorder: &Recorder<'_>, fetch: LogoFetch) -> Result<Writes> {
    let fetched = fetch_logo(recorder.services, &fetch.uri).await;
    let logo = fetched.map_err(|error| match error {
        AdminError::Invalid { expected, .. } => not_fetched(&fetch, &expected),
        other => other,
    })?;
    let LogoFetch {
        application,
        before,
        ..
    } = fetch;
    Ok(replaced_logo(recorder, &application, before, Some(logo)))
}

fn not_fetched(fetch: &LogoFetch, expected: &str) -> AdminError {
    AdminError::Manifest(vec![ManifestError {
        pointer: fetch.pointer.clone(),
        detail: format!("{}: {expected}", fetch.key),
    }])
}

/// Returns the writes of an operation, which are those of the command with the same effect.
async fn writes(recorder: &Recorder<'_>, operation: &Operation) -> Result<Writes> {
    Ok(match operation {
        Operation::CreateClient(client, key) => {
            client_creation(recorder, client.as_ref().clone(), Some(key)).await?
        }
        Operation::UpdateClient {
            before,
            after,
            adopt,
        } => client_update(recorder, before, after.as_ref().clone(), adopt.as_ref()).await?,
        Operation::CreateServiceProvider(provider, key) => {
            let signing = saml_keys::create_first_key(recorder.services, &provider.id).await?;
            service_provider_creation(recorder, provider.as_ref().clone(), signing, Some(key))
        }
        Operation::UpdateServiceProvider {
            before,
            after,
            adopt,
        } => {
            let after = after.as_ref().clone();
            service_provider_update(
                recorder,
                Event::ApplicationUpdated,
                before,
                after,
                adopt.as_ref(),
            )
        }
        Operation::DeleteApplication(application) => application_deletion(recorder, application),
        Operation::ChangeLogo {
            application,
            before,
            after,
        } => logo_change(recorder, application, before.clone(), after.clone()),
        Operation::CreateGroup(group, key, members) => {
            let mut writes = group_creation(recorder, group.clone(), Some(key));
            writes.extend(members.writes(recorder));
            writes
        }
        Operation::UpdateGroup {
            before,
            after,
            adopt,
            members,
        } => {
            let mut writes = group_update(recorder, before, after.clone(), adopt.as_ref());
            writes.extend(members.writes(recorder));
            writes
        }
        Operation::DeleteGroup(group) => group_deletion(recorder, group),
        Operation::Assign(plan) => plan.assignment(recorder),
        Operation::Unassign(plan) => plan.removal(recorder),
        Operation::CreateAccount(one) => account_creation(recorder, one.account.clone()),
        Operation::UpdateAccount { before, after } => {
            account_update(recorder, before, after.clone())
        }
        Operation::DeleteAccount(one) => account_deletion(recorder, one.account.clone()),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn jobs_share_a_time_and_few_run_at_once() {
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let job = async |seconds: u64| {
            most.fetch_max(
                running.fetch_add(1, Ordering::Relaxed) + 1,
                Ordering::Relaxed,
            );
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            running.fetch_sub(1, Ordering::Relaxed);
            Ok(seconds)
        };
        let time = Duration::from_secs(10);
        let quick = collected([3; 12].into_iter().map(&job), time).await;
        assert_eq!(quick.unwrap().len(), 12);
        assert_eq!(most.load(Ordering::Relaxed), FETCHES);
        let slow = collected([3; 13].into_iter().map(&job), time).await;
        assert_eq!(slow.unwrap().len(), 12, "the first one that is missing");
        let stuck = collected([1, 60, 1].into_iter().map(&job), time).await;
        assert_eq!(stuck.unwrap(), [1], "the order is that of the jobs");
        let invalid = || AdminError::Conflict("invalid");
        let jobs =
            [true, false, true].map(|fits| async move { fits.then_some(1).ok_or_else(invalid) });
        assert!(collected(jobs.into_iter(), time).await.is_err());
    }
}
