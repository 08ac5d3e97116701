//! The claims of an application, as the API shows them.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::domain::admin::{
    ClaimOrigin, MapperStop, Preview, PreviewContent, PreviewedAccount, PreviewedName,
    PreviewedToken, ValueChange,
};
use crate::domain::claims::token_claims::{AtSignIn, IssuerClaims};
use crate::domain::claims::traces;
use crate::domain::claims::traces::{ExplainedAttribute, PluginCall, PluginOutcome};
use crate::domain::sign_in::access::AccessDenied;
use assent_model::id::Did;
use assent_model::scope::Scope;
use assent_plugin_host::Sink;

/// The claims that an application would receive about a user.
#[derive(Serialize, ToSchema)]
#[schema(as = ClaimsPreview)]
pub(super) struct PreviewView {
    /// The application.
    application: String,
    /// The account, if the request names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    account: Option<String>,
    /// The user, if the request names the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    user: Option<String>,
    /// The claims, by sink.
    sinks: Vec<SinkView>,
}

/// The preview for one sink: `claims` or `attributes`, unless a plugin prevents the sign-in; and in `stopped` the
/// reason if no user would be signed in.
#[derive(Serialize, ToSchema)]
#[schema(as = SinkPreview)]
struct SinkView {
    sink: Sink,
    /// The scopes in force, separated by spaces.
    scope: String,
    /// The claims of the ID token itself and of the sign-in, beside `claims`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    token: Option<TokenView>,
    /// The NameID for requests that specify no format.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    name_id: Option<NameView>,
    /// The claims, without those of the token itself, such as `exp`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    claims: Option<Map<String, Value>>,
    /// Attributes of the assertion.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    attributes: Option<Vec<ExplainedAttribute>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    stopped: Option<StoppedView>,
    /// The origin of each value, including removed ones.
    origins: Vec<OriginView>,
    /// The plugin calls, in their order.
    calls: Vec<PluginCall>,
}

/// The claims of an ID token itself and of the sign-in.
#[derive(Serialize, ToSchema)]
#[schema(as = TokenPreview)]
struct TokenView {
    /// The issuer.
    iss: String,
    /// The application.
    aud: String,
    /// The claims that the sign-in adds; `nonce` only if the request has one.
    at_sign_in: Vec<AtSignIn>,
    /// Whether the application has `slim_id_token`: then the claims of the scopes are only at UserInfo.
    slim_id_token: bool,
}

/// The NameID of an assertion.
#[derive(Serialize, ToSchema)]
#[schema(as = NameIdPreview)]
struct NameView {
    /// The URI of the format.
    format: &'static str,
    /// The text; `null` for a transient NameID, which differs for each session.
    value: Option<String>,
}

/// The reason if no user would be signed in.
#[derive(Serialize, ToSchema)]
#[schema(as = StoppedPreview)]
struct StoppedView {
    /// The plugin that prevents the sign-in; `null` for the server. A reason of the server comes first; the preview
    /// still shows the values without it.
    plugin: Option<String>,
    outcome: PluginOutcome,
    /// The reason; of the server, with the remedy.
    reason: String,
}

/// The origin of a value.
#[derive(Serialize, ToSchema)]
#[schema(as = ValueOrigin)]
struct OriginView {
    /// The claim, or the attribute's name.
    name: String,
    /// The plugin that changed it last; `null` for the server.
    plugin: Option<String>,
    change: ValueChangeView,
    /// The scope for which the server provides the claim.
    scope: Option<Scope>,
}

/// A kind of change of a value.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ValueChangeKind)]
enum ValueChangeView {
    /// The server provided it.
    Provided,
    /// A plugin added it.
    Added,
    /// A plugin put it in the place of another value.
    Replaced,
    /// A plugin removed it.
    Removed,
}

pub(super) fn view(
    application: &Did,
    account: PreviewedAccount,
    previews: Vec<Preview>,
) -> PreviewView {
    let sinks = previews.into_iter().map(sink_view).collect();
    let (account, user) = match account {
        PreviewedAccount::Stored(account) => (Some(account.to_string()), None),
        PreviewedAccount::OfUser(user) => (None, Some(user.to_string())),
    };
    PreviewView {
        application: application.to_string(),
        account,
        user,
        sinks,
    }
}

fn sink_view(preview: Preview) -> SinkView {
    let Preview {
        sink,
        scopes,
        obstacle,
        token,
        name_id,
        content,
        origins,
        steps,
    } = preview;
    let (claims, attributes, by_plugin) = match content {
        Ok(PreviewContent::Claims(claims)) => (Some(claims), None, None),
        Ok(PreviewContent::Attributes(attributes)) => (
            None,
            Some(attributes.iter().map(traces::explain_attribute).collect()),
            None,
        ),
        Err(MapperStop {
            plugin,
            denied,
            reason,
        }) => {
            let outcome = if denied {
                PluginOutcome::Denied
            } else {
                PluginOutcome::Failed
            };
            (
                None,
                None,
                Some(StoppedView {
                    plugin: Some(plugin),
                    outcome,
                    reason,
                }),
            )
        }
    };
    let stopped = obstacle.map(by_host).or(by_plugin);
    let origin = |ClaimOrigin {
                      name,
                      plugin,
                      change,
                      scope,
                  }| OriginView {
        name,
        plugin,
        change: match change {
            ValueChange::Provided => ValueChangeView::Provided,
            ValueChange::Added => ValueChangeView::Added,
            ValueChange::Replaced => ValueChangeView::Replaced,
            ValueChange::Removed => ValueChangeView::Removed,
        },
        scope,
    };
    let origins = origins.into_iter().map(origin).collect();
    SinkView {
        sink,
        scope: scopes.to_string(),
        token: token.map(token_view),
        name_id: name_id.map(|PreviewedName { format, value }| NameView {
            format: format.uri(),
            value,
        }),
        claims,
        attributes,
        stopped,
        origins,
        calls: traces::explain(&steps),
    }
}

fn token_view(
    PreviewedToken {
        known: IssuerClaims { iss, aud },
        slim,
    }: PreviewedToken,
) -> TokenView {
    TokenView {
        iss,
        aud: aud.to_string(),
        at_sign_in: AtSignIn::ALL.to_vec(),
        slim_id_token: slim,
    }
}

fn by_host(obstacle: AccessDenied) -> StoppedView {
    let outcome = if obstacle.is_decision() {
        PluginOutcome::Denied
    } else {
        PluginOutcome::Failed
    };
    StoppedView {
        plugin: None,
        outcome,
        reason: obstacle.words().to_owned(),
    }
}
