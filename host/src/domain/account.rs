//! Which account a person uses an application with.

use super::{Broken, Host};
use crate::id::Did;
use crate::model::account::Account;
use crate::model::token::GrantSubject;
use crate::model::user::{LifeState, User};
use crate::store::Person;

/// The person's account in the application.
#[derive(Clone, Debug)]
pub enum Access {
    /// It may be used. One that was invited is active once it is.
    Granted(Account),
    /// The person has none.
    NoAccount,
    /// The user or the account is suspended or terminated, or the user has nothing to approve with yet.
    Closed,
}

/// Whether a person may use an application at this moment.
pub async fn access(host: &Host, user: &User, application: &Did) -> Result<Access, Broken> {
    // Asked first, so that who is suspended is not told apart by a quicker answer.
    let account = host.store.account_of(user.id, application).await?;
    Ok(match account {
        _ if user.state != LifeState::Active => Access::Closed,
        None => Access::NoAccount,
        Some(account) if account.state.is_open() => Access::Granted(account),
        Some(_) => Access::Closed,
    })
}

/// On whose behalf a grant's tokens act in the application, if the person may still use it.
pub async fn person(host: &Host, subject: GrantSubject, application: &Did) -> Result<Option<Person>, Broken> {
    let found = host.store.person(subject.account_id).await?;
    Ok(found.filter(|Person { user, account }| {
        user.id == subject.user_id
            && account.application_id == *application
            && user.state == LifeState::Active
            && account.state == LifeState::Active
    }))
}
