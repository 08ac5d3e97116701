//! Client authentication with a certificate of the operator's authorities (RFC 8705 section 2.1).

use base64::engine::general_purpose::STANDARD;
use openssl::x509::extension::{BasicConstraints, ExtendedKeyUsage};
use openssl::x509::{X509, X509Extension, X509Name, X509NameBuilder};
use reqwest::Client;

use super::*;
use crate::harness::tls::{
    Certified, alternative_names, authorities_setting, authority, client_with_chain, issued,
    subject,
};
use crate::harness::{EncodedCertificate, get, temp_folder, write_file};

/// A host with a listener for client certificates and one root authority.
struct Fixture {
    folder: tempfile::TempDir,
    host: TestHost,
    server: X509,
    root: Certified,
    /// The validity period of authorities, which is longer than any test.
    long: (i64, i64),
}

impl Fixture {
    async fn start() -> Self {
        let folder = temp_folder();
        let long = (0, i64::from(u32::MAX));
        let root = authority("Root", None, long);
        let (settings, server) = mtls_settings(folder.path(), "");
        let authorities = authorities_setting(folder.path(), &[&root]);
        let host = TestHost::start_with_settings(&format!("{settings}{authorities}")).await;
        Self {
            folder,
            host,
            server,
            root,
            long,
        }
    }

    /// Returns a certificate of an hour, which the root issued.
    fn leaf(&self, subject: &X509Name, extensions: Vec<X509Extension>) -> Certified {
        self.leaf_of(&self.root, subject, extensions)
    }

    fn leaf_of(
        &self,
        issuer: &Certified,
        subject: &X509Name,
        extensions: Vec<X509Extension>,
    ) -> Certified {
        let now = self.host.clock.now().seconds();
        issued(subject, Some(issuer), (now - 60, now + 3_600), extensions)
    }

    /// Registers an application with this name.
    async fn registered(&self, member: &str, name: &str) -> Value {
        let settings =
            json!({"token_endpoint_auth_method": "tls_client_certificate", member: name});
        application(&self.host, settings).await
    }

    fn token_endpoint(&self) -> String {
        let base = self.host.host.settings.http.mtls_url.clone();
        format!("{}oidc/token", base.expect("an address"))
    }

    /// Requests a token with this certificate and its chain. Returns the status and the description of the error.
    async fn ask(
        &self,
        application: &Value,
        own: &Certified,
        chain: &[&Certified],
    ) -> (u16, String) {
        let client = client_with_chain(&self.server, own, chain);
        ask_at(&client, &self.token_endpoint(), application, &[]).await
    }
}

fn other_name() -> (u16, String) {
    let reason = "the client certificate lacks the name that is registered for the application";
    (401, reason.to_owned())
}

async fn ask_at(
    client: &Client,
    url: &str,
    application: &Value,
    headers: &[(&str, &str)],
) -> (u16, String) {
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", id(application)),
    ];
    let request = client.post(url).form(&form);
    let request = headers.iter().fold(request, |request, (name, value)| {
        request.header(*name, *value)
    });
    let response = request.response().await;
    let status = response.status().as_u16();
    let body: Value = response.read_json().await;
    let description = body["error_description"].as_str().unwrap_or_default();
    let description = description.strip_prefix("client authentication failed: ");
    (status, description.unwrap_or_default().to_owned())
}

fn untrusted() -> (u16, String) {
    let reason = "no authority of this server issued the client certificate, or an intermediate certificate is \
                  missing";
    (401, reason.to_owned())
}

fn not_in_time() -> (u16, String) {
    (
        401,
        "the client certificate is not valid at this time".to_owned(),
    )
}

fn reports() -> X509Name {
    subject(&[("C", "DE"), ("O", "Example AG"), ("CN", "reports")])
}

