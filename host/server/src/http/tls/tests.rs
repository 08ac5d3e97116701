use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::extract::Extension;
use axum::routing::get;
use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::Private;
use openssl::ssl::{SslConnector, SslVersion};
use openssl::x509::X509NameBuilder;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::*;
use crate::http::{Listener, serve};
use crate::keys::reloaded_file::CHECK_INTERVAL;
use assent_model::clock::{Clock, ManualClock, SystemClock};

/// A self-signed certificate with its key.
pub(crate) fn certificate(name: &str) -> (X509, PKey<Private>) {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    let key = PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap();
    let mut subject = X509NameBuilder::new().unwrap();
    subject.append_entry_by_text("CN", name).unwrap();
    let subject = subject.build();
    let mut builder = X509::builder().unwrap();
    builder.set_version(2).unwrap();
    builder
        .set_serial_number(&BigNum::from_u32(7).unwrap().to_asn1_integer().unwrap())
        .unwrap();
    builder.set_subject_name(&subject).unwrap();
    builder.set_issuer_name(&subject).unwrap();
    builder
        .set_not_before(&Asn1Time::from_unix(0).unwrap())
        .unwrap();
    builder
        .set_not_after(&Asn1Time::from_unix(1_000_000).unwrap())
        .unwrap();
    builder.set_pubkey(&key).unwrap();
    builder.sign(&key, MessageDigest::sha256()).unwrap();
    (builder.build(), key)
}

struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn write(&self, certificate: &X509, key: &PKey<Private>) -> config::Tls {
        let files = config::Tls {
            certificate_file: self.folder.path().join("certificate.pem"),
            key_file: self.folder.path().join("key.pem"),
        };
        std::fs::write(&files.certificate_file, certificate.to_pem().unwrap()).unwrap();
        std::fs::write(&files.key_file, key.private_key_to_pem_pkcs8().unwrap()).unwrap();
        files
    }
}

/// A server that responds with the common name of the client's certificate.
struct Server {
    address: SocketAddr,
    clock: Arc<ManualClock>,
    _stop: oneshot::Sender<()>,
}

async fn server(files: config::Tls, clients: Clients) -> Server {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let identity = TlsIdentity::load("http.tls", files, clients, Arc::clone(&clock) as _).unwrap();
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let listener = Listener::with_test_bounds(socket, Some(Arc::new(identity)));
    let shown = async |shown: Option<Extension<ClientCertificate>>| {
        let name = shown.map(|shown| name_of(&X509::from_der(shown.der()).unwrap()));
        name.unwrap_or_else(|| "nobody".to_owned())
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = async { drop(stopped.await) };
    tokio::spawn(serve(
        listener,
        Router::new().route("/", get(shown)).into(),
        stopped,
    ));
    Server {
        address,
        clock,
        _stop: stop,
    }
}

fn name_of(certificate: &X509) -> String {
    let entry = certificate.subject_name().entries().next().unwrap();
    entry.data().to_string().unwrap()
}

/// The options of a client connection.
#[derive(Clone, Default)]
struct Wish {
    identity: Option<(X509, PKey<Private>)>,
    newest: Option<SslVersion>,
    offers: Option<&'static [u8]>,
}

struct Seen {
    server: String,
    body: String,
    protocol: Option<Vec<u8>>,
    /// Whether the server gave the client a ticket or session to resume.
    resumable: bool,
}

async fn connect(address: SocketAddr, wish: Wish) -> Result<Seen, String> {
    let mut builder = SslConnector::builder(SslMethod::tls_client()).unwrap();
    builder.set_verify(SslVerifyMode::NONE);
    builder.set_min_proto_version(None).unwrap();
    builder.set_max_proto_version(wish.newest).unwrap();
    if wish
        .newest
        .is_some_and(|newest| newest != SslVersion::TLS1_3 && newest != SslVersion::TLS1_2)
    {
        builder.set_cipher_list("ALL:@SECLEVEL=0").unwrap();
    }
    if let Some((certificate, key)) = &wish.identity {
        builder.set_certificate(certificate).unwrap();
        builder.set_private_key(key).unwrap();
    }
    if let Some(offers) = wish.offers {
        builder.set_alpn_protos(offers).unwrap();
    }
    let resumable = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&resumable);
    builder.set_session_cache_mode(SslSessionCacheMode::CLIENT);
    builder.set_new_session_callback(move |_, _| seen.store(true, Ordering::Relaxed));
    let configuration = builder.build().configure().unwrap().verify_hostname(false);
    let ssl = configuration.into_ssl("localhost").unwrap();
    let stream = TcpStream::connect(address)
        .await
        .map_err(|error| error.to_string())?;
    let mut stream = SslStream::new(ssl, stream).unwrap();
    Pin::new(&mut stream)
        .connect()
        .await
        .map_err(|error| error.to_string())?;
    let request = b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream
        .write_all(request)
        .await
        .map_err(|error| error.to_string())?;
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .await
        .map_err(|error| error.to_string())?;
    Ok(Seen {
        server: name_of(&stream.ssl().peer_certificate().unwrap()),
        body: answer.rsplit("\r\n").next().unwrap_or_default().to_owned(),
        protocol: stream.ssl().selected_alpn_protocol().map(<[u8]>::to_vec),
        resumable: resumable.load(Ordering::Relaxed),
    })
}

fn failure(result: Result<Seen, String>) -> String {
    result.err().unwrap_or_default()
}

