//! SAML service providers: applications whose protocol is SAML 2.0, and what passes between them and this host.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::clock::Timestamp;
use crate::id::{Did, KeyId, LogoutId, SignOnId, UserId};
use crate::name::LoginName;
use crate::purpose::SignInPurpose;
use crate::redirect::{CheckedRedirect, RedirectUri};
use crate::secret::Digest;

/// A SAML service provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceProvider {
    /// The `{applicationId}` in its paths.
    pub id: Did,
    /// The name that people see.
    pub name: String,
    /// What an administrator may set.
    pub settings: SamlSettings,
    /// How often it was changed: a change counts only if it was made to the newest version.
    pub version: i64,
    /// When the application was made.
    pub created_at: Timestamp,
    /// When the application was last changed.
    pub updated_at: Timestamp,
}

/// The settings of a service provider. What was not there when the application was kept has its default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SamlSettings {
    /// The SP entity ID, which is the audience of its assertions.
    pub entity_id: String,
    /// Where responses are posted. There is one at least, and no two have the same index.
    pub acs: Vec<AssertionConsumer>,
    /// Where it takes part in single logout.
    #[serde(default)]
    pub single_logout: Option<SingleLogout>,
    /// How it is told who somebody is.
    #[serde(default)]
    pub name_id: NameIdSettings,
    /// Whether an AuthnRequest without its signature is refused.
    #[serde(default)]
    pub require_signed_requests: bool,
    /// What it signs with.
    #[serde(default)]
    pub certificates: Vec<PartnerCertificate>,
    /// What the plugin for SAML attributes adds to its assertions.
    #[serde(default)]
    pub custom_attributes: Vec<CustomAttribute>,
    /// Sign-on that begins at this host.
    #[serde(default)]
    pub idp_initiated: IdpInitiated,
    /// How far its clock may be from ours, in seconds.
    #[serde(default = "default_clock_skew")]
    pub clock_skew: u32,
    /// What this host calls itself towards it; the issuer's URL where there is nothing.
    #[serde(default)]
    pub idp_entity_id: Option<String>,
    /// Where its metadata is read from again.
    #[serde(default)]
    pub metadata_url: Option<Url>,
}

const fn default_clock_skew() -> u32 {
    SamlSettings::CLOCK_SKEW
}

impl SamlSettings {
    /// The clock skew of a new application, in seconds.
    pub const CLOCK_SKEW: u32 = 60;

    /// The settings of a new application, which still needs an assertion consumer.
    pub const fn new(entity_id: String) -> Self {
        Self {
            entity_id,
            acs: Vec::new(),
            single_logout: None,
            name_id: NameIdSettings::new(),
            require_signed_requests: false,
            certificates: Vec::new(),
            custom_attributes: Vec::new(),
            idp_initiated: IdpInitiated::new(),
            clock_skew: Self::CLOCK_SKEW,
            idp_entity_id: None,
            metadata_url: None,
        }
    }

    /// The assertion consumer with exactly this URL.
    pub fn acs_by_url(&self, url: &str) -> Option<CheckedRedirect> {
        self.acs
            .iter()
            .find(|acs| acs.url.as_str() == url)
            .map(|acs| acs.url.checked())
    }

    /// The assertion consumer with this index.
    pub fn acs_by_index(&self, index: u16) -> Option<CheckedRedirect> {
        self.acs
            .iter()
            .find(|acs| acs.index == index)
            .map(|acs| acs.url.checked())
    }

    /// The one for requests that name none: the default one, else the first (SAML metadata section 2.2.3).
    pub fn default_acs(&self) -> Option<CheckedRedirect> {
        self.acs
            .iter()
            .find(|acs| acs.default)
            .or_else(|| self.acs.first())
            .map(|acs| acs.url.checked())
    }
}

/// Where a service provider takes responses, by HTTP POST (SAML metadata section 2.4.4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AssertionConsumer {
    /// Its address.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub url: RedirectUri,
    /// Its number among them, which a request may name.
    pub index: u16,
    /// Whether it is the one for requests that name none.
    pub default: bool,
}

/// Where a service provider takes part in single logout (SAML metadata section 2.4.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SingleLogout {
    /// Where requests go.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub url: RedirectUri,
    /// Where responses go, if that is elsewhere.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub response_url: Option<RedirectUri>,
    /// How they travel.
    pub binding: Binding,
}

