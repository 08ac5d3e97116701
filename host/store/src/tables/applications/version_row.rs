//! The versions of applications.

use crate::engine::batch::loader::Row;

pub(crate) const VERSION_BY_ID: &str =
    "SELECT id, version, updated_at, (SELECT MAX(epoch) FROM token_epochs) AS epoch
     FROM applications WHERE id IN ({$})";

crate::engine::sql::row! {
    #[derive(Clone)]
    pub(crate) struct ApplicationVersionRow {
        pub(super) id: String,
        pub(super) version: i64,
        pub(super) updated_at: i64,
        pub(super) epoch: i64,
    }
}

impl Row for ApplicationVersionRow {
    type Key = String;
    type Value = Self;
    fn key(&self) -> String {
        self.id.clone()
    }
}
