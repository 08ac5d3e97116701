//! The database, its clock, and the master key.

use std::time::Duration;

use super::finding::Finding;
use crate::app::master_keys::existing_master_keys;
use crate::config::{Keys, Migrate, Settings};

use assent_model::clock::{Clock, SystemClock};
use assent_model::entropy::SystemEntropy;
use assent_store::{ConnectionCounts, Database, DatabaseProblem, Diagnosis, MIGRATIONS, Store};

/// A longer round trip makes each sign-in slow.
const SLOW: Duration = Duration::from_millis(5);
/// The difference of the clocks, in milliseconds, at which the doctor warns. With a larger one instances do not serve.
const CLOCK_WARNING: u64 = 1000;
const CLOCK_PROBLEM: u64 = 5000;

pub(super) async fn examine(settings: &Settings) -> Vec<Finding> {
    let database = &settings.database;
    if !Store::may_exist(&database.url) {
        let text = "the database does not exist yet; the first start creates it";
        return vec![Finding::warning("database", text, "Run: assent serve")];
    }
    let connections = ConnectionCounts {
        read: database.read_connections,
        write: database.write_connections,
    };
    let diagnosis = match Database::diagnose(&database.url, connections).await {
        Ok(diagnosis) => diagnosis,
        Err(error) => {
            let advice =
                "Check database.url, that the database runs, and that this user may connect to it.";
            return vec![Finding::problem("database", error.to_string(), advice)];
        }
    };
    let mut findings = vec![speed(&diagnosis)];
    findings.extend(diagnosis.problems.iter().map(finding_of));
    findings.extend(
        diagnosis
            .clock
            .map(|clock| clock_finding(clock, &diagnosis)),
    );
    let migrations = migrations(settings).await;
    findings.extend(migrations);
    findings.push(master_key(&settings.keys));
    findings
}

fn speed(diagnosis: &Diagnosis) -> Finding {
    let text = format!(
        "{} answers in {:.1} ms",
        diagnosis.product,
        diagnosis.round_trip.as_secs_f64() * 1000.0
    );
    if diagnosis.round_trip > SLOW {
        let advice =
            "Run the database in the same data centre: a sign-in takes about ten round trips.";
        return Finding::warning("database", text, advice);
    }
    Finding::ok("database", text)
}

fn finding_of(problem: &DatabaseProblem) -> Finding {
    let check = "database";
    match problem {
        DatabaseProblem::NotChecked(within) => Finding::warning(
            check,
            format!(
                "its file could not be checked within {} s",
                within.as_secs()
            ),
            "Check it yourself: sqlite3 FILE 'PRAGMA quick_check'",
        ),
        DatabaseProblem::Damaged(what) => Finding::problem(
            check,
            format!("the file is damaged: {what}"),
            "Stop the server, and restore a backup.",
        ),
        DatabaseProblem::NotDurable(setting) => Finding::problem(
            check,
            format!(
                "{setting} is off, so a crash of PostgreSQL loses sign-ins, revocations and audit entries"
            ),
            format!("Set {setting} = on in postgresql.conf."),
        ),
        DatabaseProblem::AutovacuumOff => Finding::problem(
            check,
            "autovacuum is off, so the tables grow without end",
            "Set autovacuum = on in postgresql.conf.",
        ),
        DatabaseProblem::ReadOnly => Finding::problem(
            check,
            "it rejects writes: it is a standby, or default_transaction_read_only is on",
            "Point database.url to the primary.",
        ),
        DatabaseProblem::OldRelease => Finding::problem(
            check,
            "releases of PostgreSQL before 13 are not supported",
            "Upgrade PostgreSQL.",
        ),
        DatabaseProblem::FewConnections { limit, needed } => Finding::warning(
            check,
            format!(
                "PostgreSQL permits {limit} connections, and two instances need {needed} during an upgrade"
            ),
            "Raise max_connections, or lower database.read_connections and database.write_connections.",
        ),
        DatabaseProblem::Superuser => Finding::warning(
            check,
            "the server connects as a superuser, and needs only its own tables",
            "Create a role that owns only this database, and use it in database.url.",
        ),
        DatabaseProblem::Unencrypted => Finding::warning(
            check,
            "the connection to another address is not encrypted",
            "Unless the network is private, add ?sslmode=require to database.url, and enable TLS in PostgreSQL.",
        ),
    }
}

fn clock_finding(clock: i64, diagnosis: &Diagnosis) -> Finding {
    let half = i64::try_from(diagnosis.round_trip.as_millis() / 2).unwrap_or(0);
    let ahead = clock
        .saturating_sub(half)
        .saturating_sub(SystemClock.now().millis());
    let text = format!("the database's clock differs by {ahead} ms");
    let advice = "Synchronise the clocks of both machines, for example with chrony.";
    match ahead.unsigned_abs() {
        CLOCK_PROBLEM.. => Finding::problem("clock", text, advice),
        CLOCK_WARNING.. => Finding::warning("clock", text, advice),
        _ => Finding::ok("clock", text),
    }
}

/// Checks the migrations. Returns `None` if the tables are up to date.
async fn migrations(settings: &Settings) -> Option<Finding> {
    let database = &settings.database;
    let pending = match Database::pending_migrations(&database.url, MIGRATIONS).await {
        Ok(pending) => pending,
        Err(error) => {
            let advice = "Run the release that the schema belongs to.";
            return Some(Finding::problem("migrations", error.to_string(), advice));
        }
    };
    let names: Vec<String> = pending.iter().map(ToString::to_string).collect();
    let text = format!("pending: {}", names.join(", "));
    if names.is_empty() {
        return None;
    }
    // Without the setting, a start migrates SQLite and an empty database.
    let is_automatic_by_default =
        Store::database_file(&database.url).is_some() || pending.len() == MIGRATIONS.len();
    let is_automatic = match database.migrate {
        Some(migrate) => migrate == Migrate::Automatic,
        None => is_automatic_by_default,
    };
    Some(match is_automatic {
        true => Finding::warning("migrations", text, "The next start applies them."),
        false => Finding::problem("migrations", text, "Run: assent migrate"),
    })
}

/// Whether the master keys can be read.
fn master_key(keys: &Keys) -> Finding {
    let check = "master key";
    let file = &keys.master_key_file;
    let is_in_file =
        keys.master_key.is_none() && keys.pkcs11.as_ref().is_none_or(|token| token.key.is_none());
    if is_in_file && !file.exists() {
        let text = format!("{} does not exist", file.display());
        let advice = "If this installation was started before, restore the file from its backup.";
        return Finding::warning(check, text, advice);
    }
    match existing_master_keys(keys, &SystemEntropy) {
        Ok(found) if found.previous.is_some() => {
            let text = "the settings name a previous master key";
            let advice = "Run: assent admin master-key. It says when to remove the previous key from the settings.";
            Finding::warning(check, text, advice)
        }
        Ok(_) => Finding::ok(check, "it can be used"),
        Err(error) => Finding::problem(check, error.to_string(), ""),
    }
}
