use std::time::Duration;

use openssl::asn1::{Asn1Time, Asn1Type};
use openssl::bn::{BigNum, MsbOption};
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::x509::extension::{
    BasicConstraints, ExtendedKeyUsage, KeyUsage, SubjectAlternativeName,
};
use openssl::x509::{X509Builder, X509Extension, X509NameBuilder};

use super::*;
use crate::keys::reloaded_file::CHECK_INTERVAL;
use assent_model::certificate_name::CertificateNameKind;
use assent_model::clock::{ManualClock, Timestamp};
use proptest::prelude::*;

/// The time of the tests, in seconds since the epoch.
const NOW: i64 = 1_900_000_000;

type Issued = (X509, PKey<Private>);

fn key() -> PKey<Private> {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
}

/// Returns a certificate for this common name. Without an issuer it is self-signed.
fn issued(
    name: &str,
    issuer: Option<&Issued>,
    validity: (i64, i64),
    extend: impl FnOnce(&X509Builder) -> Vec<X509Extension>,
) -> Issued {
    let key = key();
    let mut subject = X509NameBuilder::new().unwrap();
    subject
        .append_entry_by_text_with_type("CN", name, Asn1Type::UTF8STRING)
        .unwrap();
    let subject = subject.build();
    let mut builder = X509::builder().unwrap();
    builder.set_version(2).unwrap();
    let mut serial = BigNum::new().unwrap();
    serial.rand(64, MsbOption::MAYBE_ZERO, false).unwrap();
    let serial = serial.to_asn1_integer().unwrap();
    builder.set_serial_number(&serial).unwrap();
    builder.set_subject_name(&subject).unwrap();
    let issuer_name = issuer.map_or(&*subject, |(issuer, _)| issuer.subject_name());
    builder.set_issuer_name(issuer_name).unwrap();
    let (from, until) = validity;
    builder
        .set_not_before(&Asn1Time::from_unix(from).unwrap())
        .unwrap();
    builder
        .set_not_after(&Asn1Time::from_unix(until).unwrap())
        .unwrap();
    builder.set_pubkey(&key).unwrap();
    for extension in extend(&builder) {
        builder.append_extension(extension).unwrap();
    }
    let signer = issuer.map_or(&key, |(_, key)| key);
    builder.sign(signer, MessageDigest::sha256()).unwrap();
    (builder.build(), key)
}

const VALID: (i64, i64) = (NOW - 1_000, NOW + 1_000);

fn authority(name: &str, issuer: Option<&Issued>) -> Issued {
    issued(name, issuer, VALID, |_| {
        vec![
            BasicConstraints::new().critical().ca().build().unwrap(),
            KeyUsage::new().key_cert_sign().build().unwrap(),
        ]
    })
}

fn leaf(name: &str, issuer: &Issued) -> Issued {
    issued(name, Some(issuer), VALID, |_| Vec::new())
}

fn with_names(issuer: &Issued, add: impl FnOnce(&mut SubjectAlternativeName)) -> Issued {
    issued("reports", Some(issuer), VALID, |builder| {
        let mut names = SubjectAlternativeName::new();
        add(&mut names);
        vec![names.build(&builder.x509v3_context(None, None)).unwrap()]
    })
}

fn pem(certificates: &[&Issued]) -> Vec<u8> {
    let texts = certificates
        .iter()
        .map(|(certificate, _)| certificate.to_pem().unwrap());
    texts.collect::<Vec<_>>().concat()
}

struct Fixture {
    folder: tempfile::TempDir,
    clock: Arc<ManualClock>,
    authorities: Arc<ClientAuthorities>,
}

fn load(content: &[u8]) -> Result<Fixture, AuthoritiesError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("authorities.pem");
    std::fs::write(&file, content).unwrap();
    let clock = Arc::new(ManualClock::new(Timestamp::from_seconds(NOW)));
    let authorities = Arc::new(ClientAuthorities::load(&file, Arc::clone(&clock) as _)?);
    Ok(Fixture {
        folder,
        clock,
        authorities,
    })
}

fn name(kind: CertificateNameKind, text: &str) -> CertificateName {
    CertificateName::parse(kind, text).unwrap()
}

/// The name of most certificates here.
fn reports() -> CertificateName {
    name(CertificateNameKind::SubjectDn, "CN=reports")
}

impl Fixture {
    fn verify(
        &self,
        (certificate, _): &Issued,
        intermediates: &[&Issued],
        name: &CertificateName,
    ) -> Result<(), CertificateDenied> {
        let intermediates: Vec<Vec<u8>> = intermediates
            .iter()
            .map(|(certificate, _)| certificate.to_der().unwrap())
            .collect();
        let der = certificate.to_der().unwrap();
        let verified = self.authorities.verify(&der, &intermediates, name);
        assert!(
            ErrorStack::get().errors().is_empty(),
            "errors would reach the next call of OpenSSL"
        );
        verified
    }
}

