//! A user in its stored form.

use crate::engine::rows::{cell, console_role, from_json, lifecycle_state, moment, parse};
use crate::{Result, StoreError};
use assent_model::user::User;

crate::engine::sql::row! {
    pub(crate) struct UserRow of users {
        pub(crate) id: String,
        did: String,
        subject: String,
        name: String,
        email: Option<String>,
        email_confirmed: bool,
        profile: String,
        console_role: Option<String>,
        state: String,
        was_active: bool,
        pub(crate) version: i64,
        created_at: i64,
        pub(crate) updated_at: i64,
    }
}

impl TryFrom<UserRow> for User {
    type Error = StoreError;
    fn try_from(row: UserRow) -> Result<Self> {
        Ok(Self {
            id: parse(&row.id, cell("users", "id", &row.id))?,
            did: parse(&row.did, cell("users", "did", &row.id))?,
            subject: row.subject,
            name: parse(&row.name, cell("users", "name", &row.id))?,
            email: row
                .email
                .map(|email| parse(&email, cell("users", "email", &row.id)))
                .transpose()?,
            email_confirmed: row.email_confirmed,
            profile: from_json(&row.profile, cell("users", "profile", &row.id))?,
            console_role: row
                .console_role
                .map(|role| console_role(&role, cell("users", "console_role", &row.id)))
                .transpose()?,
            state: lifecycle_state(&row.state, cell("users", "state", &row.id))?,
            was_active: row.was_active,
            version: row.version,
            created_at: moment(row.created_at),
            updated_at: moment(row.updated_at),
        })
    }
}

/// A user with its counts for a list.
#[derive(Clone, Debug)]
pub struct UserSummary {
    /// The user.
    pub user: User,
    /// The number of devices that are not revoked.
    pub devices: u32,
    /// The number of the user's accounts.
    pub accounts: u32,
}

crate::engine::sql::row! {
    pub(super) struct SummaryRow {
        pub(super) user: UserRow,
        pub(super) devices: i64,
        pub(super) accounts: i64,
    }
}
