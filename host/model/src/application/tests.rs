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