#[test]
fn a_chain_leads_to_a_root() {
    use CertificateDenied::Untrusted;
    let root = authority("Root", None);
    let intermediate = authority("Issuing", Some(&root));
    let direct = leaf("reports", &root);
    let indirect = leaf("reports", &intermediate);
    let it = load(&pem(&[&root])).unwrap();
    assert_eq!(it.verify(&direct, &[], &reports()), Ok(()));
    assert_eq!(it.verify(&indirect, &[&intermediate], &reports()), Ok(()));
    assert_eq!(it.verify(&indirect, &[], &reports()), Err(Untrusted));
    // The client may send the root, too.
    let all = [&root, &intermediate];
    assert_eq!(it.verify(&indirect, &all, &reports()), Ok(()));
    // The file may have the intermediate authority.
    let known = load(&pem(&[&intermediate, &root])).unwrap();
    assert_eq!(known.verify(&indirect, &[], &reports()), Ok(()));
    // Another authority has the same name.
    let other = authority("Root", None);
    let forged = leaf("reports", &other);
    assert_eq!(it.verify(&forged, &[&other], &reports()), Err(Untrusted));
    let own = issued("reports", None, VALID, |_| Vec::new());
    assert_eq!(it.verify(&own, &[&own], &reports()), Err(Untrusted));
    let denied = it.authorities.verify(b"no certificate", &[], &reports());
    assert_eq!(denied, Err(Untrusted));
    let der = direct.0.to_der().unwrap();
    let denied = it.authorities.verify(&der, &[b"none".to_vec()], &reports());
    assert_eq!(denied, Err(Untrusted));
}

#[test]
fn an_application_is_no_authority() {
    let root = authority("Root", None);
    let it = load(&pem(&[&root])).unwrap();
    let plain = leaf("attacker", &root);
    let explicit = issued("attacker", Some(&root), VALID, |_| {
        vec![BasicConstraints::new().critical().build().unwrap()]
    });
    // An authority that may issue only certificates of servers.
    let of_servers = issued("Servers", Some(&root), VALID, |_| {
        vec![
            BasicConstraints::new().critical().ca().build().unwrap(),
            ExtendedKeyUsage::new().server_auth().build().unwrap(),
        ]
    });
    for issuer in [plain, explicit, of_servers] {
        let forged = leaf("reports", &issuer);
        assert!(it.verify(&forged, &[&issuer], &reports()).is_err());
    }
}

#[test]
fn a_certificate_is_valid_at_the_time_of_the_clock() {
    let root = authority("Root", None);
    let it = load(&pem(&[&root])).unwrap();
    let within = |from, until| issued("reports", Some(&root), (from, until), |_| Vec::new());
    let expired = within(NOW - 20, NOW - 10);
    let later = within(NOW + 10, NOW + 20);
    let not_in_time = Err(CertificateDenied::NotInTime);
    assert_eq!(it.verify(&expired, &[], &reports()), not_in_time);
    assert_eq!(it.verify(&later, &[], &reports()), not_in_time);
    it.clock.advance(Duration::from_secs(15));
    assert_eq!(it.verify(&later, &[], &reports()), Ok(()));
    // The root has expired, too.
    it.clock.advance(Duration::from_secs(1_985));
    let long = within(NOW - 10, NOW + 9_000);
    assert_eq!(it.verify(&long, &[], &reports()), not_in_time);
}

#[test]
fn a_certificate_must_be_for_client_authentication() {
    let root = authority("Root", None);
    let it = load(&pem(&[&root])).unwrap();
    let with = |usage: X509Extension| issued("reports", Some(&root), VALID, |_| vec![usage]);
    let client = ExtendedKeyUsage::new().client_auth().build().unwrap();
    assert_eq!(it.verify(&with(client), &[], &reports()), Ok(()));
    let mut both = ExtendedKeyUsage::new();
    let both = both.server_auth().client_auth().build().unwrap();
    assert_eq!(it.verify(&with(both), &[], &reports()), Ok(()));
    for other in [
        ExtendedKeyUsage::new().server_auth().build().unwrap(),
        ExtendedKeyUsage::new().email_protection().build().unwrap(),
        KeyUsage::new()
            .critical()
            .key_encipherment()
            .build()
            .unwrap(),
    ] {
        assert_eq!(
            it.verify(&with(other), &[], &reports()),
            Err(CertificateDenied::Purpose)
        );
    }
}

