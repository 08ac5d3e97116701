//! What people and applications are called, for whoever reads lists that hold their ids.

use std::collections::{BTreeSet, HashMap};

use futures_util::future::try_join_all;

use super::Result;
use crate::domain::Services;
use assent_model::id::{Did, UserId};

/// The names of some people and applications; of those that are gone there is none.
#[derive(Clone, Debug, Default)]
pub struct Names {
    users: HashMap<UserId, String>,
    applications: HashMap<Did, String>,
}

impl Names {
    /// Looks up what these are called.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn read(
        services: &Services,
        users: BTreeSet<UserId>,
        applications: BTreeSet<Did>,
    ) -> Result<Self> {
        let users: Vec<UserId> = users.into_iter().collect();
        let users = services.store.users_by_ids(&users).await?;
        // They are asked for one by one, and found together.
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

    /// The user's name at sign-in.
    pub fn user(&self, id: UserId) -> Option<String> {
        self.users.get(&id).cloned()
    }

    /// The display name of the application.
    pub fn application(&self, id: &Did) -> Option<String> {
        self.applications.get(id).cloned()
    }
}
