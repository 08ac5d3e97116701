//! Groups of users, and their access to applications.
//!
//! A change of a group's members increments the versions of the users. A change of assignments, or of the name of an
//! assigned group, increments the version of the application. Requests compare these versions anyway, so each instance
//! sees the change in the next request, and no request needs another statement.

pub(crate) mod access;
pub(crate) mod assignments;
pub(crate) mod listing;
pub(crate) mod lost_access;
pub(crate) mod members;
pub(crate) mod row;

use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::{Result, VersionedWrite, taken};
use assent_model::clock::Timestamp;
use assent_model::group::Group;
use assent_model::id::GroupId;
use assent_model::search::search_form;

/// The text of the error if another group has the name.
const NAME: &str = "the group's name";

pub(crate) async fn insert(db: &mut Connection, group: &Group) -> Result<()> {
    sql::query(
        "INSERT INTO user_groups (id, name, name_key, search_key, description, version, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(group.id.to_string())
    .bind(group.name.to_string())
    .bind(group.name.key())
    .bind(search_form(group.name.as_str()))
    .bind(&group.description)
    .bind(group.version)
    .bind(group.created_at.millis())
    .execute(db)
    .await
    .map_err(taken(NAME))?;
    Ok(())
}

/// Replaces the name and the description of a group: applications that are assigned to it receive the new name.
pub(crate) async fn update(
    db: &mut Connection,
    group: &Group,
    now: Timestamp,
) -> Result<VersionedWrite> {
    let changed = sql::query(
        "UPDATE user_groups SET name = $2, name_key = $3, description = $4, version = version + 1, search_key = $6
         WHERE id = $1 AND version = $5",
    )
    .bind(group.id.to_string())
    .bind(group.name.to_string())
    .bind(group.name.key())
    .bind(&group.description)
    .bind(group.version)
    .bind(search_form(group.name.as_str()))
    .execute(&mut *db)
    .await
    .map_err(taken(NAME))?;
    if changed == 0 {
        return Ok(VersionedWrite::Stale);
    }
    assignments::increment_versions(db, group.id, now).await?;
    Ok(VersionedWrite::Done)
}

/// Deletes this version of a group. Members who had access only through it lose it.
pub(crate) async fn delete(
    db: &mut Connection,
    id: GroupId,
    version: i64,
    now: Timestamp,
) -> Result<VersionedWrite> {
    let locked =
        sql::query("UPDATE user_groups SET version = version WHERE id = $1 AND version = $2")
            .bind(id.to_string())
            .bind(version)
            .execute(&mut *db)
            .await?;
    if locked == 0 {
        return Ok(VersionedWrite::Stale);
    }
    for application in assignments::increment_versions(db, id, now).await? {
        assignments::remove(db, &application, id, now).await?;
    }
    sql::query("DELETE FROM user_groups WHERE id = $1")
        .bind(id.to_string())
        .execute(db)
        .await?;
    Ok(VersionedWrite::Done)
}
