//! Groups of users, and the access to applications that they grant.

use crate::audit::Actor;
use crate::clock::Timestamp;
use crate::id::{Did, GroupId, UserId};
use crate::name::{display_text, folded_form};

/// The maximum number of groups that an application can be assigned to.
pub const MOST_ASSIGNMENTS: usize = 200;
/// The maximum length of a group's name, in characters.
const LONGEST_NAME: usize = 128;

/// A group of users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The row's id, which never changes.
    pub id: GroupId,
    /// The name, which applications receive in the claim `groups`.
    pub name: GroupName,
    /// The purpose of the group, for administrators. May be empty.
    pub description: String,
    /// The number of changes.
    pub version: i64,
    /// The creation time.
    pub created_at: Timestamp,
}

/// The name of a group: printable text of 1 to 128 characters. No two groups have names that look
/// the same or differ only in case.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct GroupName(String);

/// A text that cannot be the name of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("use 1 to 128 characters without control characters")]
pub struct GroupNameError;

impl GroupName {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the key for comparing groups: the name without case, and with one form for each letter.
    pub fn key(&self) -> String {
        folded_form(&self.0)
    }
}

impl std::str::FromStr for GroupName {
    type Err = GroupNameError;
    fn from_str(text: &str) -> Result<Self, GroupNameError> {
        display_text(text, LONGEST_NAME)
            .map(Self)
            .ok_or(GroupNameError)
    }
}

impl TryFrom<String> for GroupName {
    type Error = GroupNameError;
    fn try_from(text: String) -> Result<Self, GroupNameError> {
        text.parse()
    }
}

impl From<GroupName> for String {
    fn from(name: GroupName) -> Self {
        name.0
    }
}

impl std::fmt::Display for GroupName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A member of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The user.
    pub user: UserId,
    /// The time at which the user was added.
    pub added_at: Timestamp,
}

/// The assignee of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Assignee {
    /// Each active user.
    Everyone,
    /// The members of a group.
    Group(GroupId),
}

/// Writes `everyone`, or the id of the group.
impl std::fmt::Display for Assignee {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Everyone => f.write_str("everyone"),
            Self::Group(group) => write!(f, "{group}"),
        }
    }
}

impl Assignee {
    /// Returns the group, if the assignee is one.
    pub const fn group(self) -> Option<GroupId> {
        match self {
            Self::Everyone => None,
            Self::Group(group) => Some(group),
        }
    }
}

/// An assignment of an application to a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The application.
    pub application: Did,
    /// The group.
    pub group: GroupId,
    /// The members' roles in the application.
    pub roles: Vec<String>,
}

/// A group of the user that has an assignment of the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssignedGroup {
    /// The group.
    pub id: GroupId,
    /// The name of the group.
    pub name: String,
    /// The members' roles in the application.
    pub roles: Vec<String>,
    /// When the access began: the later of the user's membership and the assignment.
    pub since: Timestamp,
    /// Who gave it: the actor of the later of both. `None` if it is unknown.
    pub by: Option<Actor>,
}

/// The access of a user to an application through assignments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssignedAccess {
    /// The groups of the user with an assignment of the application, by name. The application receives no other groups.
    pub groups: Vec<AssignedGroup>,
    /// The roles for everyone, if the application is assigned to everyone.
    pub everyone: Option<Vec<String>>,
}

impl AssignedAccess {
    /// Whether an assignment grants access.
    pub fn gives_access(&self) -> bool {
        self.everyone.is_some() || !self.groups.is_empty()
    }

    /// Returns the names of the groups.
    pub fn group_names(&self) -> Vec<String> {
        self.groups.iter().map(|group| group.name.clone()).collect()
    }

    /// Returns the roles of all assignments.
    pub fn roles(&self) -> impl Iterator<Item = &String> {
        let of_groups = self.groups.iter().flat_map(|group| &group.roles);
        of_groups.chain(self.everyone.iter().flatten())
    }
}
