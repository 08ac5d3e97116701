//! TLS of the listeners. They reload their certificates when the files change.

use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use openssl::asn1::Asn1Time;
use openssl::error::ErrorStack;
use openssl::pkey::PKey;
use openssl::ssl::{
    self, AlpnError, Ssl, SslAcceptor, SslContext, SslMethod, SslOptions, SslRef,
    SslSessionCacheMode, SslVerifyMode,
};
use openssl::x509::X509;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_openssl::SslStream;

use crate::config;
use crate::http::oidc::client_certificate::ClientCertificate;
use crate::keys::reloaded_file::ReloadedFile;
use assent_model::clock::{SharedClock, Timestamp};
use assent_model::secret::Digest;

/// The reason why a listener cannot use TLS. The message names the key of the setting.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message of each variant documents it")]
pub enum TlsError {
    #[error("{table}.{key}: cannot read {}: {reason}", file.display())]
    Unreadable {
        table: &'static str,
        key: &'static str,
        file: PathBuf,
        reason: io::Error,
    },
    #[error(
        "{table}.certificate_file: there is no certificate in {}; expected PEM (-----BEGIN CERTIFICATE-----)",
        file.display()
    )]
    NoCertificate { table: &'static str, file: PathBuf },
    #[error(
        "{table}.key_file: there is no private key in {}; expected PEM without a passphrase (-----BEGIN PRIVATE \
         KEY-----)", file.display()
    )]
    NoKey { table: &'static str, file: PathBuf },
    #[error(
        "{table}.key_file: {} is not the key of the certificate in {}.certificate_file", file.display(), table
    )]
    OtherKey { table: &'static str, file: PathBuf },
    #[error("{table}: OpenSSL does not accept the certificate and key: {reason}")]
    Refused {
        table: &'static str,
        reason: ErrorStack,
    },
}

/// Whether a listener requests a client certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clients {
    /// The listener requests none.
    Anonymous,
    /// The listener requests a certificate, and accepts every certificate if the client proves to hold its key.
    /// Client authentication compares it with the registered one, or verifies it with the operator's authorities.
    MayShowCertificate,
}

/// The TLS identity of a listener.
pub struct TlsIdentity {
    /// The table of the settings, for error messages.
    table: &'static str,
    files: config::Tls,
    clients: Clients,
    reloaded: ReloadedFile<SslContext>,
}

impl std::fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity")
            .field("table", &self.table)
            .field("clients", &self.clients)
            .finish_non_exhaustive()
    }
}

impl TlsIdentity {
    /// Reads the certificate and the key. `table` is the table of the settings that names them.
    ///
    /// # Errors
    /// If a file cannot be read or the certificate and key are not usable.
    pub fn load(
        table: &'static str,
        files: config::Tls,
        clients: Clients,
        clock: SharedClock,
    ) -> Result<Self, TlsError> {
        let pair = CertificatePair::read(table, &files)?;
        let context = pair.context(table, &files, clients)?;
        Ok(Self {
            table,
            files,
            clients,
            reloaded: ReloadedFile::new(context, pair.digest(), clock),
        })
    }

    /// Returns the expiry of the certificate in use, if it can be read.
    pub fn expires_at(&self) -> Option<Timestamp> {
        /// The seconds of a day.
        const DAY: i64 = 24 * 60 * 60;
        let context = self.reloaded.current();
        let left = Asn1Time::from_unix(0)
            .ok()?
            .diff(context.certificate()?.not_after())
            .ok()?;
        let seconds = i64::from(left.days) * DAY + i64::from(left.secs);
        Some(Timestamp::from_seconds(seconds))
    }

    /// The table of the settings that names the files.
    pub const fn table(&self) -> &'static str {
        self.table
    }

    /// Whether the listener requests client certificates.
    pub(super) fn asks_for_certificates(&self) -> bool {
        self.clients == Clients::MayShowCertificate
    }

    /// Performs the server's side of a handshake. Returns the stream and the client's certificate.
    pub(super) async fn accept<S>(
        self: &Arc<Self>,
        stream: S,
    ) -> Result<(SslStream<S>, Option<ClientCertificate>), HandshakeError>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let context = self.context().await;
        let mut stream = SslStream::new(Ssl::new(&context)?, stream)?;
        Pin::new(&mut stream).accept().await?;
        let shown = shown_certificate(stream.ssl())?;
        Ok((stream, shown))
    }

    /// Returns the context in use, after a check of the files if the last one is long ago.
    async fn context(self: &Arc<Self>) -> SslContext {
        let reload = Self::reload_if_changed;
        self.reloaded.reload_if_due(self, reload).await;
        self.reloaded.current()
    }

    /// Applies the content of the files, if it changed.
    fn reload_if_changed(&self) {
        let replaced = CertificatePair::read(self.table, &self.files).and_then(|pair| {
            let context = || pair.context(self.table, &self.files, self.clients);
            self.reloaded.replace(pair.digest(), context)
        });
        match replaced {
            Ok(true) => tracing::info!(table = self.table, "TLS certificate reloaded"),
            Ok(false) => {}
            Err(error) => {
                tracing::error!(%error, "TLS certificate reload failed, the previous one stays in use");
            }
        }
    }
}