#[tokio::test]
async fn a_client_is_identified_by_a_certificate_whose_key_it_holds() {
    let files = Files::new();
    let (certificate_of_server, key) = certificate("server");
    let server = server(
        files.write(&certificate_of_server, &key),
        Clients::MayShowCertificate,
    )
    .await;
    for newest in [None, Some(SslVersion::TLS1_2)] {
        // The certificate is expired and self-signed: only its equality with the registered one counts.
        let wish = Wish {
            identity: Some(certificate("books")),
            newest,
            ..Wish::default()
        };
        let seen = connect(server.address, wish).await.unwrap();
        assert_eq!(
            (seen.server.as_str(), seen.body.as_str()),
            ("server", "books")
        );
        assert!(
            !seen.resumable,
            "{newest:?}: a resumed session would keep the identity"
        );
        let seen = connect(
            server.address,
            Wish {
                newest,
                ..Wish::default()
            },
        )
        .await
        .unwrap();
        assert_eq!(
            seen.body, "nobody",
            "the next connection has its own identity"
        );
    }
}

#[tokio::test]
async fn a_listener_without_client_certificates_receives_none() {
    let files = Files::new();
    let (certificate_of_server, key) = certificate("server");
    let server = server(
        files.write(&certificate_of_server, &key),
        Clients::Anonymous,
    )
    .await;
    let seen = connect(
        server.address,
        Wish {
            identity: Some(certificate("books")),
            ..Wish::default()
        },
    )
    .await
    .unwrap();
    assert_eq!(seen.body, "nobody");
    assert!(seen.resumable);
}

#[tokio::test]
async fn old_versions_and_other_protocols_are_rejected() {
    let files = Files::new();
    let (certificate_of_server, key) = certificate("server");
    let server = server(
        files.write(&certificate_of_server, &key),
        Clients::Anonymous,
    )
    .await;
    for newest in [SslVersion::TLS1, SslVersion::TLS1_1] {
        let wish = Wish {
            newest: Some(newest),
            ..Wish::default()
        };
        let failed = failure(connect(server.address, wish).await);
        assert!(failed.contains("protocol version"), "{newest:?}: {failed}");
    }
    let offering = |offers| {
        connect(
            server.address,
            Wish {
                offers: Some(offers),
                ..Wish::default()
            },
        )
    };
    let seen = offering(b"\x02h2\x08http/1.1").await.unwrap();
    assert_eq!(seen.protocol.as_deref(), Some(&b"http/1.1"[..]));
    let failed = failure(offering(b"\x02h2").await);
    assert!(failed.contains("no application protocol"), "{failed}");
}

#[tokio::test]
async fn a_changed_certificate_is_loaded_and_an_invalid_one_is_not() {
    let files = Files::new();
    let (first, first_key) = certificate("first");
    let paths = files.write(&first, &first_key);
    let server = server(paths.clone(), Clients::Anonymous).await;
    let name = async || {
        connect(server.address, Wish::default())
            .await
            .unwrap()
            .server
    };
    assert_eq!(name().await, "first");
    let (second, second_key) = certificate("second");
    files.write(&second, &second_key);
    assert_eq!(
        name().await,
        "first",
        "the files are not read for each connection"
    );
    server.clock.advance(CHECK_INTERVAL);
    assert_eq!(name().await, "second");
    // Each of these leaves the old pair in use: a key of another certificate, no PEM, no file.
    files.write(&second, &first_key);
    server.clock.advance(CHECK_INTERVAL);
    assert_eq!(name().await, "second");
    std::fs::write(&paths.certificate_file, "nonsense").unwrap();
    server.clock.advance(CHECK_INTERVAL);
    assert_eq!(name().await, "second");
    std::fs::remove_file(&paths.key_file).unwrap();
    server.clock.advance(CHECK_INTERVAL);
    assert_eq!(name().await, "second");
    // A pair that is valid again is used again.
    files.write(&first, &first_key);
    server.clock.advance(CHECK_INTERVAL);
    assert_eq!(name().await, "first");
}

#[test]
fn each_invalid_file_is_named_with_its_setting() {
    let files = Files::new();
    let (certificate_of_server, key) = certificate("server");
    let folder = files.folder.path().display().to_string();
    let message = |files: &config::Tls| {
        let loaded = TlsIdentity::load(
            "http.mtls",
            files.clone(),
            Clients::Anonymous,
            Arc::new(SystemClock),
        );
        loaded.unwrap_err().to_string().replace(&folder, "FOLDER")
    };
    let good = files.write(&certificate_of_server, &key);
    let with_key = |text: &[u8]| {
        std::fs::write(&good.key_file, text).unwrap();
        message(&good)
    };
    let other = certificate("other").1.private_key_to_pem_pkcs8().unwrap();
    let cipher = openssl::symm::Cipher::aes_256_cbc();
    let locked = key
        .private_key_to_pem_pkcs8_passphrase(cipher, b"secret")
        .unwrap();
    assert_eq!(
        with_key(&other),
        "http.mtls.key_file: FOLDER/key.pem is not the key of the certificate in http.mtls.certificate_file"
    );
    let no_key = "http.mtls.key_file: there is no private key in FOLDER/key.pem; expected PEM without a passphrase \
                  (-----BEGIN PRIVATE KEY-----)";
    assert_eq!(
        (with_key(b"").as_str(), with_key(&locked).as_str()),
        (no_key, no_key)
    );
    std::fs::write(&good.certificate_file, "").unwrap();
    assert!(message(&good).starts_with(
        "http.mtls.certificate_file: there is no certificate in FOLDER/certificate.pem"
    ));
    std::fs::remove_file(&good.key_file).unwrap();
    assert!(
        message(&good).starts_with("http.mtls.key_file: cannot read FOLDER/key.pem: No such file")
    );
    std::fs::remove_file(&good.certificate_file).unwrap();
    assert!(
        message(&good)
            .starts_with("http.mtls.certificate_file: cannot read FOLDER/certificate.pem")
    );
}
