use super::*;

#[test]
fn the_assertions_of_a_service_account_are_never_addressed_to_the_token_endpoint() {
    let lenient = OidcSettings {
        lenient_assertion_audience: true,
        ..OidcSettings::new(ApplicationType::Web)
    };
    assert!(lenient.accepts_token_endpoint_audience());
    let service = OidcSettings {
        admin_scopes: AdminScopes::known("admin:read"),
        ..lenient
    };
    assert!(service.is_service_account());
    assert!(!service.accepts_token_endpoint_audience());
}
