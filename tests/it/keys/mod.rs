//! Signing keys of tokens.

mod commands;
mod hints;
mod lifecycle;
pub(crate) mod master_key;
mod rotation;
mod token;

use std::sync::Arc;
use std::time::Duration;

use assent::app;
use assent::config;
use assent::domain::Services;
use assent::domain::keys::signing_keys;
use assent::domain::keys::signing_keys::{PUBLICATION_MARGIN, RotationOutcome, Takeover};
use assent::keys::TokenType;
use assent_model::audit::AuditContext;
use assent_model::clock::{Clock, ManualClock, SystemClock};
use assent_model::entropy::SystemEntropy;
use assent_model::key::{KeyStage, SigningAlgorithm};
use serde_json::{Map, Value, json};

use crate::harness::{Database, DatabaseUrl, Json, Text, parse_json, temp_folder, write_file};

const HOURS: Duration = Duration::from_secs(60 * 60);
const DAYS: Duration = Duration::from_secs(24 * 60 * 60);

/// A database with its master key and clock. Its instances do not serve, and maintain the keys only on request.
struct Installation {
    folder: tempfile::TempDir,
    database: DatabaseUrl,
    clock: Arc<ManualClock>,
}

impl Installation {
    async fn new(database: Database) -> Self {
        let folder = temp_folder();
        let database = database.create(folder.path()).await;
        Self {
            folder,
            database,
            clock: Arc::new(ManualClock::new(SystemClock.now())),
        }
    }

    async fn host(&self) -> Arc<Services> {
        self.host_with("").await
    }

    /// Creates an instance with these settings in `[keys]`.
    async fn host_with(&self, settings: &str) -> Arc<Services> {
        self.host_by(&self.clock, settings).await
    }

    /// Creates an instance with a clock of its own.
    async fn host_by(&self, clock: &Arc<ManualClock>, settings: &str) -> Arc<Services> {
        self.try_host(clock, settings).await.expect("an instance")
    }

    async fn try_host(
        &self,
        clock: &Arc<ManualClock>,
        settings: &str,
    ) -> Result<Arc<Services>, app::error::StartError> {
        let text = format!(
            "base_url = \"http://localhost:8080\"\n[database]\nurl = \"{}\"\n[keys]\nmaster_key_file = \
             \"{}\"\n{settings}\n",
            self.database.url(),
            self.folder.path().join("master.key").display(),
        );
        let file = self.folder.path().join("assent.toml");
        write_file(&file, text);
        let surroundings = crate::harness::surroundings(clock, None);
        app::compose(config::load(&file).expect("valid settings"), surroundings).await
    }

    /// Advances the clock, and lets the instance maintain its keys.
    async fn pass(&self, host: &Services, time: Duration) {
        self.clock.advance(time);
        signing_keys::maintain_at(host, host.now())
            .await
            .expect("maintained");
    }
}

/// Returns the `kid` of the key that signs with RS256.
fn signing(host: &Services) -> String {
    host.key_ring
        .signer(SigningAlgorithm::Rs256, host.now())
        .expect("a key")
        .key_id()
        .to_owned()
}

/// Returns an ID token with these claims and a signature of the active key.
async fn token(host: &Services, algorithm: SigningAlgorithm, claims: Value) -> String {
    let Value::Object(claims) = claims else {
        panic!("claims are an object")
    };
    host.key_ring
        .signer(algorithm, host.now())
        .expect("a key")
        .sign(claims, TokenType::IdToken)
        .expect("signed")
}

/// Returns the `kid`s of the RS256 keys in the key set, in their order.
fn published(host: &Services) -> Vec<String> {
    let set = host.key_ring.published_key_set(host.now());
    let set: Value = parse_json(set.json());
    let of_algorithm = set["keys"]
        .items()
        .iter()
        .filter(|key| key["alg"] == "RS256");
    of_algorithm
        .map(|key| key["kid"].text().to_owned())
        .collect()
}

/// Returns the stages of the RS256 keys, the oldest key first.
fn stages(host: &Services) -> Vec<KeyStage> {
    let known = host.key_ring.all_keys(host.now()).into_iter();
    let mut known: Vec<_> = known
        .filter(|key| key.algorithm == SigningAlgorithm::Rs256)
        .collect();
    known.sort_by_key(|key| key.times.generation);
    known.iter().map(|key| key.life.stage).collect()
}

fn claims() -> Value {
    json!({"sub": "ada", "exp": 1})
}

fn object(value: Value) -> Map<String, Value> {
    value.members().clone()
}
