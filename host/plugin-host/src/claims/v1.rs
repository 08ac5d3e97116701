//! `assent:claims@1.0.0`.

use wasmtime::component::{Component, HasSelf, Linker};

use super::types::json_text;
use super::{ClaimInput, Edit, MapError, Protocol, SamlAttribute, ValueType};
use crate::bindings::approval::assent::host::log;
use crate::bindings::claims::ClaimMapperPre;
use crate::bindings::claims::exports::assent::claims::mapper as wit;
use crate::call::state::CallState;
use crate::call::{CallOrigin, Runner, fresh, fresh_for};
use crate::contract::{
    CallFuture, ContractVersion, DescribedComponent, LinkedComponent, MapperComponent,
};
use crate::sink::Sink;
use crate::world::World;

/// This version of the contract. Its components import only the log.
pub(crate) const VERSION: ContractVersion = ContractVersion {
    world: World::ClaimMapper,
    version: "1.0.0",
    imports: &["assent:host/log@1.0.0"],
    link,
};

fn link(component: &Component) -> wasmtime::Result<LinkedComponent> {
    let mut linker = Linker::<CallState>::new(component.engine());
    log::add_to_linker::<_, HasSelf<CallState>>(&mut linker, |call| call)?;
    Ok(LinkedComponent::Mapper(Box::new(V1(ClaimMapperPre::new(
        linker.instantiate_pre(component)?,
    )?))))
}

struct V1(ClaimMapperPre<CallState>);

impl DescribedComponent for V1 {
    fn describe<'a>(&'a self, runner: &'a Runner) -> CallFuture<'a, String> {
        Box::pin(async move { fresh!(runner, self.0, assent_claims_mapper.call_describe) })
    }

    fn validate<'a>(
        &'a self,
        runner: &'a Runner,
        config: &'a str,
    ) -> CallFuture<'a, Result<(), Vec<String>>> {
        Box::pin(async move { fresh!(runner, self.0, assent_claims_mapper.call_validate, config) })
    }
}

impl MapperComponent for V1 {
    fn map<'a>(
        &'a self,
        runner: &'a Runner,
        input: &'a ClaimInput,
        current: &'a str,
        config: &'a str,
    ) -> CallFuture<'a, Result<Vec<Edit>, MapError>> {
        Box::pin(async move {
            // The record borrows all of its content, down to each role.
            let [application, account, user] =
                [&input.application, &input.account, &input.user].map(json_text);
            let (roles, scopes, amr) = (
                borrow_texts(&input.roles),
                borrow_texts(&input.scopes),
                borrow_texts(&input.amr),
            );
            let values: Vec<Vec<String>> = input
                .requested
                .iter()
                .map(|claim| claim.values.iter().map(json_text).collect())
                .collect();
            let values: Vec<Vec<&str>> = values.iter().map(|values| borrow_texts(values)).collect();
            let requested = input.requested.iter().zip(&values);
            let requested: Vec<wit::RequestedClaim<'_>> = requested
                .map(|(claim, values)| wit::RequestedClaim {
                    name: &claim.name,
                    essential: claim.essential,
                    values,
                })
                .collect();
            let record = wit::Input {
                protocol: match input.protocol {
                    Protocol::Oidc => wit::Protocol::Oidc,
                    Protocol::Saml => wit::Protocol::Saml,
                },
                sink: match input.sink {
                    Sink::IdToken => wit::Sink::IdToken,
                    Sink::Userinfo => wit::Sink::Userinfo,
                    Sink::Introspection => wit::Sink::Introspection,
                    Sink::SamlAssertion => wit::Sink::SamlAssertion,
                },
                now: u64::try_from(input.now.seconds()).unwrap_or(0),
                application: &application,
                account: &account,
                user: &user,
                roles: &roles,
                scopes: &scopes,
                requested: &requested,
                acr: input.acr.as_deref(),
                amr: &amr,
                current,
                config,
            };
            let asker = CallOrigin::Application(&input.application_id);
            fresh_for!(
                runner,
                asker,
                self.0,
                assent_claims_mapper.call_map_claims,
                record
            )
            .map(|answer| match answer {
                Ok(edits) => Ok(edits.into_iter().map(Edit::from).collect()),
                Err(wit::Failure::Deny(reason)) => Err(MapError::Deny(reason)),
                Err(wit::Failure::Fault(reason)) => Err(MapError::Fault(reason)),
            })
        })
    }
}

fn borrow_texts(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

impl From<wit::Edit> for Edit {
    fn from(edit: wit::Edit) -> Self {
        match edit {
            wit::Edit::Set((name, json)) => Self::Set(name, json),
            wit::Edit::Remove(name) => Self::Remove(name),
            wit::Edit::Attribute(wit::SamlAttribute {
                name,
                name_format,
                friendly_name,
                value_type,
                values,
            }) => Self::Attribute(SamlAttribute {
                name,
                name_format,
                friendly_name,
                value_type: value_type.into(),
                values,
            }),
        }
    }
}

impl From<wit::ValueType> for ValueType {
    fn from(value_type: wit::ValueType) -> Self {
        match value_type {
            wit::ValueType::String => Self::String,
            wit::ValueType::Boolean => Self::Boolean,
            wit::ValueType::Integer => Self::Integer,
            wit::ValueType::DateTime => Self::DateTime,
            wit::ValueType::AnyUri => Self::AnyUri,
            wit::ValueType::Base64Binary => Self::Base64Binary,
        }
    }
}
