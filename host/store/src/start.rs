//! The start of the store: its writers, readers and loaders.

use std::sync::Arc;

use crate::audit::context::ChainContext;
use crate::audit::root;
use crate::engine::batch::loader::{start_loader, start_patient_loader};
use crate::engine::connect::Database;
use crate::engine::sql::DatabaseKind;
use crate::engine::writer::Writer;
use crate::error::Result;
use crate::operations::instance::Instance;
use crate::store::{Caches, Loaders, Store};
use crate::tables::accounts::user_account;
use crate::tables::applications::row;
use crate::tables::backchannel::watched;
use crate::tables::devices::inbox_row;
use crate::tables::keys::saml_keys;
use crate::tables::sessions::signed_in;
use crate::tables::sign_in::{pushed_request_row, replay_cache};
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
        let requests = Arc::default();
        let start_writers = |count| Writer::start(&database, count, &chaining, &waiters, &requests);
        let writer = start_writers(database.writer_count)?;
        let approval_writer = if database.kind == DatabaseKind::Sqlite {
            writer.clone()
        } else {
            start_writers(1)?
        };
        let instance = Instance::new(chaining.salt(), master_key, &database);
        let measurements = Arc::clone(database.writers.measurements());
        let readers = database.readers;
        let lookups = Loaders {
            applications: start_loader::<row::ApplicationRow>(&readers, row::BY_ID),
            user_accounts: start_loader::<user_account::UserAccountRow>(
                &readers,
                user_account::BY_ACCOUNT_ID,
            ),
            access: start_loader::<user_account::AccountRow>(&readers, user_account::ACCESS),
            application_versions: start_loader::<row::ApplicationVersionRow>(
                &readers,
                row::VERSION_BY_ID,
            ),
            patient_versions: start_patient_loader::<row::ApplicationVersionRow>(
                &readers,
                row::VERSION_BY_ID,
            ),
            watched_requests: start_patient_loader::<watched::WatchedRow>(
                &readers,
                watched::WATCHED_BY_ID,
            ),
            codes: start_loader::<tokens::PresentedCodeRow>(&readers, tokens::PRESENTED_CODE),
            families: start_loader::<tokens::FamilyRow>(&readers, tokens::FAMILY_BY_ID),
            family_states: start_loader::<tokens::FamilyStateRow>(&readers, tokens::FAMILY_STATE),
            client_states: start_loader::<tokens::ClientStateRow>(&readers, tokens::CLIENT_STATE),
            sessions: start_loader::<signed_in::SignedInRow>(
                &readers,
                signed_in::SIGNED_IN_SESSION,
            ),
            sign_on_states: start_loader::<signed_in::SignOnRow>(
                &readers,
                signed_in::SIGN_ON_STATE,
            ),
            saml_keys: start_loader::<saml_keys::KeyRow>(&readers, saml_keys::KEYS_BY_APPLICATION),
            claims: start_loader::<replay_cache::ClaimRow>(&readers, replay_cache::CLAIM_BY_DIGEST),
            pushed_requests: start_loader::<pushed_request_row::PushedRequestRow>(
                &readers,
                pushed_request_row::PUSHED_REQUEST_BY_ID,
            ),
            devices: start_loader::<devices::DeviceRow>(&readers, devices::DEVICE_BY_ID),
            inboxes: start_loader::<inbox_row::InboxRow>(&readers, inbox_row::INBOX_BY_DEVICE),
        };
        Ok(Self {
            readers,
            writer,
            approval_writer,
            lookups,
            caches: Caches::default(),
            chaining,
            measurements,
            instance: Arc::new(instance),
            waiters,
            requests,
            administrative_writes: Arc::default(),
            old_changes: Arc::default(),
            recorded_use: Arc::default(),
            recorded_account_use: Arc::default(),
            secret_uses: Arc::default(),
        })
    }
}
