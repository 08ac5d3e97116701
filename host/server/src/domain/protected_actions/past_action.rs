//! Past actions: the protected actions in the audit log, with the current names. The log has the kind and the
//! identifiers, and no text.

use std::collections::HashMap;

use serde_json::Value;

use assent_model::action_approval::ActionOutline;
use assent_model::administration::{Permission, ProtectedActionKind};
use assent_model::audit::Entry;
use assent_model::id::{Did, UserId};
use assent_model::user::{ConsoleRole, LifecycleState, User};
use assent_store::{Store, StoreError};

/// Members of an entry's details.
const KIND: &str = "action";
const TARGET_USER: &str = "target_user";
const TARGET_APPLICATION: &str = "target_application";

/// A protected action in the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastAction {
    /// The kind of the action.
    pub kind: ProtectedActionKind,
    /// The subject of the action.
    pub target: ActionTarget,
}

/// The subject of a past action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionTarget {
    /// No user and no application, or a new one. Or the viewer may not see the subject.
    None,
    /// A user, an application or both, by their current names.
    Named(String),
    /// A user without personal data after an erasure, or a deleted object.
    Gone,
}

/// Returns the entry with the outline of its protected action.
pub fn with_outline(entry: Entry, outline: &ActionOutline) -> Entry {
    let mut entry = entry.with(KIND, outline.kind.as_str());
    if let Some(user) = outline.target_user {
        entry = entry.with(TARGET_USER, user.to_string());
    }
    if let Some(application) = &outline.target_application {
        entry = entry.with(TARGET_APPLICATION, application.as_str());
    }
    entry
}

/// Returns the outline of the protected action of an entry, if there is one.
pub fn outline_of(entry: &Entry) -> Option<ActionOutline> {
    let text = |name: &str| entry.detail.get(name).and_then(Value::as_str);
    Some(ActionOutline {
        kind: text(KIND).and_then(ProtectedActionKind::parse)?,
        target_user: text(TARGET_USER).and_then(|id| id.parse().ok()),
        target_application: text(TARGET_APPLICATION).and_then(|id| id.parse().ok()),
    })
}

/// The current names of the subjects of past actions, as far as the viewer may see them now. Each name is read once.
#[derive(Debug)]
pub struct TargetNames {
    role: Option<ConsoleRole>,
    users: HashMap<UserId, Option<String>>,
    applications: HashMap<Did, Option<String>>,
}

impl TargetNames {
    /// Returns an empty set of names. An administrator who was suspended or lost the console role sees no names.
    pub fn for_viewer(viewer: Option<&User>) -> Self {
        let role = viewer
            .filter(|viewer| viewer.state == LifecycleState::Active)
            .and_then(|viewer| viewer.console_role);
        Self {
            role,
            users: HashMap::new(),
            applications: HashMap::new(),
        }
    }

    fn may(&self, permission: Permission) -> bool {
        self.role.is_some_and(|role| role.gives(permission))
    }

    /// Returns the protected action of an entry, if there is one.
    pub async fn action_of(
        &mut self,
        store: &Store,
        entry: &Entry,
    ) -> Result<Option<PastAction>, StoreError> {
        let Some(outline) = outline_of(entry) else {
            return Ok(None);
        };
        let mut names = Vec::new();
        if let Some(id) = outline
            .target_user
            .filter(|_| self.may(Permission::UsersRead))
        {
            names.push(self.user(store, id).await?);
        }
        let may_see_applications = self.may(Permission::ApplicationsRead);
        if let Some(id) = outline.target_application.filter(|_| may_see_applications) {
            names.push(self.application(store, id).await?);
        }
        let target = match names.into_iter().collect::<Option<Vec<String>>>() {
            None => ActionTarget::Gone,
            Some(names) if names.is_empty() => ActionTarget::None,
            Some(names) => ActionTarget::Named(names.join(", ")),
        };
        Ok(Some(PastAction {
            kind: outline.kind,
            target,
        }))
    }

    async fn user(&mut self, store: &Store, id: UserId) -> Result<Option<String>, StoreError> {
        if let Some(name) = self.users.get(&id) {
            return Ok(name.clone());
        }
        let user = store.user(id).await?.filter(|user| !user.is_erased());
        let name = user.map(|user| user.name.to_string());
        self.users.insert(id, name.clone());
        Ok(name)
    }

    async fn application(&mut self, store: &Store, id: Did) -> Result<Option<String>, StoreError> {
        if let Some(name) = self.applications.get(&id) {
            return Ok(name.clone());
        }
        let registered = store.registered(&id).await?;
        let name = registered.map(|registered| registered.name().to_owned());
        self.applications.insert(id, name.clone());
        Ok(name)
    }
}
