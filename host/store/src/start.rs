//! The start of the store: its writers, readers and loaders.

use std::sync::Arc;

use crate::audit::context::ChainContext;
use crate::audit::root;
use crate::engine::batch::loader::start_loader;
use crate::engine::connect::Database;
use crate::engine::sql::DatabaseKind;
use crate::engine::writer::Writer;
use crate::error::Result;
use crate::operations::instance::Instance;
use crate::store::{Caches, Loaders, Store};
use crate::tables::accounts::user_account;
use crate::tables::applications::row;
use crate::tables::devices::inbox_row;
use crate::tables::sign_in::replay_cache;
use crate::tables::sign_in::sign_on_queues::SignOnQueues;
use crate::tables::tokens::TokenIssuance;
use crate::tables::{devices, tokens};

impl Store {
    /// Starts the writers and readers of a database. `chaining` authenticates the audit log. `master_key` is the
    /// fingerprint that the heartbeats of this instance name.
    pub async fn start(
        database: Database,
        chaining: ChainContext,
        master_key: &str,
    ) -> Result<Self> {
        root::ensure(&database.writers, database.begin, &chaining).await?;
        let chaining = Arc::new(chaining);
        let waiters = Arc::default();
        let writer = Writer::start(&database, database.writer_count, &chaining, &waiters)?;
        let approval_writer = if database.kind == DatabaseKind::Sqlite {
            writer.clone()
        } else {
            Writer::start(&database, 1, &chaining, &waiters)?
        };
        let instance = Instance::new(chaining.salt(), master_key, &database);
        let measurements = Arc::clone(database.writers.measurements());
        let (readers, kind) = (database.readers, database.kind);
        let lookups = Loaders {
            applications: start_loader::<row::ApplicationRow>(&readers, kind, row::BY_ID),
            user_accounts: start_loader::<user_account::UserAccountRow>(
                &readers,
                kind,
                user_account::BY_ACCOUNT_ID,
            ),
            application_versions: start_loader::<row::ApplicationVersionRow>(
                &readers,
                kind,
                row::VERSION_BY_ID,
            ),
            codes: start_loader::<tokens::CodeRow>(&readers, kind, tokens::CODE_BY_ID),
            families: start_loader::<tokens::FamilyRow>(&readers, kind, tokens::FAMILY_BY_ID),
            family_states: start_loader::<tokens::FamilyStateRow>(
                &readers,
                kind,
                tokens::FAMILY_STATE,
            ),
            client_states: start_loader::<tokens::ClientStateRow>(
                &readers,
                kind,
                tokens::CLIENT_STATE,
            ),
            devices: start_loader::<devices::DeviceRow>(&readers, kind, devices::DEVICE_BY_ID),
            inboxes: start_loader::<inbox_row::InboxRow>(
                &readers,
                kind,
                inbox_row::INBOX_BY_DEVICE,
            ),
        };
        let token_issuance = TokenIssuance::start(&writer, kind);
        let replay_claims = replay_cache::start(&writer, kind);
        let sign_on_queues = SignOnQueues::start(&writer, kind);
        Ok(Self {
            readers,
            writer,
            approval_writer,
            lookups,
            caches: Caches::default(),
            token_issuance,
            replay_claims,
            sign_on_queues,
            chaining,
            measurements,
            instance: Arc::new(instance),
            waiters,
            old_changes: Arc::default(),
            recorded_use: Arc::default(),
            recorded_account_use: Arc::default(),
            secret_uses: Arc::default(),
        })
    }
}
