//! The check of rules that the types cannot express.

use tracing_subscriber::EnvFilter;

use super::http::is_bare;
use super::{
    HumanDuration, Settings, approvals, bootstrap, branding, http, keys, lifetimes, mail, oidc,
    plugins, rate_limits, saml, telemetry,
};
use assent_model::name::display_text;

/// Checks the rules that the types cannot express. Returns pairs of key and expectation.
pub(super) fn check(settings: &Settings) -> Vec<(String, String)> {
    let mut problems = Vec::new();
    let mut expect = |good: bool, key: &str, expected: &str| {
        if !good {
            problems.push((key.to_owned(), expected.to_owned()));
        }
    };
    let url = &settings.base_url;
    expect(
        matches!(url.scheme(), "http" | "https") && is_bare(url),
        "base_url",
        "expected an address without path or query, such as https://id.example.org",
    );
    expect(
        url.scheme() != "http" || settings.is_local(),
        "base_url",
        "expected https; http is only for localhost and loopback addresses",
    );
    expect(
        display_text(&settings.operator, 80).is_some(),
        "operator",
        "expected a name of 1 to 80 characters",
    );
    http::check(&settings.http, settings.is_https(), &mut expect);
    branding::check(&settings.branding, &mut expect);
    rate_limits::check(&settings.rate_limits, &mut expect);
    approvals::check(&settings.approvals, &mut expect);
    lifetimes::check(&settings.lifetimes, &settings.session, &mut expect);
    let scheme = settings
        .database
        .url
        .split_once(':')
        .map(|(scheme, _)| scheme);
    expect(
        matches!(scheme, Some("sqlite" | "postgres" | "postgresql")),
        "database.url",
        "expected sqlite://path/to/file or postgres://user@host/database",
    );
    keys::check(&settings.keys, &mut expect);
    if let Some(mail) = &settings.mail {
        mail::check(mail, &mut expect);
    }
    oidc::check(&settings.oidc, &mut expect);
    saml::check(&settings.saml, &mut expect);
    settings.audit.retention.check(
        "audit.retention",
        HumanDuration::days(1)..=HumanDuration::days(3650),
        &mut expect,
    );
    settings.receipts.retention.check(
        "receipts.retention",
        HumanDuration::ZERO..=HumanDuration::days(3650),
        &mut expect,
    );
    expect(
        EnvFilter::try_new(&settings.log.level).is_ok(),
        "log.level",
        "expected error, warn, info, debug or trace, or directives such as info,assent_plugin_host=debug",
    );
    telemetry::check(&settings.telemetry, &mut expect);
    if let Some(bootstrap) = &settings.bootstrap {
        bootstrap::check(
            bootstrap,
            settings.allow_insecure_redirect_uris,
            &mut expect,
        );
    }
    plugins::check(&settings.plugins, &mut expect);
    problems
}
