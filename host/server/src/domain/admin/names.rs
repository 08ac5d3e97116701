//! The names of users and applications, for lists that contain their identifiers.

use std::collections::{BTreeSet, HashMap};

use futures_util::future::try_join_all;

use super::Result;
use crate::domain::Services;
use assent_model::id::{Did, UserId};

/// The names of some users and applications. A deleted object has no name.
#[derive(Clone, Debug, Default)]
pub struct Names {
    users: HashMap<UserId, String>,
    applications: HashMap<Did, String>,
}

impl Names {
    /// Reads the names of these users and applications.
    pub async fn read(
        services: &Services,
        users: BTreeSet<UserId>,
        applications: BTreeSet<Did>,
    ) -> Result<Self> {
        let users: Vec<UserId> = users.into_iter().collect();
        let users = services.store.users_by_ids(&users).await?;
        // The lookups are separate calls, but the store batches them.
        let named = applications.into_iter().map(|id| async move {
            let found = services.store.registered(&id).await?;
            Ok::<_, super::AdminError>(found.map(|application| (id, application.name().to_owned())))
        });
        Ok(Self {
            users: users
                .into_iter()
                .map(|(id, user)| (id, user.name.to_string()))
                .collect(),
            applications: try_join_all(named).await?.into_iter().flatten().collect(),
        })
    }

    /// Returns the user name.
    pub fn user(&self, id: UserId) -> Option<String> {
        self.users.get(&id).cloned()
    }

    /// Returns the display name of the application.
    pub fn application(&self, id: &Did) -> Option<String> {
        self.applications.get(id).cloned()
    }
}