impl SingleLogout {
    /// Where responses go.
    pub fn responses(&self) -> &RedirectUri {
        self.response_url.as_ref().unwrap_or(&self.url)
    }
}

/// How a message travels through the browser (SAML bindings sections 3.4 and 3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Binding {
    /// In the query of an address.
    Redirect,
    /// In a form.
    Post,
}

impl Binding {
    /// Its URI.
    pub const fn uri(self) -> &'static str {
        match self {
            Self::Redirect => "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect",
            Self::Post => "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST",
        }
    }
}

/// A form of name for a person (SAML core section 8.3), of those that the specification has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum NameIdFormat {
    /// An e-mail address.
    #[default]
    EmailAddress,
    /// The same opaque text at each sign-on, and another for each service provider.
    Persistent,
    /// An opaque text that is good for one session.
    Transient,
    /// Whatever the two parties agreed on.
    Unspecified,
}

impl NameIdFormat {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::EmailAddress,
        Self::Persistent,
        Self::Transient,
        Self::Unspecified,
    ];

    /// Its URI.
    pub const fn uri(self) -> &'static str {
        match self {
            Self::EmailAddress => "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress",
            Self::Persistent => "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
            Self::Transient => "urn:oasis:names:tc:SAML:2.0:nameid-format:transient",
            Self::Unspecified => "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified",
        }
    }

    /// The format with this URI.
    pub fn from_uri(uri: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.uri() == uri)
    }
}

/// Which name is told in the formats that are not opaque.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum NameIdSource {
    /// The user's e-mail address.
    #[default]
    UserEmail,
    /// The name of the user's account in the application.
    AccountName,
}

/// How a service provider is told who somebody is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameIdSettings {
    /// The format for requests that name none.
    pub default: NameIdFormat,
    /// What else a request may ask for. The default one is never in it.
    pub others: BTreeSet<NameIdFormat>,
    /// What is told in the formats that are not opaque.
    pub source: NameIdSource,
}

impl NameIdSettings {
    /// Those of a new application.
    pub const fn new() -> Self {
        Self {
            default: NameIdFormat::EmailAddress,
            others: BTreeSet::new(),
            source: NameIdSource::UserEmail,
        }
    }

    /// The formats that are configured, the default one first.
    pub fn formats(&self) -> impl Iterator<Item = NameIdFormat> {
        std::iter::once(self.default).chain(
            self.others
                .iter()
                .copied()
                .filter(|format| *format != self.default),
        )
    }

    /// The format of a request that asks for this one, if it may have it. `unspecified` leaves the choice to this host
    /// (SAML core section 3.4.1.1), unless it is configured itself.
    pub fn asked(&self, uri: &str) -> Option<NameIdFormat> {
        match NameIdFormat::from_uri(uri)? {
            NameIdFormat::Unspecified if !self.others.contains(&NameIdFormat::Unspecified) => {
                Some(self.default)
            }
            format => self.formats().find(|configured| *configured == format),
        }
    }
}

/// A certificate that a service provider signs with. Only its key counts: who gave it to the administrator vouches for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartnerCertificate {
    /// The certificate in PEM form.
    pub pem: String,
}

/// An attribute that an administrator wants in each assertion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CustomAttribute {
    /// `Name`.
    pub name: String,
    /// Its values; the plugin that adds them says what they may stand for.
    pub values: Vec<String>,
}

/// Sign-on that begins at this host (SAML profiles section 4.1.5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdpInitiated {
    /// Whether there is any.
    pub enabled: bool,
    /// What is sent as RelayState where nothing was chosen.
    #[serde(default)]
    pub relay_state: Option<String>,
    /// What else a link may choose as RelayState.
    #[serde(default)]
    pub relay_states: Vec<String>,
}

impl Default for IdpInitiated {
    fn default() -> Self {
        Self::new()
    }
}

impl IdpInitiated {
    const fn new() -> Self {
        Self {
            enabled: true,
            relay_state: None,
            relay_states: Vec::new(),
        }
    }

