//! Lists of groups.

use crate::engine::sql;
use crate::{Result, Store};
use assent_model::group::{Group, GroupName};
use assent_model::id::GroupId;
use assent_model::search::search_form;

use super::row::GroupRow;

/// The number up to which members of a group are counted.
pub const MOST_MEMBERS_COUNTED: u32 = 1000;

/// The order of a list of groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GroupOrder {
    /// By their names, without regard to case and accents.
    #[default]
    Name,
    /// By their names, descending.
    NameDescending,
}

/// A group with its counts for a list.
#[derive(Clone, Debug)]
pub struct GroupSummary {
    /// The group.
    pub group: Group,
    /// The number of its members; one more than [`MOST_MEMBERS_COUNTED`] if there are more.
    pub members: u32,
    /// The number of applications that are assigned to it.
    pub applications: u32,
}

crate::engine::sql::row! {
    struct SummaryRow {
        group: GroupRow,
        members: i64,
        applications: i64,
    }
}

// A group may have a million members, so they are counted up to a limit.
macro_rules! with_counts {
    ($($rest:literal),*) => {
        sql::statement!(
            "SELECT ",
            GroupRow::COLUMNS,
            ", (SELECT COUNT(*) FROM (SELECT 1 FROM group_members WHERE group_members.group_id = user_groups.id
                                      LIMIT 1001) AS counted) AS members,
               (SELECT COUNT(*) FROM group_assignments WHERE group_assignments.group_id = user_groups.id)
               AS applications
             FROM user_groups ",
            $($rest),*
        )
    };
}

/// The groups that follow the name `($3, $5)` in an order, with names that begin with `$1`.
macro_rules! groups_found {
    ($after:literal, $order:literal) => {
        with_counts!(
            "WHERE search_key >= $1 AND search_key < $2 AND ($5 = '' OR (search_key, name_key) ",
            $after,
            " ($3, $5))
             ORDER BY ",
            $order,
            " LIMIT $4"
        )
    };
}

impl TryFrom<SummaryRow> for GroupSummary {
    type Error = crate::StoreError;
    fn try_from(row: SummaryRow) -> Result<Self> {
        Ok(Self {
            group: row.group.try_into()?,
            members: u32::try_from(row.members).unwrap_or(u32::MAX),
            applications: u32::try_from(row.applications).unwrap_or(u32::MAX),
        })
    }
}

impl Store {
    /// The group with this id.
    pub async fn group(&self, id: GroupId) -> Result<Option<Group>> {
        sql::query_as::<GroupRow>(sql::statement!(
            "SELECT ",
            GroupRow::COLUMNS,
            " FROM user_groups WHERE id = $1"
        ))
        .bind(id.to_string())
        .fetch_value(&self.readers)
        .await
    }

    /// The group with this id, with its counts.
    pub async fn group_summary(&self, id: GroupId) -> Result<Option<GroupSummary>> {
        sql::query_as::<SummaryRow>(with_counts!("WHERE user_groups.id = $1"))
            .bind(id.to_string())
            .fetch_value(&self.readers)
            .await
    }

    /// Up to `limit` groups that follow `after` in an order, with names that begin with `prefix`, without regard to
    /// case and accents.
    pub async fn groups(
        &self,
        prefix: &str,
        order: GroupOrder,
        after: Option<&GroupName>,
        limit: u32,
    ) -> Result<Vec<GroupSummary>> {
        let statement = match order {
            GroupOrder::Name => groups_found!(">", "search_key, name_key"),
            GroupOrder::NameDescending => groups_found!("<", "search_key DESC, name_key DESC"),
        };
        let first = search_form(prefix);
        let end = format!("{first}\u{10ffff}");
        sql::query_as::<SummaryRow>(statement)
            .bind(first)
            .bind(end)
            .bind(
                after
                    .map(|name| search_form(name.as_str()))
                    .unwrap_or_default(),
            )
            .bind(limit)
            .bind(after.map(GroupName::key).unwrap_or_default())
            .fetch_values(&self.readers)
            .await
    }

    /// The number of all groups.
    pub async fn count_groups(&self) -> Result<u64> {
        let (count,): (i64,) = sql::query_as("SELECT COUNT(*) FROM user_groups")
            .fetch_one(&self.readers)
            .await?;
        Ok(u64::try_from(count).unwrap_or_default())
    }
}
