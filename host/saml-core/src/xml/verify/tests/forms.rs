//! The parts of a signature: its algorithms, transforms, references and keys.

use openssl::ec::{EcGroup, EcKey};
use openssl::ecdsa::EcdsaSig;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;

use super::*;
use crate::xml::testing::certificate;
use crate::xml::{SignatureKeyError, Signer};

#[test]
fn a_key_in_key_info_is_not_trusted() {
    let text = request(&STRANGER.signer);
    assert_refused!(text.clone(), SignatureError::Untrusted);
    // The partner's certificate beside the key makes no difference.
    let certificate = format!(
        "<ds:X509Certificate>{}</ds:X509Certificate>",
        PARTNER.signer.certificate()
    );
    assert_refused!(
        text.replace("<ds:X509Data>", &format!("<ds:X509Data>{certificate}")),
        SignatureError::Untrusted
    );
    let rsa = STRANGER.key.rsa().unwrap();
    let value = format!(
        "<ds:KeyInfo><ds:KeyValue><ds:RSAKeyValue><ds:Modulus>{}</ds:Modulus>\
         <ds:Exponent>AQAB</ds:Exponent></ds:RSAKeyValue></ds:KeyValue>",
        STANDARD.encode(rsa.n().to_vec())
    );
    assert_refused!(
        text.replace("<ds:KeyInfo>", &value),
        SignatureError::Untrusted
    );
    let method = "<ds:KeyInfo><ds:RetrievalMethod URI='http://169.254.169.254/key'/>";
    assert_refused!(
        text.replace("<ds:KeyInfo>", method),
        SignatureError::Untrusted
    );
    assert!(matches!(
        read(&text).verify(&[]),
        Err(SignatureError::Untrusted)
    ));
    // The partner's own signature is valid with or without a key, and one of several trusted keys is enough.
    let own = RequestParts::new();
    let (from, to) = (
        own.signature.find("<ds:KeyInfo>").unwrap(),
        own.signature.find("</ds:Signature>").unwrap(),
    );
    let signature = [&own.signature[..from], &own.signature[to..]].concat();
    let text = [&own.start, &own.before, &signature, &own.after, END].concat();
    read(&text)
        .verify(&[STRANGER.trusted.clone(), PARTNER.trusted.clone()])
        .unwrap();
}

#[test]
fn sha_1_is_rejected_by_name() {
    for method in [
        "http://www.w3.org/2000/09/xmldsig#rsa-sha1",
        "http://www.w3.org/2000/09/xmldsig#dsa-sha1",
        "http://www.w3.org/2000/09/xmldsig#hmac-sha1",
    ] {
        let text = ForgedSignature {
            method: method.into(),
            ..ForgedSignature::default()
        }
        .message();
        assert_refused!(text, SignatureError::Algorithm(AlgorithmError::Sha1));
    }
    let digest_method = "http://www.w3.org/2000/09/xmldsig#sha1".into();
    let error = refused(
        &ForgedSignature {
            digest_method,
            ..ForgedSignature::default()
        }
        .message(),
    );
    assert!(error.to_string().contains("SHA-1"), "{error}");
}

/// An HMAC with the public key as its secret, and unknown algorithms.
#[test]
fn hmac_and_unknown_algorithms_are_rejected() {
    for method in [
        "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256",
        "http://www.w3.org/2001/04/xmldsig-more#rsa-md5",
        "http://www.w3.org/2001/04/xmldsig-more#rsa-SHA256",
        "",
    ] {
        let text = ForgedSignature {
            method: method.into(),
            ..ForgedSignature::default()
        }
        .message();
        assert_refused!(text, SignatureError::Algorithm(AlgorithmError::Unknown));
    }
    let text = RequestParts::new().whole();
    let method = format!("Algorithm=\"{}\">", SignatureAlgorithm::RsaSha256.uri());
    assert_refused!(text.replace(&method, ">"), SignatureError::Malformed(_));
    let truncated = format!("{method}<ds:HMACOutputLength>1</ds:HMACOutputLength>");
    assert_refused!(
        text.replace(&method, &truncated),
        SignatureError::Malformed(_)
    );
    // An algorithm for another kind of key.
    let method = SignatureAlgorithm::EcdsaSha256.uri().into();
    assert_refused!(
        ForgedSignature {
            method,
            ..ForgedSignature::default()
        }
        .message(),
        SignatureError::Untrusted
    );
}

