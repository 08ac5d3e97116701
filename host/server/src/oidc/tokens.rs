//! Access and refresh tokens that clients present: opened, and compared with the database.

use crate::domain::{InternalError, Services};
use crate::keys::OpenedToken;
use assent_model::clock::Timestamp;
use assent_model::id::FamilyId;
use assent_model::secret::Token;
use assent_model::token::{AccessGrant, CodeGrant, RefreshGrant, TokenSource, prefix};
use assent_store::{FamilyState, PresentedKey, PresentedState};

/// A valid access token. Whether its user may still use the application is not checked.
#[derive(Clone, Debug)]
pub struct ValidAccess {
    /// The grant of the token.
    pub grant: AccessGrant,
    /// Its family; `None` for an application's own token.
    pub family: Option<FamilyState>,
}

/// A refresh token of a family that is not revoked. The token may be used or expired.
#[derive(Clone, Debug)]
pub struct OpenRefresh {
    /// The grant of the token.
    pub grant: RefreshGrant,
    /// Its family.
    pub state: FamilyState,
}

impl OpenRefresh {
    /// Whether it can be used at `now`.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.grant.counter == self.state.counter && self.grant.expires_at > now
    }
}

/// The text of a token or of an authorization code in an application's form. The database determines whether it is
/// valid.
#[derive(Debug)]
pub enum PresentedText {
    /// An authorization code.
    Code(Token),
    /// An access token.
    Access(OpenedToken<AccessGrant>),
    /// A refresh token.
    Refresh(OpenedToken<RefreshGrant>),
}

impl PresentedText {
    /// Returns the authorization code in this text.
    pub fn code(text: &str) -> Option<Self> {
        Token::parse(prefix::CODE, text).map(Self::Code)
    }

    /// Returns the refresh token in this text. `None` if this installation did not issue it.
    pub fn refresh(services: &Services, text: &str) -> Option<Self> {
        services.token_sealer.open_refresh(text).map(Self::Refresh)
    }

    /// Returns the access token in this text. `None` if this installation did not issue it, or it has expired.
    pub fn access(services: &Services, text: &str) -> Option<Self> {
        let token = services.token_sealer.open_access(text)?;
        (token.grant.expires_at > services.now()).then_some(Self::Access(token))
    }

    /// Returns the access or refresh token in this text.
    pub fn token(services: &Services, text: &str) -> Option<Self> {
        Self::access(services, text).or_else(|| Self::refresh(services, text))
    }

    /// The key of its state in the database.
    pub fn key(&self) -> PresentedKey {
        match self {
            Self::Code(token) => PresentedKey::Code(FamilyId::from_bytes(token.id())),
            Self::Access(token) => match token.grant.source {
                TokenSource::Application { .. } => {
                    PresentedKey::Application(token.grant.application.clone(), token.grant.id)
                }
                TokenSource::Family(source) => {
                    PresentedKey::Family(source.family, Some(token.grant.id))
                }
            },
            Self::Refresh(token) => PresentedKey::Family(token.grant.family, None),
        }
    }
}

/// What an application's form presents, with its state, which was read after the request arrived.
#[derive(Debug)]
pub struct Presented {
    /// The token or code.
    pub text: PresentedText,
    /// The state.
    pub state: PresentedState,
}

impl Presented {
    /// Reads the state.
    pub async fn read(services: &Services, text: PresentedText) -> Result<Self, InternalError> {
        let state = services.store.presented(&text.key()).await?;
        Ok(Self { text, state })
    }

    /// Returns the authorization code with its grant, if it is one that was issued.
    pub fn into_code(self) -> Option<CodeGrant> {
        match (self.text, self.state) {
            (PresentedText::Code(token), PresentedState::Code(Some(grant))) => {
                Some(*grant).filter(|grant| grant.digest == token.digest())
            }
            _ => None,
        }
    }

    /// Returns the grant of an access token, if it is valid. Its first use after a refresh is recorded before this
    /// returns.
    pub async fn into_valid_access(
        self,
        services: &Services,
    ) -> Result<Option<ValidAccess>, InternalError> {
        let PresentedText::Access(OpenedToken { grant, epoch }) = self.text else {
            return Ok(None);
        };
        let now = services.now();
        if grant.expires_at <= now {
            return Ok(None);
        }
        match (grant.source, self.state) {
            (TokenSource::Application { version }, PresentedState::Application(Some(state))) => {
                // The database lost a version that it does not have: it was restored, or failed over, since then.
                let valid = !state.token_is_revoked
                    && state.epoch == epoch
                    && state.version >= version
                    && grant.issued_at.seconds() >= state.grants_not_before.seconds();
                Ok(valid.then_some(ValidAccess {
                    grant,
                    family: None,
                }))
            }
            (TokenSource::Family(source), PresentedState::Family(Some(state)))
                if is_open(&state, epoch) =>
            {
                let first_use = source.track_use_until.is_some_and(|until| now < until)
                    && source.counter == state.counter
                    && state.used_counter < source.counter;
                // This is recorded before the response, because a client that used the token must have received the
                // response of the refresh.
                let recorded = !first_use
                    || services
                        .store
                        .record_token_use(source.family, source.counter)
                        .await?;
                let state = match recorded {
                    true => Some(state),
                    // Another use came first, or a retry replaced the token in between.
                    false => services
                        .store
                        .family_state(source.family, Some(grant.id))
                        .await?
                        .filter(|state| is_open(state, epoch)),
                };
                Ok(state.map(|state| ValidAccess {
                    grant,
                    family: Some(state),
                }))
            }
            _ => Ok(None),
        }
    }

    /// Returns the grant of a refresh token, unless its family is revoked or unknown.
    pub fn into_open_refresh(self) -> Option<OpenRefresh> {
        match (self.text, self.state) {
            (PresentedText::Refresh(token), PresentedState::Family(Some(state)))
                if state.is_open && state.epoch == token.epoch =>
            {
                Some(OpenRefresh {
                    grant: token.grant,
                    state,
                })
            }
            _ => None,
        }
    }
}

/// Whether neither an access token of this epoch nor its family is revoked.
fn is_open(state: &FamilyState, epoch: u32) -> bool {
    state.is_open && state.is_in_session && !state.token_is_revoked && state.epoch == epoch
}
