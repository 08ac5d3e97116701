//! The authority that issued the certificate of a PostgreSQL server.

use std::pin::Pin;

use openssl::ssl::{SslConnector, SslMethod};
use openssl::x509::X509;
use openssl::x509::store::X509StoreBuilder;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_openssl::SslStream;

/// The request of a client that wants TLS (PostgreSQL's protocol, `SSLRequest`).
const REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

/// Returns the place among `roots` of the authority that issued the certificate of the server. It only selects the one
/// that the driver trusts; the driver verifies the certificate again.
pub(super) async fn find(host: &str, port: u16, roots: &[Vec<u8>]) -> Option<usize> {
    let roots = roots.iter().map(|root| X509::from_pem(root));
    let roots: Vec<X509> = roots.collect::<Result<_, _>>().ok()?;
    let mut server = TcpStream::connect((host, port)).await.ok()?;
    server.write_all(&REQUEST).await.ok()?;
    if server.read_u8().await.ok()? != b'S' {
        return None;
    }
    let mut store = X509StoreBuilder::new().ok()?;
    for root in &roots {
        store.add_cert(root.clone()).ok()?;
    }
    let mut connector = SslConnector::builder(SslMethod::tls_client()).ok()?;
    connector.set_cert_store(store.build());
    let settings = connector.build().configure().ok()?;
    let tls = settings.verify_hostname(false).into_ssl(host).ok()?;
    let mut stream = SslStream::new(tls, server).ok()?;
    Pin::new(&mut stream).connect().await.ok()?;
    let chain = stream.ssl().verified_chain()?;
    let issuer = chain.iter().last()?.to_der().ok()?;
    let is_issuer = |root: &X509| root.to_der().is_ok_and(|root| root == issuer);
    roots.iter().position(is_issuer)
}