#[test]
fn xslt_xpath_and_other_transforms_are_rejected() {
    let transform = |uri: &str| format!("<ds:Transform Algorithm=\"{uri}\"></ds:Transform>");
    let xpath = "<ds:Transform Algorithm=\"http://www.w3.org/TR/1999/REC-xpath-19991116\">\
                 <ds:XPath>not(ancestor::evil)</ds:XPath></ds:Transform>";
    let xslt = transform("http://www.w3.org/TR/1999/REC-xslt-19991116");
    let base64 = transform("http://www.w3.org/2000/09/xmldsig#base64");
    let inclusive = transform("http://www.w3.org/TR/2001/REC-xml-c14n-20010315");
    let comments = transform("http://www.w3.org/2001/10/xml-exc-c14n#WithComments");
    for transforms in [
        String::new(),
        ENVELOPED.into(),
        EXCLUSIVE.into(),
        format!("{EXCLUSIVE}{ENVELOPED}"),
        format!("{ENVELOPED}{ENVELOPED}"),
        format!("{ENVELOPED}{EXCLUSIVE}{EXCLUSIVE}"),
        format!("{ENVELOPED}{xpath}{EXCLUSIVE}"),
        format!("{xpath}{EXCLUSIVE}"),
        format!("{xslt}{EXCLUSIVE}"),
        format!("{ENVELOPED}{xslt}"),
        format!("{ENVELOPED}{base64}"),
        format!("{ENVELOPED}{inclusive}"),
        format!("{ENVELOPED}{comments}"),
    ] {
        let text = ForgedSignature {
            transforms,
            ..ForgedSignature::default()
        }
        .message();
        assert_refused!(
            text,
            SignatureError::Transforms | SignatureError::Malformed(_)
        );
    }
    for form in [
        "http://www.w3.org/TR/2001/REC-xml-c14n-20010315",
        "http://www.w3.org/2001/10/xml-exc-c14n#WithComments",
    ] {
        assert_refused!(
            ForgedSignature {
                form: form.into(),
                ..ForgedSignature::default()
            }
            .message(),
            SignatureError::Transforms
        );
    }
    let without = RequestParts::new()
        .whole()
        .replace("<ds:Transforms>", "<ds:Other>")
        .replace("</ds:Transforms>", "</ds:Other>");
    assert_refused!(without, SignatureError::Malformed(_));
}

#[test]
fn zero_or_two_references_are_rejected() {
    for references in [0, 2] {
        assert_refused!(
            ForgedSignature {
                references,
                ..ForgedSignature::default()
            }
            .message(),
            SignatureError::Reference
        );
    }
}

#[test]
fn references_to_anything_but_the_root_are_rejected() {
    let start = START.replace("_r1", "#xpointer(/)");
    let odd = ForgedSignature {
        start,
        uri: "URI=\"##xpointer(/)\"".into(),
        ..ForgedSignature::default()
    };
    assert_refused!(odd.message(), SignatureError::Reference);
    for uri in [
        "#",
        "#_r2",
        "_r1",
        "#_R1",
        "# _r1",
        "#xpointer(id('_r1'))",
        "#xpointer(/)",
        "http://evil.example/#_r1",
        "file:///etc/passwd",
    ] {
        let text = ForgedSignature {
            uri: format!("URI=\"{uri}\""),
            ..ForgedSignature::default()
        }
        .message();
        assert_refused!(text, SignatureError::Reference);
    }
    assert_refused!(
        ForgedSignature {
            uri: String::new(),
            ..ForgedSignature::default()
        }
        .message(),
        SignatureError::Reference
    );
    // The ID of an inner element.
    let content = format!("<samlp:Extensions ID=\"_x\"></samlp:Extensions>{CONTENT}");
    let inner = ForgedSignature {
        content,
        uri: "URI=\"#_x\"".into(),
        ..ForgedSignature::default()
    };
    assert_refused!(inner.message(), SignatureError::Reference);
    // An attribute that is not an ID in SAML.
    let start = START.replace(" ID=", " Id=");
    assert_refused!(
        ForgedSignature {
            start,
            ..ForgedSignature::default()
        }
        .message(),
        SignatureError::Reference
    );
    // An empty ID.
    let start = START.replace(" ID=\"_r1\"", " ID=\"\"");
    assert_refused!(
        ForgedSignature {
            start,
            uri: "URI=\"#\"".into(),
            ..ForgedSignature::default()
        }
        .message(),
        SignatureError::Reference
    );
}

#[test]
fn parts_with_another_name_or_namespace_are_rejected() {
    let text = RequestParts::new().whole();
    for (part, other) in [
        ("ds:CanonicalizationMethod", "ds:Other"),
        ("ds:Reference", "samlp:Reference"),
        ("ds:DigestMethod", "ds:Other"),
        ("ds:KeyInfo", "ds:Object"),
    ] {
        assert_refused!(
            text.replace(part, other),
            SignatureError::Malformed(_) | SignatureError::Reference
        );
    }
}

