use proptest::prelude::*;

use super::*;

fn registered(uri: &str, kind: ApplicationType) -> [RedirectUri; 1] {
    [RedirectUri::register(uri, kind, false).expect("fit to register")]
}

#[test]
fn a_redirect_uri_that_is_not_identical_is_rejected() {
    let uris = registered("https://rp.example/cb", ApplicationType::Web);
    assert!(CheckedRedirect::find(&uris, "https://rp.example/cb").is_some());
    for requested in [
        "https://rp.example/cb/",
        "https://rp.example/c",
        "https://rp.example/cb?x=1",
        "https://rp.example/cb#f",
        "https://rp.example/CB",
        "https://RP.example/cb",
        "https://rp.example:443/cb",
        "https://rp.example:8443/cb",
        "https://rp@evil.example/cb",
        "https://rp.example@evil.example/cb",
        "https://rp.example/x/../cb",
        "https://rp.example/%63b",
        "https://rp.example/%2563b",
        "http://rp.example/cb",
        "https://rp.example.evil/cb",
        "javascript:alert(1)",
        "",
        " https://rp.example/cb",
    ] {
        assert!(
            CheckedRedirect::find(&uris, requested).is_none(),
            "{requested}"
        );
    }
}

#[test]
fn only_the_port_of_a_loopback_redirect_uri_may_differ() {
    let uris = registered("http://127.0.0.1/cb", ApplicationType::Native);
    for requested in ["http://127.0.0.1/cb", "http://127.0.0.1:51004/cb"] {
        assert!(
            CheckedRedirect::find(&uris, requested).is_some(),
            "{requested}"
        );
    }
    for requested in [
        "http://127.0.0.1:51004/cb2",
        "http://127.0.0.1:51004@evil.example/cb",
        "http://127.0.0.1.evil.example/cb",
        "http://127.0.0.1:99999/cb",
        "http://127.0.0.1:/cb",
        "http://localhost:51004/cb",
        "http://[::1]:51004/cb",
        "https://127.0.0.1:51004/cb",
        "http://127.0.0.1:1evil/cb",
    ] {
        assert!(
            CheckedRedirect::find(&uris, requested).is_none(),
            "{requested}"
        );
    }
}

/// The table of the reference page: what each type of application may register, also in production.
#[test]
fn the_form_of_redirect_uris_depends_on_the_application_type() {
    // The URI, and whether `web`, `spa` and `native` may register it; then the same in development.
    for (uri, production, development) in [
        ("https://a.example/cb", "web spa native", "web spa native"),
        (
            "https://a.example:8443/cb?x=1",
            "web spa native",
            "web spa native",
        ),
        ("http://127.0.0.1/cb", "web native", "web spa native"),
        ("http://127.0.0.1:8250/cb", "web native", "web spa native"),
        ("http://[::1]/cb", "web native", "web spa native"),
        (
            "http://[::1]:8250/oidc/callback",
            "web native",
            "web spa native",
        ),
        (
            "http://localhost:8250/oidc/callback",
            "web native",
            "web spa native",
        ),
        (
            "http://localhost:8085/auth/callback",
            "web native",
            "web spa native",
        ),
        ("http://localhost:80/cb", "web native", "web spa native"),
        ("http://localhost/cb", "web", "web spa"),
        // RFC 8252 section 7.1.
        (
            "com.example.app:/oauth2redirect/example-provider",
            "native",
            "native",
        ),
        ("com.example.app:/", "native", "native"),
        ("com.example.app://cb", "native", "native"),
        ("com.example.app:///cb@1", "native", "native"),
        ("myapp:/cb", "native", "native"),
        // Other addresses are of no kind.
        ("com.example.app:cb", "", ""),
        ("com.example.app:cb?x=:/", "", ""),
        ("COM.example.app:/cb", "", ""),
        ("http://a.example/cb", "", ""),
        ("http://localhost.example/cb", "", ""),
        ("http://127.0.0.2/cb", "", ""),
        ("http:/127.0.0.1/cb", "", ""),
        ("http:127.0.0.1/cb", "", ""),
        ("https:/a.example/cb", "", ""),
        ("https:a.example/cb", "", ""),
        ("HTTPS://a.example/cb", "", ""),
        ("https://@a.example/cb", "", ""),
        ("https://u:p@a.example/cb", "", ""),
        ("https://a.example/cb#x", "", ""),
        ("https://a.example;script-src/cb", "", ""),
        ("https://*.a.example/cb", "", ""),
        ("http://localhost:8085@evil.example/cb", "", ""),
        ("com.example.app://@", "", ""),
        ("javascript:/a/%0aalert(1)", "", ""),
        ("javascript://a/%0aalert(1)", "", ""),
        ("data:/text/html,x", "", ""),
        ("blob:/x", "", ""),
        ("file:/etc/passwd", "", ""),
        ("intent:/x", "", ""),
        ("ws:/a.example/", "", ""),
        ("/cb", "", ""),
        ("", "", ""),
    ] {
        for (development, expected) in [(false, production), (true, development)] {
            for (name, kind) in [
                ("web", ApplicationType::Web),
                ("spa", ApplicationType::Spa),
                ("native", ApplicationType::Native),
            ] {
                let registered = RedirectUri::register(uri, kind, development);
                let expected = expected.split(' ').any(|one| one == name);
                assert_eq!(registered.is_ok(), expected, "{uri} {name} {development}");
                if let Ok(registered) = registered {
                    let uris = [registered];
                    assert!(CheckedRedirect::find(&uris, uri).is_some(), "{uri}");
                }
            }
        }
    }
}

