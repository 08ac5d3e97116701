//! Types of authorization details.

use std::sync::LazyLock;

use crate::engine::batch::bulk_sql::{BulkSql, MOST};
use crate::engine::rows::{cell, from_json, moment, parse, to_json};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::{Result, Store, StoreError, VersionedWrite};
use assent_model::authorization_details::name::TypeName;
use assent_model::authorization_details::type_definition::DetailsType;
use assent_model::clock::Timestamp;

/// A registered type.
#[derive(Clone, Debug)]
pub struct RegisteredDetailsType {
    /// The type.
    pub definition: DetailsType,
    /// The time of the registration.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub updated_at: Timestamp,
}

crate::engine::sql::row! {
    struct DetailsTypeRow of authorization_details_types {
        name: String,
        definition: String,
        created_at: i64,
        updated_at: i64,
    }
}

impl TryFrom<DetailsTypeRow> for RegisteredDetailsType {
    type Error = StoreError;
    fn try_from(row: DetailsTypeRow) -> Result<Self> {
        let at = |column| cell("authorization_details_types", column, &row.name);
        Ok(Self {
            definition: from_json(&row.definition, at("definition"))?,
            created_at: moment(row.created_at),
            updated_at: moment(row.updated_at),
        })
    }
}

static NAMED: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "SELECT definition FROM authorization_details_types WHERE name IN ({$})",
        0,
    )
});

impl Store {
    /// The registered types among these, which are few.
    pub async fn details_types(&self, names: &[TypeName]) -> Result<Vec<DetailsType>> {
        let mut found = Vec::new();
        for names in names.chunks(MOST) {
            let mut query = sql::query_as::<(String,)>(NAMED.sql_for(names.len()));
            for name in NAMED.padded(names) {
                query = query.bind(name.to_string());
            }
            for (definition,) in query.fetch_all(&self.readers).await? {
                let at = cell("authorization_details_types", "definition", "?");
                found.push(from_json(&definition, at)?);
            }
        }
        Ok(found)
    }

    /// The type with this name.
    pub async fn details_type(&self, name: &TypeName) -> Result<Option<RegisteredDetailsType>> {
        sql::query_as::<DetailsTypeRow>(sql::statement!(
            "SELECT ",
            DetailsTypeRow::COLUMNS,
            " FROM authorization_details_types WHERE authorization_details_types.name = $1"
        ))
        .bind(name.to_string())
        .fetch_value(&self.readers)
        .await
    }

    /// Up to `limit` types with names after `after`, in the order of their names.
    pub async fn all_details_types(
        &self,
        after: Option<&TypeName>,
        limit: u32,
    ) -> Result<Vec<RegisteredDetailsType>> {
        sql::query_as::<DetailsTypeRow>(sql::statement!(
            "SELECT ",
            DetailsTypeRow::COLUMNS,
            " FROM authorization_details_types WHERE authorization_details_types.name > $1
             ORDER BY authorization_details_types.name LIMIT $2"
        ))
        .bind(after.map(ToString::to_string).unwrap_or_default())
        .bind(limit)
        .fetch_values(&self.readers)
        .await
    }

    /// The names of all types, in their order.
    pub async fn details_type_names(&self) -> Result<Vec<TypeName>> {
        let rows: Vec<(String,)> =
            sql::query_as("SELECT name FROM authorization_details_types ORDER BY name")
                .fetch_all(&self.readers)
                .await?;
        rows.into_iter()
            .map(|(name,)| parse(&name, cell("authorization_details_types", "name", &name)))
            .collect()
    }
}

/// Adds a type, or replaces the one with its name.
pub(crate) async fn put(
    db: &mut Connection,
    definition: &DetailsType,
    now: Timestamp,
) -> Result<()> {
    sql::query(
        "INSERT INTO authorization_details_types (name, definition, created_at, updated_at)
         VALUES ($1, $2, $3, $3)
         ON CONFLICT (name) DO UPDATE SET definition = excluded.definition, updated_at = excluded.updated_at",
    )
    .bind(definition.name().to_string())
    .bind(to_json(definition)?)
    .bind(now.millis())
    .execute(db)
    .await?;
    Ok(())
}

/// Deletes a type. Tokens keep their details.
pub(crate) async fn delete(db: &mut Connection, name: &TypeName) -> Result<VersionedWrite> {
    let deleted = sql::query("DELETE FROM authorization_details_types WHERE name = $1")
        .bind(name.to_string())
        .execute(db)
        .await?;
    Ok(VersionedWrite::of_rows(deleted))
}