#[test]
fn a_certificate_has_exactly_the_registered_name() {
    use CertificateNameKind::{SanDns, SanEmail, SanIp, SanUri, SubjectDn};
    let root = authority("Root", None);
    let it = load(&pem(&[&root])).unwrap();
    let all = with_names(&root, |names| {
        names
            .dns("other.example.org")
            .dns("Reports.example.org")
            .uri("spiffe://example.org/reports")
            .ip("192.0.2.7")
            .ip("2001:db8::7")
            .email("Reports@Example.org");
    });
    for (kind, text) in [
        (SubjectDn, "CN=reports"),
        (SanDns, "reports.example.org"),
        (SanDns, "OTHER.example.org"),
        (SanUri, "spiffe://example.org/reports"),
        (SanIp, "192.0.2.7"),
        (SanIp, "2001:db8:0:0::7"),
        (SanEmail, "Reports@example.ORG"),
    ] {
        assert_eq!(it.verify(&all, &[], &name(kind, text)), Ok(()), "{text}");
    }
    for (kind, text) in [
        (SubjectDn, "CN=Reports"),
        (SubjectDn, "CN=reports.example.org"),
        (SanDns, "reports"),
        (SanDns, "example.org"),
        (SanDns, "192.0.2.7"),
        (SanUri, "spiffe://example.org/reports/"),
        (SanUri, "urn:reports.example.org"),
        (SanIp, "192.0.2.8"),
        (SanIp, "::ffff:192.0.2.7"),
        (SanEmail, "reports@example.org"),
        (SanEmail, "Reports@mail.example.org"),
    ] {
        assert_eq!(
            it.verify(&all, &[], &name(kind, text)),
            Err(CertificateDenied::OtherName),
            "{text}"
        );
    }
}

#[test]
fn a_name_of_another_kind_or_a_wildcard_is_another_name() {
    use CertificateNameKind::{SanDns, SanEmail, SanIp, SanUri};
    let root = authority("Root", None);
    let it = load(&pem(&[&root])).unwrap();
    let denied = |certificate: &Issued, kind, text| {
        assert_eq!(
            it.verify(certificate, &[], &name(kind, text)),
            Err(CertificateDenied::OtherName),
            "{text}"
        );
    };
    let wildcard = with_names(&root, |names| {
        names.dns("*.example.org");
    });
    denied(&wildcard, SanDns, "reports.example.org");
    let confused = with_names(&root, |names| {
        names
            .uri("reports.example.org")
            .email("reports.example.org")
            .dns("192.0.2.7")
            .dns("reports@example.org")
            .dns("spiffe://example.org/reports");
    });
    denied(&confused, SanDns, "reports.example.org");
    denied(&confused, SanIp, "192.0.2.7");
    denied(&confused, SanEmail, "reports@example.org");
    denied(&confused, SanUri, "spiffe://example.org/reports");
    // The common name is no host name.
    let common = leaf("reports.example.org", &root);
    denied(&common, SanDns, "reports.example.org");
    let ends = with_names(&root, |names| {
        names.dns("reports.example.org.evil.example");
    });
    denied(&ends, SanDns, "reports.example.org");
}

#[tokio::test]
async fn a_changed_file_is_reloaded_and_a_broken_one_is_not_used() {
    let (first, second) = (authority("First", None), authority("Second", None));
    let it = load(&pem(&[&first])).unwrap();
    let file = it.folder.path().join("authorities.pem");
    let [of_first, of_second] = [&first, &second].map(|root| leaf("reports", root));
    for (content, uses_first, uses_second) in [
        (pem(&[&first, &second]), true, true),
        (b"nonsense".to_vec(), true, true),
        (pem(&[&second]), false, true),
        (Vec::new(), false, true),
    ] {
        std::fs::write(&file, content).unwrap();
        it.clock.advance(CHECK_INTERVAL);
        it.authorities.reload_if_due().await;
        let verify = |leaf| it.verify(leaf, &[], &reports()).is_ok();
        assert_eq!(
            (verify(&of_first), verify(&of_second)),
            (uses_first, uses_second)
        );
    }
    // Not more often than once a minute.
    std::fs::write(&file, pem(&[&first])).unwrap();
    it.clock.advance(CHECK_INTERVAL - Duration::from_secs(1));
    it.authorities.reload_if_due().await;
    assert!(it.verify(&of_first, &[], &reports()).is_err());
}

#[test]
fn a_file_without_a_root_is_an_error() {
    let root = authority("Root", None);
    let intermediate = authority("Issuing", Some(&root));
    let message = |content: &[u8]| {
        let error = load(content).map(|_| ()).unwrap_err().to_string();
        assert!(error.starts_with("http.mtls.authorities_file: "), "{error}");
        error
    };
    assert!(message(b"").contains("there is no root authority"));
    assert!(message(b"nonsense").contains("there is no root authority"));
    assert!(message(&pem(&[&intermediate])).contains("there is no root authority"));
    let damaged = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert!(message(damaged).contains("damaged"));
    let key = [pem(&[&root]), root.1.private_key_to_pem_pkcs8().unwrap()].concat();
    assert!(message(&key).contains("private key"));
    let missing = Path::new("/nowhere/authorities.pem");
    let clock = Arc::new(ManualClock::new(Timestamp::from_seconds(NOW)));
    let error = ClientAuthorities::load(missing, clock).unwrap_err();
    assert!(error.to_string().contains("cannot read"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_changed_certificate_is_denied(at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let root = authority("Root", None);
        let it = load(&pem(&[&root])).unwrap();
        let der = leaf("reports", &root).0.to_der().unwrap();
        let mut changed = der.clone();
        let at = at.index(changed.len());
        changed[at] = to;
        let verified = it.authorities.verify(&changed, &[], &reports());
        prop_assert!(changed == der || verified.is_err());
    }
}
