//! The first start: one instance creates the first administrator, no matter how many instances start.

use crate::engine::sql;
use crate::tables::devices::enrolment_links;
use crate::tables::{accounts, applications, users};
use crate::{Result, Store, audit};
use assent_model::account::Account;
use assent_model::application::Application;
use assent_model::audit::{Actor, Entry};
use assent_model::clock::Timestamp;
use assent_model::device::Enrolment;
use assent_model::user::User;

/// The objects that the first start creates.
#[derive(Clone, Debug)]
pub struct Bootstrap {
    /// The first administrator.
    pub administrator: User,
    /// The link to enrol the administrator's device.
    pub enrolment: Enrolment,
    /// The demo application, with the administrator's account there.
    pub demo: Option<(Application, Account)>,
    /// The entries for the audit log.
    pub entries: Vec<Entry>,
}

impl Store {
    /// Creates all objects, or none if an earlier start created them. Returns whether they were created.
    ///
    /// # Errors
    /// If one of the names is taken.
    pub async fn bootstrap(&self, first: Bootstrap, now: Timestamp) -> Result<bool> {
        self.write(first, move |db, first| {
            Box::pin(async move {
                let claimed: Option<(String,)> = sql::query_as(
                    "INSERT INTO run_once (name, done_at) VALUES ('first start', $1)
                     ON CONFLICT (name) DO NOTHING RETURNING name",
                )
                .bind(now.millis())
                .fetch_optional(&mut *db)
                .await?;
                if claimed.is_none() {
                    return Ok(false);
                }
                users::insert::insert(db, &first.administrator).await?;
                enrolment_links::insert_enrolment(db, &first.enrolment, now).await?;
                if let Some((application, account)) = &first.demo {
                    applications::insert(db, application).await?;
                    accounts::insert(db, account, account.user_id.into(), Some(&Actor::Server))
                        .await?;
                }
                audit::append(db, &first.entries).await?;
                Ok(true)
            })
        })
        .await
    }
}
