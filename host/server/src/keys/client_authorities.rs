//! The authorities of the operator whose certificates applications may present (RFC 8705 section 2.1):
//! `http.mtls.authorities_file`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use openssl::error::ErrorStack;
use openssl::stack::Stack;
use openssl::x509::store::X509StoreBuilder;
use openssl::x509::verify::X509VerifyParam;
use openssl::x509::{X509, X509PurposeId, X509Ref, X509StoreContext, X509VerifyResult};

use super::armour::has_private_key;
use super::reloaded_file::ReloadedFile;
use assent_model::certificate_name::CertificateName;
use assent_model::clock::SharedClock;
use assent_model::secret::Digest;

/// The largest number of intermediate authorities in a chain.
const MOST_INTERMEDIATES: i32 = 8;

/// Keys and signatures of at least 112 bits of security: no SHA-1, and no RSA key below 2,048 bits.
const SECURITY_LEVEL: i32 = 2;

/// The authorities in the file.
pub struct ClientAuthorities {
    file: PathBuf,
    clock: SharedClock,
    reloaded: ReloadedFile<Arc<LoadedAuthorities>>,
}

struct LoadedAuthorities {
    /// The roots, in which trust begins.
    roots: Vec<X509>,
    /// Certificates between roots and clients, for clients and proxies that do not send them. They have no trust of
    /// their own.
    intermediates: Vec<X509>,
}

impl std::fmt::Debug for ClientAuthorities {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientAuthorities")
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

/// The reason why the file cannot be used. The message begins with the key of the setting.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message of each variant documents it")]
pub enum AuthoritiesError {
    #[error("http.mtls.authorities_file: cannot read {}: {reason}", file.display())]
    Unreadable { file: PathBuf, reason: io::Error },
    #[error(
        "http.mtls.authorities_file: {} has a damaged certificate; expected PEM (-----BEGIN CERTIFICATE-----)",
        file.display()
    )]
    Damaged { file: PathBuf },
    #[error(
        "http.mtls.authorities_file: there is no root authority in {}; expected its self-signed certificate in PEM \
         form (-----BEGIN CERTIFICATE-----)", file.display()
    )]
    NoRoot { file: PathBuf },
    #[error(
        "http.mtls.authorities_file: there is a private key in {}; expected only certificates of authorities",
        file.display()
    )]
    PrivateKey { file: PathBuf },
}

/// The reason why a certificate does not prove a name. The application's developer receives the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateDenied {
    /// No chain leads to a root.
    Untrusted,
    /// It is expired or not valid yet, or an authority in its chain is.
    NotInTime,
    /// It must not authenticate a client, or an authority in its chain must not issue such certificates.
    Purpose,
    /// Its authority is trusted, but it lacks the name.
    OtherName,
}

impl ClientAuthorities {
    /// Reads the file.
    ///
    /// # Errors
    /// [`AuthoritiesError`] if it cannot be read, or has no root authority.
    pub fn load(file: &Path, clock: SharedClock) -> Result<Self, AuthoritiesError> {
        let content = read(file)?;
        let loaded = Arc::new(LoadedAuthorities::parse(file, &content)?);
        let seen = Digest::sha256(&content);
        Ok(Self {
            file: file.to_owned(),
            reloaded: ReloadedFile::new(loaded, seen, Arc::clone(&clock)),
            clock,
        })
    }

    /// Reads the file again if it changed, and the last check is long ago. An invalid file changes nothing: the
    /// previous authorities stay in use, and the log has one error.
    pub async fn reload_if_due(self: &Arc<Self>) {
        let reload = Self::reload_if_changed;
        self.reloaded.reload_if_due(self, reload).await;
    }

    /// Checks that one of the authorities issued this certificate (DER) for client authentication, that it is valid
    /// now, and that it has this name (RFC 5280 section 6, RFC 8705 section 2.1). `intermediates` come from the client
    /// and have no trust of their own.
    ///
    /// # Errors
    /// [`CertificateDenied`] if any of these checks fails.
    pub fn verify(
        &self,
        der: &[u8],
        intermediates: &[Vec<u8>],
        name: &CertificateName,
    ) -> Result<(), CertificateDenied> {
        let certificate = X509::from_der(der).map_err(|_| CertificateDenied::Untrusted)?;
        let loaded = self.reloaded.current();
        let outcome = loaded.verify(&certificate, intermediates, self.clock.now().seconds());
        // A failed verification leaves errors, which later calls of OpenSSL would report.
        drop(ErrorStack::get());
        match outcome {
            Ok(None) if has_name(&certificate, name) => Ok(()),
            Ok(None) => Err(CertificateDenied::OtherName),
            Ok(Some(failure)) => {
                tracing::info!(
                    reason = failure.error_string(),
                    "client certificate not verified"
                );
                Err(denied(failure))
            }
            Err(error) => {
                tracing::info!(%error, "client certificate not verified");
                Err(CertificateDenied::Untrusted)
            }
        }
    }

    /// Applies the content of the files, if it changed.
    fn reload_if_changed(&self) {
        let replaced = read(&self.file).and_then(|content| {
            let parse = || LoadedAuthorities::parse(&self.file, &content).map(Arc::new);
            self.reloaded.replace(Digest::sha256(&content), parse)
        });
        match replaced {
            Ok(true) => tracing::info!("client authorities reloaded"),
            Ok(false) => {}
            Err(error) => {
                tracing::error!(%error, "client authorities reload failed, the previous ones stay in use");
            }
        }
    }
}

