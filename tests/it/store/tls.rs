//! Connections to a PostgreSQL server with TLS.

use assent_store::sql;
use assent_store::sql::{Connection, Options};
use assent_tests::flows::postgres_server::PostgresServer;

use crate::harness::tls::certificate_of;
use crate::harness::{temp_folder, write_file};

async fn connect(url: &str) -> Result<Connection, String> {
    let options = Options::postgres(url, "", None).map_err(|error| error.to_string())?;
    options.connect().await.map_err(|error| error.to_string())
}

async fn is_encrypted(connection: &mut Connection) -> bool {
    let (ssl,): (bool,) = sql::query_as("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
        .fetch_one(connection)
        .await
        .expect("read");
    ssl
}

#[tokio::test]
async fn the_certificate_of_the_server_is_verified_as_the_url_says() {
    let folder = temp_folder();
    let own = certificate_of("database");
    let client = certificate_of("assent");
    let (server, port) = PostgresServer::start_with_tls(&own, &client.0);
    let local = format!(
        "postgres://assent@localhost/postgres?host={}&port={port}",
        server.folder().display()
    );
    let mut over_socket = connect(&local).await.expect("a socket needs no TLS");
    over_socket
        .batch("CREATE ROLE anybody LOGIN")
        .await
        .expect("a role");
    let file = |name: &str, content: Vec<u8>| {
        let file = folder.path().join(name);
        write_file(&file, content);
        file.display().to_string()
    };
    let right = own.0.to_pem().expect("PEM");
    let other = certificate_of("another").0.to_pem().expect("PEM");
    let right_file = file("right.pem", right.clone());
    let other_file = file("other.pem", other.clone());
    let both_file = file("both.pem", [other, right].concat());
    for (host, parameters, is_accepted) in [
        ("localhost", "sslmode=require".to_owned(), true),
        ("localhost", "sslmode=prefer".to_owned(), true),
        ("localhost", "sslmode=disable".to_owned(), false),
        ("localhost", "sslmode=verify-full".to_owned(), false),
        (
            "localhost",
            format!("sslmode=verify-full&sslrootcert={right_file}"),
            true,
        ),
        (
            "localhost",
            format!("sslmode=verify-full&sslrootcert={other_file}"),
            false,
        ),
        // The driver accepts one certificate, so that of the server's authority is found first.
        (
            "localhost",
            format!("sslmode=verify-full&sslrootcert={both_file}"),
            true,
        ),
        // With an authority, each mode that requires TLS verifies the certificate.
        (
            "localhost",
            format!("sslmode=require&sslrootcert={other_file}"),
            false,
        ),
        // The certificate does not name the address.
        (
            "127.0.0.1",
            format!("sslmode=verify-full&sslrootcert={right_file}"),
            false,
        ),
        (
            "127.0.0.1",
            format!("sslmode=verify-ca&sslrootcert={right_file}"),
            false,
        ),
    ] {
        let url = format!("postgres://anybody@{host}:{port}/postgres?{parameters}");
        match connect(&url).await {
            Ok(mut connection) => {
                assert!(is_accepted, "{url}");
                assert!(is_encrypted(&mut connection).await, "{url}");
            }
            Err(reason) => assert!(!is_accepted, "{url}: {reason}"),
        }
    }
    // A private key in each of the usual forms.
    let certificate = file("client.pem", client.0.to_pem().expect("PEM"));
    let rsa = client.1.rsa().expect("an RSA key");
    let keys = [
        ("pkcs8.pem", client.1.private_key_to_pem_pkcs8()),
        ("pkcs1.pem", rsa.private_key_to_pem()),
    ];
    for (name, key) in keys {
        let key = file(name, key.expect("PEM"));
        let url = format!(
            "postgres://assent@localhost:{port}/postgres?sslmode=verify-full&sslrootcert={right_file}\
             &sslcert={certificate}&sslkey={key}"
        );
        let mut connection = connect(&url)
            .await
            .unwrap_or_else(|reason| panic!("{name}: {reason}"));
        assert!(is_encrypted(&mut connection).await, "{name}");
    }
    let without = format!("postgres://assent@localhost:{port}/postgres?sslmode=require");
    let reason = connect(&without)
        .await
        .expect_err("the role needs a certificate");
    assert!(reason.contains("certificate"), "{reason}");
}

#[tokio::test]
async fn a_server_without_tls_is_rejected_unless_the_url_permits_it() {
    let server = PostgresServer::start();
    let port = crate::harness::free_port();
    server.execute("ALTER SYSTEM SET listen_addresses = '127.0.0.1'");
    server.execute(&format!("ALTER SYSTEM SET port = {port}"));
    server.crash();
    server.start_again();
    let url = |mode: &str| format!("postgres://assent@127.0.0.1:{port}/postgres?sslmode={mode}");
    for mode in ["require", "verify-ca", "verify-full"] {
        let reason = connect(&url(mode)).await.expect_err(mode);
        assert!(reason.to_lowercase().contains("tls"), "{mode}: {reason}");
    }
    let mut connection = connect(&url("prefer")).await.expect("plain text");
    assert!(!is_encrypted(&mut connection).await);
}