#[test]
fn inclusive_prefixes_are_covered_by_the_signature() {
    let list = "<ec:InclusiveNamespaces xmlns:ec=\"http://www.w3.org/2001/10/xml-exc-c14n#\" \
         PrefixList=\"xs\"></ec:InclusiveNamespaces>";
    let transforms = format!(
        "{ENVELOPED}{}",
        EXCLUSIVE.replace("></", &format!(">{list}</"))
    );
    let start = START.replace(" ID=", " xmlns:xs=\"urn:xs\" ID=");
    let text = ForgedSignature {
        start,
        transforms,
        ..ForgedSignature::default()
    }
    .message();
    verify(&text).unwrap();
    assert_refused!(text.replace("urn:xs", "urn:other"), SignatureError::Digest);
    assert_refused!(
        text.replace("PrefixList=\"xs\"", ""),
        SignatureError::Untrusted
    );
    assert_refused!(
        text.replace("ec:Incl", "ec:Excl"),
        SignatureError::Transforms
    );
}

#[test]
fn ecdsa_signatures_are_verified_too() {
    for (curve, algorithm, length) in [
        (Nid::X9_62_PRIME256V1, SignatureAlgorithm::EcdsaSha256, 32),
        (Nid::SECP384R1, SignatureAlgorithm::EcdsaSha384, 48),
        (Nid::SECP521R1, SignatureAlgorithm::EcdsaSha512, 66),
    ] {
        let key =
            PKey::from_ec_key(EcKey::generate(&EcGroup::from_curve_name(curve).unwrap()).unwrap())
                .unwrap();
        let trusted = [TrustedKey::of_certificate(&certificate(&key)).unwrap()];
        let forged = ForgedSignature {
            method: algorithm.uri().into(),
            ..ForgedSignature::default()
        };
        let message = |signature: &str| [START, CONTENT, signature, END].concat();
        let raw = |bytes: &[u8]| {
            let mut signer = openssl::sign::Signer::new(algorithm.digest(), &key).unwrap();
            let parts = EcdsaSig::from_der(&signer.sign_oneshot_to_vec(bytes).unwrap()).unwrap();
            let pad = |number: &openssl::bn::BigNumRef| number.to_vec_padded(length).unwrap();
            [pad(parts.r()), pad(parts.s())].concat()
        };
        let good = message(&forged.signature(raw));
        assert_eq!(read(&good).verify(&trusted).unwrap().algorithm(), algorithm);
        assert_refused!(good, SignatureError::Untrusted);
        let longer = |bytes: &[u8]| {
            let mut signature = raw(bytes);
            signature.insert(length as usize, 0);
            signature
        };
        // Signatures in DER, as OpenSSL returns them; too short; too long; all zeros.
        let der = |bytes: &[u8]| {
            openssl::sign::Signer::new(algorithm.digest(), &key)
                .unwrap()
                .sign_oneshot_to_vec(bytes)
                .unwrap()
        };
        for signature in [
            forged.signature(der),
            forged.signature(|bytes| raw(bytes)[1..].to_vec()),
            forged.signature(longer),
            forged.signature(|_| vec![0; 2 * length as usize]),
        ] {
            let result = read(&message(&signature)).verify(&trusted);
            assert!(
                matches!(result, Err(SignatureError::Untrusted)),
                "{result:?}"
            );
        }
    }
}

#[test]
fn weak_unsupported_and_mismatched_keys_are_rejected() {
    let public =
        |key: &PKey<Private>| PKey::public_key_from_der(&key.public_key_to_der().unwrap()).unwrap();
    let weak = PKey::from_rsa(Rsa::generate(1024).unwrap()).unwrap();
    assert!(matches!(
        TrustedKey::new(public(&weak)),
        Err(SignatureKeyError::Kind)
    ));
    let curve = EcGroup::from_curve_name(Nid::SECP256K1).unwrap();
    let other = PKey::from_ec_key(EcKey::generate(&curve).unwrap()).unwrap();
    assert!(matches!(
        TrustedKey::new(public(&other)),
        Err(SignatureKeyError::Kind)
    ));
    assert!(matches!(
        TrustedKey::new(public(&PKey::generate_ed25519().unwrap())),
        Err(SignatureKeyError::Kind)
    ));
    let result = Signer::new(PARTNER.key.clone(), &STRANGER.certificate);
    assert!(matches!(result, Err(SignatureKeyError::Certificate)));
    assert!(matches!(
        Signer::new(weak.clone(), &certificate(&weak)),
        Err(SignatureKeyError::Kind)
    ));
    assert_eq!(format!("{:?}", PARTNER.signer), "Signer { .. }");
}