impl LoadedAuthorities {
    fn parse(file: &Path, content: &[u8]) -> Result<Self, AuthoritiesError> {
        let file = || file.to_owned();
        if has_private_key(&String::from_utf8_lossy(content)) {
            return Err(AuthoritiesError::PrivateKey { file: file() });
        }
        let certificates = X509::stack_from_pem(content)
            .map_err(|_| AuthoritiesError::Damaged { file: file() })?;
        let (roots, intermediates): (Vec<X509>, Vec<X509>) =
            certificates.into_iter().partition(is_self_signed);
        drop(ErrorStack::get());
        if roots.is_empty() {
            return Err(AuthoritiesError::NoRoot { file: file() });
        }
        Ok(Self {
            roots,
            intermediates,
        })
    }

    /// Returns the failed check of the chain, if there is one.
    fn verify(
        &self,
        certificate: &X509,
        intermediates: &[Vec<u8>],
        now: i64,
    ) -> Result<Option<X509VerifyResult>, ErrorStack> {
        let mut parameters = X509VerifyParam::new()?;
        parameters.set_time(now);
        parameters.set_depth(MOST_INTERMEDIATES);
        parameters.set_auth_level(SECURITY_LEVEL);
        parameters.set_purpose(X509PurposeId::SSL_CLIENT)?;
        let mut store = X509StoreBuilder::new()?;
        for root in &self.roots {
            store.add_cert(root.clone())?;
        }
        store.set_param(&parameters)?;
        let mut untrusted = Stack::new()?;
        for intermediate in &self.intermediates {
            untrusted.push(intermediate.clone())?;
        }
        for der in intermediates {
            untrusted.push(X509::from_der(der)?)?;
        }
        let mut context = X509StoreContext::new()?;
        context.init(&store.build(), certificate, &untrusted, |context| {
            if !context.verify_cert()? {
                return Ok(Some(context.error()));
            }
            let chain: Vec<&X509Ref> = context.chain().into_iter().flatten().collect();
            let [_, issuers @ .., _] = chain.as_slice() else {
                return Ok(None);
            };
            match issuers.iter().all(|issuer| has_basic_constraints(issuer)) {
                true => Ok(None),
                false => Err(ErrorStack::get()),
            }
        })
    }
}

fn read(file: &Path) -> Result<Vec<u8>, AuthoritiesError> {
    std::fs::read(file).map_err(|reason| AuthoritiesError::Unreadable {
        file: file.to_owned(),
        reason,
    })
}

/// Whether the certificate has the extension `basicConstraints`. OpenSSL checks what it says, but an issuer without it
/// may count as an authority there (RFC 5280 section 6.1.4).
fn has_basic_constraints(certificate: &X509Ref) -> bool {
    const IDENTIFIER: [u8; 5] = [0x06, 0x03, 0x55, 0x1d, 0x13];
    let der = certificate.to_der().unwrap_or_default();
    der.windows(IDENTIFIER.len()).any(|part| part == IDENTIFIER)
}

fn is_self_signed(certificate: &X509) -> bool {
    let key = certificate.public_key();
    certificate.issued(certificate) == X509VerifyResult::OK
        && key.is_ok_and(|key| certificate.verify(&key).unwrap_or(false))
}

/// Returns the kind of a failed check. The numbers are those of `X509_V_ERR_...` in OpenSSL.
fn denied(failure: X509VerifyResult) -> CertificateDenied {
    const NOT_YET_VALID: i32 = 9;
    const HAS_EXPIRED: i32 = 10;
    const INVALID_PURPOSE: i32 = 26;
    match failure.as_raw() {
        NOT_YET_VALID | HAS_EXPIRED => CertificateDenied::NotInTime,
        INVALID_PURPOSE => CertificateDenied::Purpose,
        _ => CertificateDenied::Untrusted,
    }
}

/// Whether the certificate has exactly this name. An alternative name of another kind does not count.
fn has_name(certificate: &X509Ref, name: &CertificateName) -> bool {
    if let CertificateName::SubjectDn(name) = name {
        let subject = certificate.subject_name().to_der();
        return subject.is_ok_and(|subject| name.is(&subject));
    }
    // A certificate with this extension twice has no names here.
    let Some(alternatives) = certificate.subject_alt_names() else {
        return false;
    };
    alternatives.iter().any(|found| match name {
        CertificateName::SubjectDn(_) => false,
        CertificateName::SanDns(name) => found.dnsname().is_some_and(|found| name.is(found)),
        CertificateName::SanUri(name) => found.uri().is_some_and(|found| name.is(found)),
        CertificateName::SanEmail(name) => found.email().is_some_and(|found| name.is(found)),
        CertificateName::SanIp(address) => found
            .ipaddress()
            .is_some_and(|found| is_address(found, *address)),
    })
}

/// Whether these octets are the address.
fn is_address(octets: &[u8], address: std::net::IpAddr) -> bool {
    match address {
        std::net::IpAddr::V4(address) => octets == address.octets(),
        std::net::IpAddr::V6(address) => octets == address.octets(),
    }
}

#[cfg(test)]
mod tests;
