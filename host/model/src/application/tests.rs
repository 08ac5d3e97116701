use super::*;

#[test]
fn service_accounts_never_accept_the_token_endpoint_audience() {
    let lenient = OidcSettings {
        lenient_assertion_audience: true,
        ..OidcSettings::new(ApplicationType::Web)
    };
    assert!(lenient.accepts_token_endpoint_audience());
    let service = OidcSettings {
        admin_scopes: AdminScopes::parse_known("admin:read"),
        ..lenient
    };
    assert!(service.is_service_account());
    assert!(!service.accepts_token_endpoint_audience());
}

#[test]
fn a_sign_out_page_keeps_its_query_beside_the_session() {
    let uri = FrontchannelLogoutUri::parse("https://rp.example/logout?a=1&b=x%26y").unwrap();
    assert_eq!(
        uri.with_session("https://id.example/oidc", "s&d").as_str(),
        "https://rp.example/logout?a=1&b=x%26y&iss=https%3A%2F%2Fid.example%2Foidc&sid=s%26d"
    );
    assert_eq!(uri.origin(), "https://rp.example");
    for unfit in [
        "javascript:alert(1)",
        "http://rp.example/logout",
        "https://ada@rp.example/logout",
        "https://rp.example/logout#",
        "https://rp.example/logout?iss=x",
        "https://rp.example/logout?a=1&sid=x",
        "https://[2001:db8::1]/logout",
        "rp.example/logout",
    ] {
        assert!(FrontchannelLogoutUri::parse(unfit).is_err(), "{unfit}");
    }
}
