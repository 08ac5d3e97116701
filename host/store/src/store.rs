//! The database with its connections, its writers and its loaders, which all subjects share.

use std::sync::Arc;

use crate::sql::Connection;
use futures_util::future::BoxFuture;

use crate::accounts::UserAccount;
use crate::audit::chain::ChainContext;
use crate::batch::issuance_queues::TokenIssuance;
use crate::batch::loader::BatchLoader;
use crate::connect;
use crate::connections::Readers;
use crate::error::Result;
use crate::instance::Instance;
use crate::tokens::{AccessLookup, RefreshLookup};
use crate::writer::Writer;
use assent_model::application::RegisteredApplication;
use assent_model::token::CodeGrant;

/// The database.
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) readers: Readers,
    pub(crate) writer: Writer,
    /// Writes approvals that are asked for, one batch at a time: of two at once that ask for the same names in another
    /// order, each would wait for the other.
    pub(crate) approval_writer: Writer,
    pub(crate) lookups: Loaders,
    pub(crate) token_issuance: TokenIssuance,
    pub(crate) chaining: Arc<ChainContext>,
    pub(crate) instance: Arc<Instance>,
}

/// What applications' requests look up.
#[derive(Clone, Debug)]
pub(crate) struct Loaders {
    pub(crate) applications: BatchLoader<RegisteredApplication>,
    pub(crate) user_accounts: BatchLoader<UserAccount>,
    pub(crate) codes: BatchLoader<CodeGrant>,
    pub(crate) access_tokens: BatchLoader<AccessLookup>,
    pub(crate) refresh_tokens: BatchLoader<RefreshLookup>,
}

impl Store {
    /// Whether there may be a database at `url`: `false` only where it would be a file, and is none.
    pub fn may_exist(url: &str) -> bool {
        connect::sqlite_file(url).is_none_or(std::path::Path::exists)
    }

    /// Waits for writes under way and closes the connections.
    pub async fn close(&self) {
        self.approval_writer.stop().await;
        self.writer.close().await;
        self.instance.close().await;
        self.readers.close().await;
    }

    /// Runs `work` in a transaction that it may share with others, and answers once that is durable. If `work` fails,
    /// nothing that it did stays. It may be run a second time, alone, if another's failure undid the first.
    pub(crate) async fn write<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'c> Fn(&'c mut Connection) -> BoxFuture<'c, Result<T>> + Send + Sync + 'static,
    {
        self.writer.write(work).await
    }
}
