//! The description of a SAML service provider in the admin API.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::admin::custom_attributes::CustomAttributeChange;
use crate::domain::admin::documents::{ManagementView, UsageView};
use crate::domain::audit::moment_text;
use assent_model::command::removable;
use assent_model::saml::{
    AssertionConsumer, Binding, CustomAttribute, NameIdFormat, NameIdSource, SamlSettings,
    ServiceProvider, SingleLogout,
};

assent_model::resource! {
    /// A SAML service provider.
    #[derive(Serialize, ToSchema)]
    #[schema(as = ServiceProvider)]
    pub struct ServiceProviderDocument;

    /// A new service provider, or an update. A missing member leaves its value unchanged; a new service provider has
    /// the default.
    #[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
    #[serde(deny_unknown_fields)]
    pub struct ServiceProviderChange, protected ProtectedServiceProviderMembers;

    /// The identifier, a DID.
    shown id: String,
    /// The name that users see.
    protected(explained) plain name: String,
    /// Whether users can sign in to the service provider.
    protected(explained) plain enabled: bool,
    #[allow(missing_docs, reason = "with a text beside the inlined type, the schema would require an object")]
    #[schema(inline)]
    shown protocol: Saml,
    /// The SP entity ID.
    protected(explained) plain entity_id: String,
    /// The assertion consumer services.
    protected(explained) plain acs: Vec<AcsChange> => Vec<AssertionConsumer>,
    /// The single logout service; null removes it. A missing member of an existing service keeps its value.
    protected(explained) removable single_logout: SingleLogoutChange => SingleLogout,
    /// The NameID format for requests that specify none.
    protected plain name_id_format: NameIdFormat,
    /// Further NameID formats that a request may specify; null removes all.
    protected emptied other_name_id_formats: Vec<NameIdFormat>,
    /// The source of the NameID in formats that are not opaque.
    protected plain name_id_source: NameIdSource,
    /// Whether an AuthnRequest without a signature is rejected.
    protected plain require_signed_requests: bool,
    /// The signing certificates of the service provider, in PEM form; null removes all.
    protected(explained) emptied certificates: Vec<String>,
    /// Further attributes of each assertion; null removes all.
    protected emptied custom_attributes: Vec<CustomAttributeChange> => Vec<CustomAttribute>,
    /// Whether IdP-initiated sign-on is permitted.
    protected plain idp_initiated: bool,
    /// The default RelayState of an IdP-initiated sign-on; null removes it.
    protected removable default_relay_state: String,
    /// Further RelayStates that a link may specify; null removes all.
    protected emptied relay_states: Vec<String>,
    /// The tolerated clock skew.
    protected plain clock_skew_seconds: u32,
    /// The time by which the `NotBefore` of assertions is before their issue, for a service provider whose clock is
    /// behind.
    protected plain not_before_margin_seconds: u32,
    /// The entity ID of this server for this service provider; null for the issuer's URL.
    protected removable idp_entity_id: String,
    /// The URL of the metadata for later updates; null removes it.
    protected(explained) removable metadata_url: String,
    /// Whether users who agreed to it sign in with a passkey on the login page, without an approval.
    // Protected for the same reason as the setting of a client.
    protected(explained) plain passkey_sign_in: bool,
    /// The recipe of the console by which the application is connected, such as `zabbix`; null removes it. The
    /// console shows its guide.
    harmless removable recipe: String,
    /// Whether the service provider receives email addresses that are not confirmed. With `false`, such an address
    /// is neither a NameID nor in an attribute.
    protected(explained) plain unconfirmed_email: bool,
    /// When it was created.
    #[schema(format = DateTime)]
    shown created_at: String,
    /// When it was last changed.
    #[schema(format = DateTime)]
    shown updated_at: String,
    /// Warnings about the stored service provider: parts that the import omitted, and settings without effect. Only
    /// responses to a change have them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    shown notes: Vec<String>,
    /// How it is used. Only lists have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    shown usage: Option<UsageView>,
    /// The manifest that manages it. Lists and the responses to POST and PATCH lack it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    shown managed_by: Option<ManagementView>,
}

/// The protocol of a SAML service provider.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Saml {
    /// SAML 2.0.
    Saml,
}

/// An assertion consumer service.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object such as {\"url\": \"https://app.example.org/acs\"}"
)]
pub struct AcsChange {
    /// The URL of the service.
    pub url: String,
    /// The index of the service; by default its position in the list.
    #[serde(default)]
    pub index: Option<u16>,
    /// Whether the service is the default for requests that specify none.
    #[serde(default)]
    pub default: bool,
}

/// A single logout service, or an update of one. A missing member leaves its value unchanged; a new service needs `url`
/// and `binding`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "an object such as {\"url\": \"https://app.example.org/slo\", \"binding\": \"redirect\"}"
)]
pub struct SingleLogoutChange {
    /// The URL of requests.
    #[serde(deserialize_with = "removable")]
    #[schema(value_type = Option<String>, nullable = false)]
    pub url: Option<Option<String>>,
    /// The URL of responses, if it differs; null removes it.
    #[serde(deserialize_with = "removable")]
    pub response_url: Option<Option<String>>,
    /// The binding of the messages.
    #[serde(deserialize_with = "removable")]
    #[schema(value_type = Option<Binding>, nullable = false)]
    pub binding: Option<Option<Binding>>,
}

impl ServiceProviderDocument {
    /// Describes a service provider as it is stored.
    pub fn new(provider: &ServiceProvider) -> Self {
        // Each setting has a member.
        let SamlSettings {
            enabled,
            entity_id,
            acs,
            single_logout,
            name_id,
            require_signed_requests,
            certificates,
            custom_attributes,
            idp_initiated,
            clock_skew,
            not_before_margin,
            idp_entity_id,
            metadata_url,
            passkey_sign_in,
            recipe,
            unconfirmed_email,
        } = &provider.settings;
        Self {
            id: provider.id.to_string(),
            name: provider.name.clone(),
            enabled: *enabled,
            protocol: Saml::Saml,
            entity_id: entity_id.clone(),
            acs: acs.clone(),
            single_logout: single_logout.clone(),
            name_id_format: name_id.default,
            other_name_id_formats: name_id.formats().skip(1).collect(),
            name_id_source: name_id.source,
            require_signed_requests: *require_signed_requests,
            certificates: certificates.iter().map(|one| one.pem.clone()).collect(),
            custom_attributes: custom_attributes.clone(),
            idp_initiated: idp_initiated.enabled,
            default_relay_state: idp_initiated.relay_state.clone(),
            relay_states: idp_initiated.relay_states.clone(),
            clock_skew_seconds: *clock_skew,
            not_before_margin_seconds: *not_before_margin,
            idp_entity_id: idp_entity_id.clone(),
            metadata_url: metadata_url.as_ref().map(ToString::to_string),
            passkey_sign_in: *passkey_sign_in,
            recipe: recipe.clone(),
            unconfirmed_email: *unconfirmed_email,
            created_at: moment_text(provider.created_at),
            updated_at: moment_text(provider.updated_at),
            notes: Vec::new(),
            usage: None,
            managed_by: None,
        }
    }
}