/// Each kind of name, a text that registers it, and a certificate with the name among others.
fn kinds(it: &Fixture) -> Vec<(&'static str, &'static str, Certified)> {
    let unknown = subject(&[("CN", "unknown")]);
    let with = |extension| it.leaf(&unknown, vec![extension]);
    vec![
        (
            "tls_client_auth_subject_dn",
            "cn=reports,O=Example\\20AG,C=DE",
            it.leaf(&reports(), Vec::new()),
        ),
        (
            "tls_client_auth_san_dns",
            "reports.example.org",
            with(alternative_names(|names| {
                names.dns("other.example.org").dns("Reports.Example.org");
            })),
        ),
        (
            "tls_client_auth_san_uri",
            "spiffe://example.org/reports",
            with(alternative_names(|names| {
                names.dns("a.example").uri("spiffe://example.org/reports");
            })),
        ),
        (
            "tls_client_auth_san_ip",
            "2001:db8:0::7",
            with(alternative_names(|names| {
                names.ip("192.0.2.7").ip("2001:db8::7");
            })),
        ),
        (
            "tls_client_auth_san_email",
            "Reports@example.org",
            with(alternative_names(|names| {
                names.email("Reports@EXAMPLE.org");
            })),
        ),
    ]
}

#[tokio::test]
async fn a_name_in_a_certificate_of_an_authority_authenticates() {
    let it = Fixture::start().await;
    let kinds = kinds(&it);
    for (member, name, own) in &kinds {
        let application = it.registered(member, name).await;
        let shown = application[member].as_str().expect("the name");
        assert!(shown == *name || shown == "2001:db8::7", "{shown}");
        assert!(application.get("certificate").is_none(), "{application}");
        assert_eq!(it.ask(&application, own, &[]).await, accepted(), "{member}");
        // The certificates of the other kinds lack the name.
        for (other, _, own) in kinds.iter().filter(|(other, ..)| other != member) {
            let answer = it.ask(&application, own, &[]).await;
            assert_eq!(answer, other_name(), "{member}, {other}");
        }
    }
    let url = format!("{}/.well-known/openid-configuration", it.host.issuer());
    let document: Value = get(url).await.read_json().await;
    for endpoint in ["token", "introspection", "revocation"] {
        let methods = &document[format!("{endpoint}_endpoint_auth_methods_supported")];
        let methods = methods.as_array().expect("methods");
        assert!(methods.contains(&json!("tls_client_auth")), "{methods:?}");
    }
}

/// A renewed certificate needs no change of the application. Tokens are bound to the certificate that was used.
#[tokio::test]
async fn a_renewed_certificate_authenticates() {
    let it = Fixture::start().await;
    let application = it
        .registered("tls_client_auth_subject_dn", "CN=reports,O=Example AG,C=DE")
        .await;
    assert_eq!(
        application["tls_client_certificate_bound_access_tokens"],
        true
    );
    let [old, new] = [(), ()].map(|()| it.leaf(&reports(), Vec::new()));
    for own in [&old, &new] {
        assert_eq!(it.ask(&application, own, &[]).await, accepted());
    }
    it.host.advance(3_601);
    assert_eq!(it.ask(&application, &old, &[]).await, not_in_time());
}

#[tokio::test]
async fn the_chain_leads_from_the_client_to_a_root() {
    let it = Fixture::start().await;
    let application = it
        .registered("tls_client_auth_subject_dn", "CN=reports,O=Example AG,C=DE")
        .await;
    let intermediate = authority("Issuing", Some(&it.root), it.long);
    let own = it.leaf_of(&intermediate, &reports(), Vec::new());
    assert_eq!(
        it.ask(&application, &own, &[&intermediate]).await,
        accepted()
    );
    assert_eq!(it.ask(&application, &own, &[]).await, untrusted());
    // An authority with the same name and another key.
    let other = authority("Root", None, it.long);
    let forged = it.leaf_of(&other, &reports(), Vec::new());
    assert_eq!(it.ask(&application, &forged, &[&other]).await, untrusted());
    let self_signed = issued(&reports(), None, it.long, Vec::new());
    assert_eq!(it.ask(&application, &self_signed, &[]).await, untrusted());
    // Another application of the same authority issues a certificate.
    let constraints = BasicConstraints::new().critical().build();
    for extensions in [vec![], vec![constraints.expect("an extension")]] {
        let attacker = it.leaf(&subject(&[("CN", "attacker")]), extensions);
        let forged = it.leaf_of(&attacker, &reports(), Vec::new());
        assert_eq!(
            it.ask(&application, &forged, &[&attacker]).await,
            untrusted()
        );
    }
}