/// Returns the certificate that the client presented, with those of the authorities between it and the root.
fn shown_certificate(ssl: &SslRef) -> Result<Option<ClientCertificate>, ErrorStack> {
    let Some(certificate) = ssl.peer_certificate() else {
        return Ok(None);
    };
    let mut intermediates = Vec::new();
    for certificate in ssl.peer_cert_chain().into_iter().flatten() {
        intermediates.push(certificate.to_der()?);
    }
    let shown = ClientCertificate::from(certificate.to_der()?);
    Ok(Some(shown.with_intermediates(intermediates)))
}

/// The reason why a handshake failed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the wrapped types have the documentation")]
pub(super) enum HandshakeError {
    #[error(transparent)]
    Stack(#[from] ErrorStack),
    #[error(transparent)]
    Tls(#[from] ssl::Error),
}

/// A certificate and its key, as read from the files.
struct CertificatePair {
    certificates: Vec<u8>,
    key: zeroize::Zeroizing<Vec<u8>>,
}

impl CertificatePair {
    fn read(table: &'static str, files: &config::Tls) -> Result<Self, TlsError> {
        let read = |key, file: &Path| {
            std::fs::read(file).map_err(|reason| TlsError::Unreadable {
                table,
                key,
                file: file.to_owned(),
                reason,
            })
        };
        let certificates = read("certificate_file", &files.certificate_file)?;
        Ok(Self {
            certificates,
            key: zeroize::Zeroizing::new(read("key_file", &files.key_file)?),
        })
    }

    /// A digest that identifies this pair.
    fn digest(&self) -> Digest {
        let both = [
            *Digest::sha256(&self.certificates).as_bytes(),
            *Digest::sha256(&self.key).as_bytes(),
        ];
        Digest::sha256(both.as_flattened())
    }

    /// TLS 1.2 and 1.3 as in Mozilla's intermediate configuration, with HTTP/1.1 only.
    fn context(
        &self,
        table: &'static str,
        files: &config::Tls,
        clients: Clients,
    ) -> Result<SslContext, TlsError> {
        let no_certificate = || TlsError::NoCertificate {
            table,
            file: files.certificate_file.clone(),
        };
        let no_key = || TlsError::NoKey {
            table,
            file: files.key_file.clone(),
        };
        let mut chain = X509::stack_from_pem(&self.certificates)
            .map_err(|_| no_certificate())?
            .into_iter();
        let certificate = chain.next().ok_or_else(no_certificate)?;
        // The callback prevents OpenSSL from asking for a passphrase on the terminal.
        let key =
            PKey::private_key_from_pem_callback(&self.key, |_| Ok(0)).map_err(|_| no_key())?;
        if !certificate
            .public_key()
            .is_ok_and(|public| public.public_eq(&key))
        {
            return Err(TlsError::OtherKey {
                table,
                file: files.key_file.clone(),
            });
        }
        let mut build = || {
            let mut builder = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls_server())?;
            builder.set_certificate(&certificate)?;
            chain.try_for_each(|link| builder.add_extra_chain_cert(link))?;
            builder.set_private_key(&key)?;
            builder.set_alpn_select_callback(|_, offered| {
                ssl::select_next_proto(b"\x08http/1.1", offered).ok_or(AlpnError::ALERT_FATAL)
            });
            builder.set_session_id_context(table.as_bytes())?;
            if clients == Clients::MayShowCertificate {
                // The handshake itself proves that the client holds the key. The application layer above identifies the
                // client.
                builder.set_verify_callback(SslVerifyMode::PEER, |_, _| true);
                // Each connection must prove its key. No identity persists in a session or a ticket.
                builder.set_session_cache_mode(SslSessionCacheMode::OFF);
                builder.set_options(SslOptions::NO_TICKET);
                builder.set_num_tickets(0)?;
            }
            Ok(builder.build().into_context())
        };
        build().map_err(|reason| TlsError::Refused { table, reason })
    }
}

#[cfg(test)]
pub(crate) mod tests;