    /// The RelayState for a link that asks for this one; `Err` if it may not.
    pub fn chosen(&self, asked: Option<&str>) -> Result<Option<String>, UnknownRelayState> {
        match asked {
            None => Ok(self.relay_state.clone()),
            Some(asked) => {
                let known = self
                    .relay_state
                    .iter()
                    .chain(&self.relay_states)
                    .any(|known| known == asked);
                if known {
                    Ok(Some(asked.to_owned()))
                } else {
                    Err(UnknownRelayState)
                }
            }
        }
    }
}

/// A link asks for a RelayState that is not registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the RelayState of the link is not registered for this application")]
pub struct UnknownRelayState;

/// A person's name as a service provider is told it (SAML core section 2.2.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameId {
    /// Its format.
    pub format: NameIdFormat,
    /// Its text.
    pub value: String,
}

/// A checked request for sign-on (SAML core section 3.4.1), or one that began here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignOnRequest {
    /// The service provider.
    pub application: Did,
    /// Where the response goes.
    pub acs: CheckedRedirect,
    /// The `ID` of the AuthnRequest; none where the sign-on began here.
    pub in_response_to: Option<String>,
    /// Given back as it came.
    pub relay_state: Option<String>,
    /// `ForceAuthn`: an old session is not enough.
    pub fresh_login: bool,
    /// `IsPassive`: no page may be shown.
    pub passive: bool,
    /// The format of the name that the person gets.
    pub name_id_format: NameIdFormat,
    /// `Subject`: nobody else will do.
    pub subject: Option<RequestedSubject>,
    /// The name to start with.
    pub login_hint: Option<LoginName>,
    /// `RequestedAuthnContext` is not met by a vendor's word.
    #[serde(default)]
    pub needs_device: bool,
    /// The assertion names the class `unspecified`, because `RequestedAuthnContext` requests it.
    #[serde(default)]
    pub unspecified_context: bool,
    /// What it is for.
    #[serde(default, skip_serializing_if = "SignInPurpose::is_application")]
    pub purpose: SignInPurpose,
}

/// Whom an AuthnRequest asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedSubject {
    /// The format of the name; none where any will do.
    pub format: Option<String>,
    /// The name.
    pub value: String,
}

/// A checked request that waits for the browser to come with its cookies.
#[derive(Clone, Debug)]
pub struct PendingSignOn {
    /// The row's id; it stands in the address that the browser is sent to.
    pub id: SignOnId,
    /// The request.
    pub request: SignOnRequest,
    /// Until when the browser may come.
    pub expires_at: Timestamp,
}

/// A message that counts once, and how long another with its `ID` is known to be a replay.
#[derive(Clone, Copy, Debug)]
pub struct MessageClaim {
    /// Tells the service provider's message from all others.
    pub digest: Digest,
    /// Until when it is remembered: as long as its `IssueInstant` would do.
    pub until: Timestamp,
}

/// A service provider's part in a session: what it was told, by which it will speak of the session again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Participation {
    /// The session's `sid`.
    pub sid: String,
    /// The service provider.
    pub application: Did,
    /// The person.
    pub user_id: UserId,
    /// What it calls the person.
    pub name_id: NameId,
    /// The digest of its `SessionIndex`: the index itself proves to an unsigned LogoutRequest that its sender knows the session.
    pub session_index: Digest,
}

/// A key that a service provider's responses are signed with.
#[derive(Clone)]
pub struct SamlKey {
    /// The row's id.
    pub id: KeyId,
    /// The service provider.
    pub application: Did,
    /// Counts the service provider's keys.
    pub generation: i64,
    /// The PKCS #8 private key, sealed with the master key: base64.
    pub sealed: String,
    /// Its certificate in PEM form.
    pub certificate: String,
    /// When it was published.
    pub created_at: Timestamp,
    /// When it begins to sign, and the one before it ends to.
    pub signs_from: Timestamp,
    /// When the certificate ends.
    pub expires_at: Timestamp,
}

/// Without the key.
impl std::fmt::Debug for SamlKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SamlKey")
            .field("id", &self.id)
            .field("generation", &self.generation)
            .finish_non_exhaustive()
    }
}

/// Where a key is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SamlKeyStage {
    /// It is in the metadata, and will sign.
    Published,
    /// It signs.
    Signing,
    /// It is still in the metadata, for those who look late.
    Retired,
    /// It is of no use any more.
    Over,
}