#[tokio::test]
async fn a_certificate_must_be_valid_and_for_client_authentication() {
    let it = Fixture::start().await;
    let application = it
        .registered("tls_client_auth_subject_dn", "CN=reports,O=Example AG,C=DE")
        .await;
    let now = it.host.clock.now().seconds();
    for validity in [(now - 60, now - 1), (now + 60, now + 3_600)] {
        let own = issued(&reports(), Some(&it.root), validity, Vec::new());
        assert_eq!(it.ask(&application, &own, &[]).await, not_in_time());
    }
    let with = |usage: &ExtendedKeyUsage| {
        let usage = usage.build().expect("an extension");
        it.leaf(&reports(), vec![usage])
    };
    let of_client = with(ExtendedKeyUsage::new().client_auth());
    assert_eq!(it.ask(&application, &of_client, &[]).await, accepted());
    let of_server = with(ExtendedKeyUsage::new().server_auth());
    let wrong = "the client certificate is not for client authentication (extended key usage)";
    assert_eq!(
        it.ask(&application, &of_server, &[]).await,
        (401, wrong.to_owned())
    );
}

/// An authority issues these names to other clients, which try to pass for the application.
#[tokio::test]
async fn a_similar_name_does_not_authenticate() {
    let it = Fixture::start().await;
    let by_subject = it
        .registered("tls_client_auth_subject_dn", "CN=reports,O=Example")
        .await;
    let wide = || {
        let mut name = X509NameBuilder::new().expect("a name");
        let form = openssl::asn1::Asn1Type::BMPSTRING;
        name.append_entry_by_text("O", "Example").expect("a name");
        name.append_entry_by_text_with_type("CN", "\0r\0e\0p\0o\0r\0t\0s", form)
            .expect("a name");
        name.build()
    };
    let genuine = it.leaf(&subject(&[("O", "Example"), ("CN", "reports")]), vec![]);
    assert_eq!(it.ask(&by_subject, &genuine, &[]).await, accepted());
    for similar in [
        subject(&[("CN", "reports,O=Example")]),
        subject(&[("CN", "reports\\,O=Example")]),
        subject(&[("CN", "reports"), ("O", "Example")]),
        subject(&[("O", "Example"), ("CN", "Reports")]),
        subject(&[("O", "Example"), ("CN", "reports\0")]),
        subject(&[("O", "Example"), ("OU", "x"), ("CN", "reports")]),
        subject(&[("C", "DE"), ("O", "Example"), ("CN", "reports")]),
        wide(),
        subject(&[]),
    ] {
        let own = it.leaf(&similar, vec![]);
        let answer = it.ask(&by_subject, &own, &[]).await;
        assert_eq!(answer, other_name(), "{:?}", similar.to_der());
    }
    let by_host = it
        .registered("tls_client_auth_san_dns", "reports.example.org")
        .await;
    let common = subject(&[("CN", "reports.example.org")]);
    let extensions = [
        vec![],
        vec![alternative_names(|names| {
            names.dns("*.example.org").dns("*.org");
        })],
        vec![alternative_names(|names| {
            names
                .uri("reports.example.org")
                .email("reports.example.org");
        })],
        vec![alternative_names(|names| {
            names
                .dns("reports.example.org.evil.example")
                .dns("example.org");
        })],
    ];
    for extensions in extensions {
        let own = it.leaf(&common, extensions);
        assert_eq!(it.ask(&by_host, &own, &[]).await, other_name());
    }
}

