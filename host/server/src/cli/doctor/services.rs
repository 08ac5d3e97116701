//! The external services of the server: the SMTP server, and the hosts of approval channels. Also the digests of its
//! plugins.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use anyhow::Context;
use openssl::asn1::Asn1Time;
use openssl::ssl::{SslConnector, SslMethod};
use tokio::net::TcpStream;
use tokio_openssl::SslStream;

use super::finding::Finding;
use crate::app;
use crate::config::{Plugins, Settings};
use assent_model::clock::{Clock, SystemClock, Timestamp};

/// The timeout of one connection with its handshake.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The difference of the clocks, in seconds, above which the doctor reports it.
const CLOCK_WARNING: i64 = 5;

/// Returns a warning for each plugin with a file that may change unnoticed: the settings have no digest of it, and not
/// only root can change it. The plugins of the package are as protected as the server itself.
pub(super) fn plugin_digests(plugins: &Plugins) -> Vec<Finding> {
    let mappers = plugins
        .claim_mappers
        .iter()
        .map(|one| (&one.name, &one.file, &one.sha256));
    let channels = plugins
        .approval_channels
        .iter()
        .map(|one| (&one.name, &one.file, &one.sha256));
    let all: Vec<_> = mappers.chain(channels).collect();
    let unpinned: Vec<&str> = all
        .iter()
        .filter(|(_, file, digest)| digest.is_none() && !only_root_writes(file))
        .map(|(name, ..)| name.as_str())
        .collect();
    if all.is_empty() {
        return Vec::new();
    }
    if unpinned.is_empty() {
        return vec![Finding::ok(
            "plugins",
            format!(
                "{} with digests, or in files that only root can change",
                all.len()
            ),
        )];
    }
    vec![Finding::warning(
        "plugins",
        format!("the settings have no digest of {}", unpinned.join(", ")),
        "Add sha256 to each, as `assent plugins check FILE` prints it. Another file is then not loaded.",
    )]
}

/// Whether only root can change or replace a file: root owns it and all folders above it, and no other user may write
/// to them. A path with symbolic links does not count, because another user might replace one of them. A folder with
/// the sticky bit, such as `/tmp`, does not count either.
fn only_root_writes(file: &Path) -> bool {
    let (Ok(absolute), Ok(real)) = (std::path::absolute(file), file.canonicalize()) else {
        return false;
    };
    absolute == real
        && real.ancestors().all(|path| {
            std::fs::metadata(path).is_ok_and(|found| found.uid() == 0 && found.mode() & 0o022 == 0)
        })
}

/// Connects to the external services. Sends no email and no approval request.
pub(super) async fn examine(settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(smtp(settings).await);
    let channels = &settings.plugins.approval_channels;
    let hosts = channels.iter().flat_map(|channel| &channel.http_hosts);
    let (patterns, hosts): (Vec<_>, Vec<_>) = hosts.partition(|host| host.contains('*'));
    let mut differences = Vec::new();
    for host in hosts {
        let (finding, ahead) = channel_host(host).await;
        findings.push(finding);
        differences.extend(ahead);
    }
    for pattern in patterns {
        let text = format!("{pattern} was not checked: it does not name a single host");
        findings.push(Finding::ok("push", text));
    }
    // The clock of a host may be wrong, or its response slow. So the smallest difference counts.
    let least = differences.into_iter().min_by_key(|ahead| ahead.abs());
    findings.extend(least.map(clock_finding));
    findings
}

async fn smtp(settings: &Settings) -> Option<Finding> {
    let mailer = match app::mailer(settings) {
        Ok(mailer) => mailer?,
        Err(error) => return Some(Finding::problem("email", error.to_string(), "")),
    };
    let address = mailer.address();
    Some(match mailer.check().await {
        Ok(()) => Finding::ok(
            "email",
            format!("{address} accepts the connection and the credentials"),
        ),
        Err(error) => Finding::problem(
            "email",
            error.to_string(),
            "Check the table [mail], and that the firewall permits the connection.",
        ),
    })
}

/// Checks whether a host responds. Also returns the number of seconds by which this machine's clock is ahead of the
/// host's.
async fn channel_host(host: &str) -> (Finding, Option<i64>) {
    match date_of(host).await {
        Ok(date) => {
            let ahead = date.map(|date| SystemClock.now().seconds() - date.seconds());
            let finding = Finding::ok("push", format!("{host} can be reached"));
            (finding, ahead)
        }
        Err(error) => {
            let finding = Finding::warning(
                "push",
                format!("{host}: {error:#}"),
                "Permit outgoing connections to it; until then devices find requests only when they are opened.",
            );
            (finding, None)
        }
    }
}

