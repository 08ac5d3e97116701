//! The token or code that an application's request presents. One statement reads its state and the application.

use std::sync::Arc;

use super::state::{ClientTokenState, FamilyState};
use super::state_rows::CallerRow;
use crate::engine::rows::epoch_number;
use crate::{Result, Store};
use assent_model::application::{Application, RegisteredApplication};
use assent_model::id::{Did, FamilyId, TokenId};
use assent_model::token::CodeGrant;

/// The name of a token or code in the database.
#[derive(Clone, Debug)]
pub enum PresentedKey {
    /// An authorization code.
    Code(FamilyId),
    /// A refresh token, or an access token with its own id.
    Family(FamilyId, Option<TokenId>),
    /// An application's own access token.
    Application(Did, TokenId),
}

/// The state of a token or code. Without a row it is `None`.
#[derive(Clone, Debug)]
pub enum PresentedState {
    /// An authorization code, used or not.
    Code(Option<Box<CodeGrant>>),
    /// A refresh token, or an access token of a family.
    Family(Option<FamilyState>),
    /// An application's own access token.
    Application(Option<ClientTokenState>),
}

impl Store {
    /// The state of a token or code.
    pub async fn presented(&self, key: &PresentedKey) -> Result<PresentedState> {
        Ok(self.presented_by(String::new(), key).await?.0)
    }

    /// The state of a token or code, and the client that presents it with the epoch in which tokens are issued now.
    pub async fn presented_with_client(
        &self,
        client: &Did,
        key: &PresentedKey,
    ) -> Result<(Option<(Arc<Application>, u32)>, PresentedState)> {
        let (state, caller) = self.presented_by(client.to_string(), key).await?;
        let client = match caller {
            Some(row) => self.caller(client, &row).await?,
            // No row has a place for the client. The second statement reveals that there is no such token or code, but
            // only to a caller who guessed the random part of its id.
            None => self.client_in_epoch(client).await?,
        };
        Ok((client, state))
    }

    async fn presented_by(
        &self,
        caller: String,
        key: &PresentedKey,
    ) -> Result<(PresentedState, Option<CallerRow>)> {
        Ok(match key {
            PresentedKey::Code(id) => {
                let found = self.lookups.codes.call((id.to_string(), caller)).await?;
                let (grant, caller) = found.map(|code| (code.grant, code.caller)).unzip();
                (PresentedState::Code(grant), caller)
            }
            PresentedKey::Family(family, token) => {
                let found = self.family_state_for(*family, *token, caller).await?;
                let (state, caller) = found.unzip();
                (PresentedState::Family(state), caller)
            }
            PresentedKey::Application(application, token) => {
                let found = self.client_token_state_for(application, *token, caller);
                let (state, caller) = found.await?.unzip();
                (PresentedState::Application(state), caller)
            }
        })
    }

    /// The client of a row, if the database has it.
    async fn caller(&self, id: &Did, row: &CallerRow) -> Result<Option<(Arc<Application>, u32)>> {
        let (Some(version), Some(updated_at)) = (row.caller_version, row.caller_updated_at) else {
            return Ok(None);
        };
        let epoch = epoch_number(row.epoch)?;
        let found = self.registered_version(id, (version, updated_at)).await?;
        Ok(found
            .and_then(RegisteredApplication::client)
            .map(|client| (client, epoch)))
    }
}