#[test]
fn the_port_of_localhost_and_a_custom_scheme_are_exact() {
    let uris = registered(
        "http://localhost:8085/auth/callback",
        ApplicationType::Native,
    );
    for requested in [
        "http://localhost:8086/auth/callback",
        "http://localhost/auth/callback",
        "http://127.0.0.1:8085/auth/callback",
    ] {
        assert!(
            CheckedRedirect::find(&uris, requested).is_none(),
            "{requested}"
        );
    }
    let uris = registered("com.example.app:/cb", ApplicationType::Native);
    for requested in [
        "com.example.app://cb",
        "com.example.app:///cb",
        "com.example.app:/cb/",
        "com.example.app:cb",
    ] {
        assert!(
            CheckedRedirect::find(&uris, requested).is_none(),
            "{requested}"
        );
    }
}

#[test]
fn risky_redirect_uris_have_a_warning() {
    use ApplicationType::{Native, Web};
    for (uri, kind, warning) in [
        (
            "http://localhost:8085/cb",
            Native,
            Some(RedirectUriWarning::Localhost),
        ),
        ("http://127.0.0.1/cb", Native, None),
        ("https://a.example/cb", Native, None),
        ("com.example.app:/cb", Native, None),
        (
            "myapp:/cb",
            Native,
            Some(RedirectUriWarning::SchemeWithoutDomain),
        ),
        (
            "http://localhost:8250/cb",
            Web,
            Some(RedirectUriWarning::LoopbackOfWeb),
        ),
        (
            "http://127.0.0.1:8250/cb",
            Web,
            Some(RedirectUriWarning::LoopbackOfWeb),
        ),
        ("https://a.example/cb", Web, None),
    ] {
        let [registered] = registered(uri, kind);
        assert_eq!(registered.warning(kind), warning, "{uri}");
    }
}

#[test]
fn addresses_of_service_providers_are_not_on_the_machine_of_the_user() {
    assert!(RedirectUri::register_https("https://sp.example/acs", false).is_ok());
    for uri in [
        "http://localhost:3000/acs",
        "http://127.0.0.1/acs",
        "com.example.app:/acs",
    ] {
        assert!(RedirectUri::register_https(uri, false).is_err(), "{uri}");
    }
    assert!(RedirectUri::register_https("http://localhost:3000/acs", true).is_ok());
}

#[test]
fn parameters_are_appended_to_an_existing_query() {
    let uri = CheckedRedirect("https://rp.example/cb?a=1".to_owned());
    assert_eq!(
        uri.with_query(&[("state", "x&y z")]),
        "https://rp.example/cb?a=1&state=x%26y+z"
    );
}

proptest! {
    #[test]
    fn any_accepted_loopback_uri_has_the_registered_host_and_path(
        requested in "http://(127\\.0\\.0\\.1|\\[::1\\]|localhost)(:[0-9]{0,6})?(/cb|/|@evil/cb)?.{0,3}",
    ) {
        let uris = registered("http://127.0.0.1/cb", ApplicationType::Native);
        if CheckedRedirect::find(&uris, &requested).is_some() {
            let url = Url::parse(&requested).expect("an admitted URI parses");
            prop_assert_eq!(url.host_str(), Some("127.0.0.1"));
            prop_assert_eq!(url.path(), "/cb");
            prop_assert!(url.username().is_empty() && url.query().is_none() && url.fragment().is_none());
        }
    }

    #[test]
    fn no_text_panics(text in ".*") {
        let _ = RedirectUri::register(&text, ApplicationType::Native, true);
        let _ = split_loopback(&text);
    }
}
