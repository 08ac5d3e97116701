//! The description of a group in the admin API.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::admin::documents::ManagementView;
use crate::domain::audit::moment_text;
use assent_store::{GroupSummary, MOST_MEMBERS_COUNTED};

assent_model::resource! {
    /// A group of users.
    #[derive(Serialize, ToSchema)]
    #[schema(as = Group)]
    pub struct GroupDocument;

    /// An update of a group. A missing member leaves its value unchanged.
    #[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
    #[serde(deny_unknown_fields)]
    #[schema(as = GroupUpdate)]
    pub struct GroupUpdate, protected ProtectedGroupMembers;

    /// The identifier.
    shown id: String,
    /// The name, which applications receive in the claim `groups`.
    protected plain name: String,
    /// The purpose of the group; null or an empty text removes it.
    harmless emptied description: String,
    /// The number of its members, up to 1,000.
    shown members: u32,
    /// Whether it has more than 1,000 members.
    shown more_members: bool,
    /// The number of applications that are assigned to it.
    shown applications: u32,
    /// The manifest that manages it. Only the response to reading a single group has it, for those who may read
    /// applications.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    shown managed_by: Option<ManagementView>,
    /// When it was created.
    #[schema(format = DateTime)]
    shown created_at: String,
}

impl From<GroupSummary> for GroupDocument {
    fn from(summary: GroupSummary) -> Self {
        let group = summary.group;
        Self {
            id: group.id.to_string(),
            name: group.name.into(),
            description: group.description,
            members: summary.members.min(MOST_MEMBERS_COUNTED),
            more_members: summary.members > MOST_MEMBERS_COUNTED,
            applications: summary.applications,
            managed_by: None,
            created_at: moment_text(group.created_at),
        }
    }
}