/// A proxy forwards the certificate and its chain (RFC 9440).
#[tokio::test]
async fn a_trusted_proxy_forwards_the_certificate_and_its_chain() {
    let folder = temp_folder();
    let long = (0, i64::from(u32::MAX));
    let root = authority("Root", None, long);
    let intermediate = authority("Issuing", Some(&root), long);
    let own = issued(&reports(), Some(&intermediate), long, Vec::new());
    let [own, intermediate, root_text] =
        [&own, &intermediate, &root].map(|(certificate, _)| encoded(certificate));
    let authorities = authorities_setting(folder.path(), &[&root]);
    let chain = format!("{intermediate}, {root_text}");
    let nonsense = format!("{intermediate}, nonsense");
    for (proxies, is_trusted) in [
        ("[\"127.0.0.1\", \"::1\"]", true),
        ("[\"192.0.2.1\"]", false),
    ] {
        let settings = format!(
            "[http]\ntrusted_proxies = {proxies}\nclient_cert_header = true\n[http.mtls]\n{authorities}"
        );
        let host = TestHost::start_with_settings(&settings).await;
        let registered = json!({
            "token_endpoint_auth_method": "tls_client_certificate",
            "tls_client_auth_subject_dn": "CN=reports,O=Example AG,C=DE",
        });
        let application = application(&host, registered).await;
        let url = format!("{}/oidc/token", host.base);
        let ask = async |headers: &[(&str, &str)]| {
            let headers = [&[("x-forwarded-for", "203.0.113.9")][..], headers].concat();
            ask_at(&http_client(), &url, &application, &headers).await
        };
        let with_chain = [
            ("client-cert", own.as_str()),
            ("client-cert-chain", chain.as_str()),
        ];
        let missing =
            "the connection has no client certificate; use the addresses of mtls_endpoint_aliases";
        let missing = (401, missing.to_owned());
        let expected = match is_trusted {
            true => [accepted(), untrusted(), missing, (400, String::new())],
            false => [(); 4].map(|()| missing.clone()),
        };
        let malformed = [
            ("client-cert", own.as_str()),
            ("client-cert-chain", nonsense.as_str()),
        ];
        let answers = [
            ask(&with_chain).await,
            ask(&with_chain[..1]).await,
            ask(&with_chain[1..]).await,
            ask(&malformed).await,
        ];
        assert_eq!(answers, expected, "{proxies}");
    }
}

fn encoded(certificate: &X509) -> String {
    format!(":{}:", base64::Engine::encode(&STANDARD, certificate.der()))
}

#[tokio::test]
async fn names_need_authorities() {
    let folder = temp_folder();
    let (settings, server) = mtls_settings(folder.path(), "");
    let host = TestHost::start_with_settings(&settings).await;
    let body = json!({
        "name": "Books", "application_type": "web", "redirect_uris": ["https://rp.example/cb"],
        "token_endpoint_auth_method": "tls_client_certificate", "tls_client_auth_san_dns": "reports.example.org",
    });
    let (status, answer) = host
        .admin(Method::POST, "/applications", body.clone())
        .await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{answer}");
    assert_eq!(
        answer["errors"][0]["pointer"], "/tls_client_auth_san_dns",
        "{answer}"
    );
    assert!(
        answer["detail"]
            .text()
            .contains("http.mtls.authorities_file"),
        "{answer}"
    );
    // With authorities it works, and without them no longer.
    let root = authority("Root", None, (0, i64::from(u32::MAX)));
    let authorities = authorities_setting(folder.path(), &[&root]);
    let with_authorities = format!("{settings}{authorities}");
    let options = |settings| HostOptions {
        settings,
        ..HostOptions::default()
    };
    let host = host.restart_with(options(&with_authorities)).await;
    let application = host.admin_ok(Method::POST, "/applications", body).await;
    let names = alternative_names(|names| {
        names.dns("reports.example.org");
    });
    let now = host.clock.now().seconds();
    let validity = (now - 60, now + 3_600);
    let own = issued(&subject(&[("CN", "x")]), Some(&root), validity, vec![names]);
    let client = client_with_chain(&server, &own, &[]);
    let at = |host: &TestHost| {
        let base = host.host.settings.http.mtls_url.clone();
        format!("{}oidc/token", base.expect("an address"))
    };
    let answer = ask_at(&client, &at(&host), &application, &[]).await;
    assert_eq!(answer, accepted());
    let host = host.restart_with(options(&settings)).await;
    let answer = ask_at(&client, &at(&host), &application, &[]).await;
    let reason =
        "this server has no authorities for client certificates (http.mtls.authorities_file)";
    assert_eq!(answer, (401, reason.to_owned()));
    // Another change of the application is possible.
    let path = format!("/applications/{}", id(&application));
    host.admin_ok(Method::PATCH, &path, json!({"name": "Reports"}))
        .await;
}