/// How long a key that signs no more stays in the metadata.
pub const RETIRED: Duration = Duration::from_secs(2 * 24 * 60 * 60);

/// The keys of one service provider, each with its stage, the latest first. One signs at any time: if the clock was set
/// back to before all of them, the earliest does.
pub fn stages(mut keys: Vec<SamlKey>, now: Timestamp) -> Vec<(SamlKey, SamlKeyStage)> {
    keys.sort_by_key(|key| std::cmp::Reverse(key.generation));
    let signing = keys
        .iter()
        .position(|key| key.signs_from <= now)
        .unwrap_or(keys.len().saturating_sub(1));
    let mut next_from = None;
    let mut staged = Vec::with_capacity(keys.len());
    for (place, key) in keys.into_iter().enumerate() {
        let from = key.signs_from;
        let stage = match place.cmp(&signing) {
            std::cmp::Ordering::Less => SamlKeyStage::Published,
            std::cmp::Ordering::Equal => SamlKeyStage::Signing,
            std::cmp::Ordering::Greater
                if next_from.is_some_and(|next: Timestamp| now < next + RETIRED) =>
            {
                SamlKeyStage::Retired
            }
            std::cmp::Ordering::Greater => SamlKeyStage::Over,
        };
        next_from = Some(from);
        staged.push((key, stage));
    }
    staged
}

/// What is left to do of a session that has ended: its service providers can only be told by the browser that held it.
#[derive(Clone, Debug, Default)]
pub struct SessionEnd {
    /// The service providers that took part.
    pub participants: Vec<Participation>,
    /// The cookies that show a browser to be the one.
    pub holders: Vec<Holder>,
}

/// A browser that held a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Holder {
    /// The session's `sid`.
    pub sid: String,
    /// The digest of a cookie of the browser, as text.
    pub cookie: String,
}

impl SessionEnd {
    /// Lets the browser whose cookie has this digest tell all of them: it has just shown that it holds the session.
    pub fn held_by(mut self, cookie: Digest) -> Self {
        let sids: BTreeSet<&String> = self
            .participants
            .iter()
            .map(|participant| &participant.sid)
            .collect();
        self.holders = sids
            .into_iter()
            .map(|sid| Holder {
                sid: sid.clone(),
                cookie: cookie.to_text(),
            })
            .collect();
        self
    }
}

/// A logout whose service providers are told one after the other.
#[derive(Clone, Debug)]
pub struct Logout {
    /// The row's id; it stands in the address of its page.
    pub id: LogoutId,
    /// The browsers that may tell them.
    pub holders: Vec<Holder>,
    /// What the browser does when all were told.
    pub afterwards: Afterwards,
    /// Until when it can be gone on with.
    pub expires_at: Timestamp,
}

/// What the browser does when all were told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Afterwards {
    /// It is shown the page that says that they are signed out.
    Page,
    /// It goes to a registered address of an OpenID Connect client.
    Redirect {
        /// The address.
        redirect: CheckedRedirect,
        /// Goes along.
        state: Option<String>,
    },
    /// The service provider that asked is answered.
    Respond(LogoutAnswer),
}

/// Where a LogoutResponse goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogoutAnswer {
    /// The service provider.
    pub application: Did,
    /// Its address.
    pub destination: CheckedRedirect,
    /// How it travels.
    pub binding: Binding,
    /// The `ID` of the LogoutRequest.
    pub in_response_to: String,
    /// Given back as it came.
    pub relay_state: Option<String>,
}

/// A service provider that is to be told of a logout.
#[derive(Clone, Debug)]
pub struct LogoutTurn {
    /// The `ID` of the LogoutRequest.
    pub request: String,
    /// Whom it tells.
    pub application: Did,
    /// The `sid` of the session that ended.
    pub sid: String,
    /// What the service provider calls the person.
    pub name_id: NameId,
    /// When it was sent.
    pub asked_at: Option<Timestamp>,
    /// What came of it.
    pub outcome: Option<LogoutOutcome>,
}

/// What came of telling a service provider of a logout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogoutOutcome {
    /// It ended its session.
    Told,
    /// It did not, or did not answer in time.
    Failed,
}
