//! RequestedAuthnContext (SAML core section 3.3.2.2.1).

use crate::saml::sign_on::response::{AUTHN_CONTEXT, PHISHING_RESISTANT, UNSPECIFIED};
use assent_saml_core::message::{Comparison, RequestedAuthnContext};

/// Authentication methods that are no stronger than those of this server (SAML authentication context section 3.4).
const WEAKER: [&str; 5] = [
    UNSPECIFIED,
    "urn:oasis:names:tc:SAML:2.0:ac:classes:InternetProtocol",
    "urn:oasis:names:tc:SAML:2.0:ac:classes:InternetProtocolPassword",
    "urn:oasis:names:tc:SAML:2.0:ac:classes:Password",
    "urn:oasis:names:tc:SAML:2.0:ac:classes:PreviousSession",
];

/// Authentication methods that are stronger than those of this server.
const STRONGER: [&str; 10] = [
    PHISHING_RESISTANT,
    "urn:oasis:names:tc:SAML:2.0:ac:classes:MobileTwoFactorContract",
    "urn:oasis:names:tc:SAML:2.0:ac:classes:MobileTwoFactorUnregistered",
    "urn:oasis:names:tc:SAML:2.0:ac:classes:Smartcard",
    "urn:oasis:names:tc:SAML:2.0:ac:classes:SmartcardPKI",
    "urn:oasis:names:tc:SAML:2.0:ac:classes:SoftwarePKI",
    "urn:oasis:names:tc:SAML:2.0:ac:classes:TLSClient",
    "urn:oasis:names:tc:SAML:2.0:ac:classes:TimeSyncToken",
    "urn:oasis:names:tc:SAML:2.0:ac:classes:X509",
    "urn:oasis:names:tc:SAML:2.0:ac:classes:Kerberos",
];

/// Whether the class `unspecified` satisfies the request. It is the only class of a vendor's approval.
pub(super) fn is_met_by_any(context: &RequestedAuthnContext) -> bool {
    let mut classes = context.classes.iter();
    match context.comparison {
        Comparison::Exact | Comparison::Minimum => classes.any(|class| class == UNSPECIFIED),
        // It is not stronger than any class: so it never exceeds a maximum, and is never better.
        Comparison::Maximum => {
            let known = |class: &str| {
                class == AUTHN_CONTEXT || WEAKER.contains(&class) || STRONGER.contains(&class)
            };
            classes.any(|class| known(class))
        }
        Comparison::Better => false,
    }
}

/// Whether the request names exactly `unspecified` and not this server's own class, so that the assertion must name
/// `unspecified`.
pub(super) fn is_for_unspecified(context: &RequestedAuthnContext) -> bool {
    let has = |wanted: &str| context.classes.iter().any(|class| class == wanted);
    context.comparison == Comparison::Exact && has(UNSPECIFIED) && !has(AUTHN_CONTEXT)
}

/// Whether the request names the class of sign-ins by a passkey.
pub(super) fn names_phishing_resistant(context: &RequestedAuthnContext) -> bool {
    let is_named = context
        .classes
        .iter()
        .any(|class| class == PHISHING_RESISTANT);
    !context.declarations
        && is_named
        && matches!(context.comparison, Comparison::Exact | Comparison::Minimum)
}

/// Whether an assertion about a sign-in by a device satisfies the request (SAML core section 3.3.2.2.1). It contains
/// `PasswordProtectedTransport`. Unknown classes are never satisfied.
pub(super) fn is_met(context: &RequestedAuthnContext) -> bool {
    if context.declarations {
        return false;
    }
    let is_ours = |class: &String| class == AUTHN_CONTEXT;
    // Every method satisfies `unspecified`, with any comparison.
    let is_open = |class: &String| class == UNSPECIFIED;
    let is_weaker = |class: &String| WEAKER.contains(&class.as_str());
    let mut classes = context.classes.iter();
    match context.comparison {
        Comparison::Exact => classes.any(|class| is_ours(class) || is_open(class)),
        Comparison::Minimum => classes.any(|class| is_ours(class) || is_weaker(class)),
        Comparison::Maximum => classes
            .any(|class| is_ours(class) || is_open(class) || STRONGER.contains(&class.as_str())),
        Comparison::Better => classes.all(is_weaker),
    }
}
