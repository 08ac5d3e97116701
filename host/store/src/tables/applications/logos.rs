//! The logos of applications.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::engine::rows::{cell, parse};
use crate::engine::sql;
use crate::engine::sql::{Connection, Query};
use crate::tables::groups::access::granting_applications;
use crate::{Result, Store, VersionedWrite, audit};
use assent_model::audit::Entry;
use assent_model::id::{Did, UserId};
use assent_model::logo::{ApplicationLogo, LogoFormat};

/// Changes the logo of an application, if it still has the one with the digest `before`.
pub(crate) async fn change(
    db: &mut Connection,
    application: &Did,
    before: Option<&String>,
    after: Option<&ApplicationLogo>,
) -> Result<VersionedWrite> {
    let id = application.to_string();
    let query = match (before, after) {
        (None, Some(logo)) => with_image(
            sql::query(
                "INSERT INTO application_logos (application_id, kind, digest, content)
                 VALUES ($1, $2, $3, $4) ON CONFLICT (application_id) DO NOTHING",
            )
            .bind(id),
            logo,
        ),
        (Some(before), Some(logo)) => with_image(
            sql::query(
                "UPDATE application_logos SET kind = $2, digest = $3, content = $4
                 WHERE application_id = $1 AND digest = $5",
            )
            .bind(id),
            logo,
        )
        .bind(before),
        (Some(before), None) => {
            sql::query("DELETE FROM application_logos WHERE application_id = $1 AND digest = $2")
                .bind(id)
                .bind(before)
        }
        (None, None) => return Ok(VersionedWrite::Done),
    };
    Ok(VersionedWrite::of_rows(query.execute(db).await?))
}

fn with_image(query: Query, logo: &ApplicationLogo) -> Query {
    query
        .bind(logo.kind.as_str())
        .bind(&logo.digest)
        .bind(STANDARD.encode(&logo.bytes))
}

impl Store {
    /// Sets an application's logo. Returns `false` and changes nothing if the application does not exist.
    pub async fn set_logo(
        &self,
        application: Did,
        logo: ApplicationLogo,
        entry: Entry,
    ) -> Result<bool> {
        self.write((application, logo, entry), |db, (application, logo, entry)| {
            Box::pin(async move {
                // A concurrent deletion of the application is detected, because the statement waits for it.
                let query = sql::query(
                    "INSERT INTO application_logos (application_id, kind, digest, content)
                     SELECT id, $2, $3, $4 FROM applications WHERE id = $1
                     ON CONFLICT (application_id) DO UPDATE
                     SET kind = excluded.kind, digest = excluded.digest, content = excluded.content",
                );
                let query = with_image(query.bind(application.to_string()), logo);
                let result = query.execute(&mut *db).await?;
                audit::append_if(db, result > 0, std::slice::from_ref(entry)).await
            })
        })
        .await
    }

    /// Removes an application's logo. Returns whether there was one.
    pub async fn remove_logo(&self, application: Did, entry: Entry) -> Result<bool> {
        self.write((application, entry), |db, (application, entry)| {
            Box::pin(async move {
                let query = sql::query("DELETE FROM application_logos WHERE application_id = $1");
                let result = query
                    .bind(application.to_string())
                    .execute(&mut *db)
                    .await?;
                audit::append_if(db, result > 0, std::slice::from_ref(entry)).await
            })
        })
        .await
    }

    /// The logo of an application.
    pub async fn logo(&self, application: &Did) -> Result<Option<ApplicationLogo>> {
        let row: Option<(String, String, String)> = sql::query_as(
            "SELECT kind, digest, content FROM application_logos WHERE application_id = $1",
        )
        .bind(application.to_string())
        .fetch_optional(self.readers.lookups())
        .await?;
        let id = application.to_string();
        row.map(|(kind, digest, content)| {
            Ok(ApplicationLogo {
                kind: LogoFormat::parse(&kind)
                    .ok_or(cell("application_logos", "kind", &id).unexpected())?,
                digest,
                bytes: STANDARD
                    .decode(content)
                    .map_err(|_| cell("application_logos", "content", &id).unexpected())?,
            })
        })
        .transpose()
    }

    /// The format and the digest of an application's logo; `None` without a logo.
    pub async fn logo_version(&self, application: &Did) -> Result<Option<(LogoFormat, String)>> {
        let id = application.to_string();
        let row: Option<(String, String)> =
            sql::query_as("SELECT kind, digest FROM application_logos WHERE application_id = $1")
                .bind(&id)
                .fetch_optional(self.readers.lookups())
                .await?;
        row.map(|(kind, digest)| {
            let kind = LogoFormat::parse(&kind)
                .ok_or_else(|| cell("application_logos", "kind", &id).unexpected())?;
            Ok((kind, digest))
        })
        .transpose()
    }

    /// The digest of an application's logo; `None` without a logo.
    pub async fn logo_digest(&self, application: &Did) -> Result<Option<String>> {
        let row: Option<(String,)> =
            sql::query_as("SELECT digest FROM application_logos WHERE application_id = $1")
                .bind(application.to_string())
                .fetch_optional(self.readers.lookups())
                .await?;
        Ok(row.map(|(digest,)| digest))
    }

    /// The digests of the logos of the applications that grant a user access.
    pub async fn logos_of(&self, user: UserId) -> Result<Vec<(Did, String)>> {
        let rows: Vec<(String, String)> = sql::query_as(concat!(
            "SELECT logo.application_id, logo.digest FROM application_logos AS logo
                 WHERE logo.application_id IN (",
            granting_applications!(),
            ")"
        ))
        .bind(user.to_string())
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter()
            .map(|(id, digest)| {
                Ok((
                    parse(&id, cell("application_logos", "application_id", &id))?,
                    digest,
                ))
            })
            .collect()
    }
}
