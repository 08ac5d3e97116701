//! A group in its stored form.

use crate::engine::rows::{cell, moment, parse};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::{Result, StoreError};
use assent_model::group::Group;
use assent_model::id::GroupId;

/// The error for a group that does not exist any more.
const DELETED: StoreError = StoreError::Overtaken("the group was deleted meanwhile");

crate::engine::sql::row! {
    pub(crate) struct GroupRow of user_groups {
        id: String,
        name: String,
        description: String,
        version: i64,
        created_at: i64,
    }
}

impl TryFrom<GroupRow> for Group {
    type Error = StoreError;
    fn try_from(row: GroupRow) -> Result<Self> {
        Ok(Self {
            id: parse(&row.id, cell("user_groups", "id", &row.id))?,
            name: parse(&row.name, cell("user_groups", "name", &row.id))?,
            description: row.description,
            version: row.version,
            created_at: moment(row.created_at),
        })
    }
}

/// Locks a group against its deletion until the transaction ends.
pub(crate) async fn lock(db: &mut Connection, group: GroupId) -> Result<()> {
    let locked = sql::query("UPDATE user_groups SET version = version WHERE id = $1")
        .bind(group.to_string())
        .execute(db)
        .await?;
    if locked == 0 { Err(DELETED) } else { Ok(()) }
}