/// Returns the date in the response of a host (RFC 9110 section 6.6.1), independent of the status.
async fn date_of(host: &str) -> anyhow::Result<Option<Timestamp>> {
    let client = reqwest::Client::builder()
        .timeout(TIMEOUT)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .build()?;
    let response = client.head(format!("https://{host}/")).send().await;
    let response = response.map_err(reqwest::Error::without_url)?;
    let date = response.headers().get(reqwest::header::DATE);
    Ok(date.and_then(|date| http_date(date.to_str().ok()?)))
}

fn http_date(text: &str) -> Option<Timestamp> {
    let date = jiff::fmt::rfc2822::parse(text).ok()?;
    Some(Timestamp::from_seconds(date.timestamp().as_second()))
}

/// Compares the clock with that of a host. The host's date has a resolution of one second.
fn clock_finding(ahead: i64) -> Finding {
    let text = format!(
        "this machine's clock differs by {} s from those of the push services",
        ahead.abs()
    );
    if ahead.abs() > CLOCK_WARNING {
        let advice = "Synchronise the clock, for example with chrony: tokens and assertions are valid at the wrong \
                      times.";
        return Finding::warning("clock", text, advice);
    }
    Finding::ok("clock", text)
}

/// Connects with TLS, verifies the certificate, and returns its remaining days.
pub(super) async fn certificate_days(
    host: &str,
    port: u16,
    ca: Option<&Path>,
) -> anyhow::Result<i64> {
    let mut builder = SslConnector::builder(SslMethod::tls_client())?;
    if let Some(file) = ca {
        builder
            .set_ca_file(file)
            .with_context(|| file.display().to_string())?;
    }
    let name = host.trim_matches(['[', ']']);
    let ssl = builder.build().configure()?.into_ssl(name)?;
    let connected = async {
        let stream = TcpStream::connect((name, port))
            .await
            .context("no connection")?;
        let mut stream = SslStream::new(ssl, stream)?;
        let shaken = Pin::new(&mut stream).connect().await;
        let verified = stream.ssl().verify_result();
        shaken.with_context(|| format!("no TLS connection: {}", verified.error_string()))?;
        anyhow::Ok(stream)
    };
    let stream = tokio::time::timeout(TIMEOUT, connected)
        .await
        .context("no answer in time")??;
    let certificate = stream.ssl().peer_certificate().context("no certificate")?;
    let left = Asn1Time::days_from_now(0)?.diff(certificate.not_after())?;
    Ok(i64::from(left.days))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::finding::Level;

    #[test]
    fn a_wrong_clock_is_a_warning() {
        let date = http_date("Sun, 06 Nov 1994 08:49:37 GMT").map(Timestamp::seconds);
        assert_eq!(date, Some(784_111_777), "the example of RFC 9110");
        assert_eq!(http_date("yesterday"), None);
        assert_eq!(clock_finding(-5).level, Level::Ok);
        assert_eq!(clock_finding(-6).level, Level::Warning);
    }

    #[test]
    fn files_of_root_need_no_digest() {
        let of_root = Path::new("/etc/passwd");
        let owned = |path| std::fs::metadata(path).unwrap().uid() == 0;
        assert_eq!(
            only_root_writes(of_root),
            owned("/") && owned("/etc") && owned("/etc/passwd")
        );
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (
            folder.path().join("a.wasm"),
            folder.path().join("link.wasm"),
        );
        std::fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink(of_root, &link).unwrap();
        let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(folder.path(), everyone).unwrap();
        assert!(!only_root_writes(&file) && !only_root_writes(&link));
        assert!(!only_root_writes(Path::new("/nowhere/a.wasm")));
    }

    #[test]
    fn plugins_without_a_digest_are_named() {
        let read = |text: &str| toml::from_str::<Plugins>(text).unwrap();
        let found = plugin_digests(&read(
            "[[claim_mappers]]\nname = \"a\"\nfile = \"a.wasm\"\nwrites = []\nsha256 = \"00\"\n\
             [[approval_channels]]\nname = \"b\"\nfile = \"b.wasm\"\n",
        ));
        let [found] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!(found.level, Level::Warning);
        assert_eq!(found.text, "the settings have no digest of b");
        let pinned = read(
            "[[claim_mappers]]\nname = \"a\"\nfile = \"a.wasm\"\nwrites = []\nsha256 = \"00\"\n",
        );
        assert!(
            plugin_digests(&pinned)
                .iter()
                .all(|one| one.level == Level::Ok)
        );
    }
}
