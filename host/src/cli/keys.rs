//! `assent keys`

use anyhow::bail;
use clap::Subcommand;
use serde_json::json;

use super::{ConfigFile, host_without_plugins};
use crate::clock::Timestamp;
use crate::domain::keys::{self, Revoked, Rotated, Takeover};
use crate::keys::KnownKey;
use crate::model::audit::By;
use crate::model::key::SigningAlgorithm;

#[derive(Debug, Subcommand)]
pub(super) enum KeysCommand {
    /// Print the keys: kid, algorithm, state, since when, until when.
    ///
    /// signing: ID tokens are signed with it. published: it is in the key set and will sign. retired: it signs no more,
    /// and is in the key set for the tokens that it signed. remembered: it is out of the key set, and known for hints of
    /// expired tokens. revoked: it was taken out of use.
    List {
        /// As JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: ConfigFile,
    },
    /// Publish the next key, which signs when every application has had the time to fetch it.
    ///
    /// Running hosts notice within seconds. It is also done by itself every `keys.rotation_days`.
    Rotate {
        /// RS256 or PS256; without it, both.
        #[arg(long)]
        algorithm: Option<SigningAlgorithm>,
        /// Sign with it at once. Applications that keep the key set and do not fetch it again for an unknown key refuse
        /// tokens until they do.
        #[arg(long)]
        now: bool,
        #[command(flatten)]
        config: ConfigFile,
    },
    /// Take a key out of the key set and out of use at once; if it signs, another one takes its place.
    ///
    /// For a key that others may have. Tokens that it signed are good nowhere that the key set is fetched anew.
    Revoke {
        /// The key, as `assent keys list` names it.
        // A thumbprint may begin with a hyphen.
        #[arg(allow_hyphen_values = true)]
        kid: String,
        #[command(flatten)]
        config: ConfigFile,
    },
}

pub(super) async fn run(command: KeysCommand) -> anyhow::Result<()> {
    match command {
        KeysCommand::List { json, config } => {
            let host = host_without_plugins(&config.config).await?;
            let known = host.key_ring.known(host.now());
            host.store.close().await;
            if json { print_json(&known)? } else { print_table(&known) }
        }
        KeysCommand::Rotate { algorithm, now, config } => {
            let host = host_without_plugins(&config.config).await?;
            let takeover = if now { Takeover::Now } else { Takeover::InTime };
            for algorithm in SigningAlgorithm::ALL.into_iter().filter(|own| algorithm.is_none_or(|one| one == *own)) {
                match keys::rotate(&host, algorithm, takeover, &By::HOST).await? {
                    Rotated::Published(key) => println!("{algorithm}: {} is published. {}", key.key_id, plan(&key)),
                    Rotated::Waiting(key) => {
                        println!("{algorithm}: {} was published before. {}", key.key_id, plan(&key));
                    }
                    Rotated::Signing(key) => println!("{algorithm}: {} signs now.", key.key_id),
                }
            }
            host.store.close().await;
        }
        KeysCommand::Revoke { kid, config } => {
            let host = host_without_plugins(&config.config).await?;
            let revoked = keys::revoke(&host, &kid, &By::HOST).await?;
            host.store.close().await;
            match revoked {
                Revoked::Done { algorithm, signing } => println!("{algorithm}: {kid} is revoked. {signing} signs."),
                Revoked::Already => bail!("{kid} was revoked before"),
                Revoked::Unknown => bail!("there is no key {kid}; `assent keys list` names them"),
            }
        }
    }
    Ok(())
}

fn plan(key: &KnownKey) -> String {
    format!("It signs from {}; --now lets it sign at once.", text_of(key.times.signs_from))
}

fn print_json(known: &[KnownKey]) -> anyhow::Result<()> {
    let list = known.iter().map(|key| {
        json!({
            "kid": key.key_id,
            "alg": key.algorithm,
            "state": key.life.stage,
            "since": text_of(key.life.since),
            "until": key.life.until.map(text_of),
        })
    });
    println!("{}", serde_json::to_string_pretty(&list.collect::<Vec<_>>())?);
    Ok(())
}

fn print_table(known: &[KnownKey]) {
    println!("{:43}  {:9}  {:10}  {:20}  UNTIL", "KID", "ALGORITHM", "STATE", "SINCE");
    for key in known {
        let until = key.life.until.map_or_else(|| "-".to_owned(), text_of);
        let (algorithm, stage, since) = (key.algorithm.as_str(), key.life.stage.as_str(), text_of(key.life.since));
        println!("{:43}  {algorithm:9}  {stage:10}  {since:20}  {until}", key.key_id);
    }
}

/// A moment to the second, as RFC 3339 writes it.
fn text_of(at: Timestamp) -> String {
    jiff::Timestamp::from_second(at.seconds()).map(|at| at.to_string()).unwrap_or_default()
}