#[tokio::test]
async fn a_changed_file_of_authorities_applies_within_a_minute() {
    let it = Fixture::start().await;
    let application = it
        .registered("tls_client_auth_subject_dn", "CN=reports,O=Example AG,C=DE")
        .await;
    let other = authority("Other", None, it.long);
    let [known, new] = [&it.root, &other].map(|root| it.leaf_of(root, &reports(), Vec::new()));
    assert_eq!(it.ask(&application, &known, &[]).await, accepted());
    assert_eq!(it.ask(&application, &new, &[]).await, untrusted());
    authorities_setting(it.folder.path(), &[&other]);
    it.host.advance(60);
    assert_eq!(it.ask(&application, &new, &[]).await, accepted());
    assert_eq!(it.ask(&application, &known, &[]).await, untrusted());
    // An invalid file changes nothing.
    write_file(it.folder.path().join("authorities.pem"), "nonsense");
    it.host.advance(60);
    assert_eq!(it.ask(&application, &new, &[]).await, accepted());
}

#[tokio::test]
async fn an_application_has_exactly_one_name() {
    let it = Fixture::start().await;
    let application = it
        .registered("tls_client_auth_san_dns", "reports.example.org")
        .await;
    let path = format!("/applications/{}", id(&application));
    let certificate = it.root.0.pem();
    for (change, member) in [
        (
            json!({"tls_client_auth_san_dns": "a.example", "tls_client_auth_san_ip": "192.0.2.7"}),
            "token_endpoint_auth_method",
        ),
        (
            json!({"tls_client_auth_san_dns": "a.example", "certificate": certificate}),
            "token_endpoint_auth_method",
        ),
        (
            json!({"token_endpoint_auth_method": "private_key_jwt", "tls_client_auth_san_dns": "a.example"}),
            "token_endpoint_auth_method",
        ),
        (
            json!({"token_endpoint_auth_method": "client_secret_basic", "tls_client_auth_san_dns": "a.example"}),
            "token_endpoint_auth_method",
        ),
        (
            json!({"tls_client_auth_san_dns": null}),
            "tls_client_auth_san_dns",
        ),
        (
            json!({"tls_client_auth_san_dns": "*.example.org"}),
            "tls_client_auth_san_dns",
        ),
        (
            json!({"tls_client_auth_san_uri": "reports"}),
            "tls_client_auth_san_uri",
        ),
        (
            json!({"tls_client_auth_san_ip": "192.0.2.0/24"}),
            "tls_client_auth_san_ip",
        ),
        (
            json!({"tls_client_auth_san_email": "reports"}),
            "tls_client_auth_san_email",
        ),
        (
            json!({"tls_client_auth_subject_dn": "C = DE, CN = reports"}),
            "tls_client_auth_subject_dn",
        ),
    ] {
        let (status, answer) = it.host.admin(Method::PATCH, &path, change.clone()).await;
        assert_eq!(
            status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{change}: {answer}"
        );
        assert_eq!(
            answer["errors"][0]["pointer"],
            format!("/{member}"),
            "{change}: {answer}"
        );
    }
    // A name replaces another one, and a certificate replaces a name.
    let change =
        json!({"tls_client_auth_san_uri": "urn:example:reports", "tls_client_auth_san_dns": null});
    let changed = it.host.admin_ok(Method::PATCH, &path, change).await;
    assert_eq!(changed["tls_client_auth_san_uri"], "urn:example:reports");
    assert!(changed.get("tls_client_auth_san_dns").is_none());
    let change = json!({ "certificate": certificate });
    let changed = it.host.admin_ok(Method::PATCH, &path, change).await;
    assert_eq!(changed["certificate"], certificate);
    assert!(changed.get("tls_client_auth_san_uri").is_none());
    let change = json!({"token_endpoint_auth_method": "client_secret_basic", "tls_client_auth_san_uri": null});
    it.host.admin_ok(Method::PATCH, &path, change).await;
}
