//! The promises of the contracts: a released contract does not change, and the server supports two versions at once.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use super::call::state::CallState;
use super::call::{Runner, fresh};
use super::claims::{ClaimInput, Edit, MapError};
use super::contract::{
    CallFuture, ContractVersion, DescribedComponent, LinkedComponent, MapperComponent,
};
use super::*;
use assent_model::clock::Timestamp;
use assent_model::id::Did;

/// `assent:claims@2.0.0`, which only this test supports.
mod next {
    use wasmtime::component::{Component, HasSelf, Linker};

    use super::*;

    #[allow(unsafe_code, missing_docs, clippy::all, reason = "generated code")]
    mod bindings {
        wasmtime::component::bindgen!({
            path: ["../../wit/host@1.0.0", "../../tests/wit/claims@2.0.0"],
            world: "assent:claims/claim-mapper",
            exports: { default: async },
            with: { "assent:host": crate::bindings::approval::assent::host },
        });
    }

    pub(super) const VERSION: ContractVersion = ContractVersion {
        world: World::ClaimMapper,
        version: "2.0.0",
        imports: &["assent:host/log@1.0.0"],
        link,
    };

    fn link(component: &Component) -> wasmtime::Result<LinkedComponent> {
        let mut linker = Linker::<CallState>::new(component.engine());
        crate::bindings::approval::assent::host::log::add_to_linker::<_, HasSelf<CallState>>(
            &mut linker,
            |call| call,
        )?;
        Ok(LinkedComponent::Mapper(Box::new(V2(
            bindings::ClaimMapperPre::new(linker.instantiate_pre(component)?)?,
        ))))
    }

    struct V2(bindings::ClaimMapperPre<CallState>);

    impl DescribedComponent for V2 {
        fn describe<'a>(&'a self, runner: &'a Runner) -> CallFuture<'a, String> {
            Box::pin(async move { fresh!(runner, self.0, assent_claims_mapper.call_describe) })
        }

        fn validate<'a>(
            &'a self,
            runner: &'a Runner,
            config: &'a str,
        ) -> CallFuture<'a, Result<(), Vec<String>>> {
            Box::pin(
                async move { fresh!(runner, self.0, assent_claims_mapper.call_validate, config) },
            )
        }
    }

    impl MapperComponent for V2 {
        fn map<'a>(
            &'a self,
            runner: &'a Runner,
            input: &'a ClaimInput,
            current: &'a str,
            config: &'a str,
        ) -> CallFuture<'a, Result<Vec<Edit>, MapError>> {
            Box::pin(async move {
                let person = bindings::exports::assent::claims::mapper::Person {
                    roles: input.roles.clone(),
                    claims: current.to_owned(),
                };
                fresh!(
                    runner,
                    self.0,
                    assent_claims_mapper.call_map_claims,
                    &person,
                    config
                )
                .map(|answer| match answer {
                    Ok(claims) => Ok(claims
                        .into_iter()
                        .map(|(name, json)| Edit::Set(name, json))
                        .collect()),
                    Err(reason) => Err(MapError::Fault(reason)),
                })
            })
        }
    }
}

fn component(name: &str) -> PathBuf {
    // This binary is `<target>/<profile>/deps/assent-...`.
    let binary = std::env::current_exe().expect("this binary");
    let file = binary
        .ancestors()
        .nth(3)
        .expect("the target folder")
        .join("plugins")
        .join(name)
        .with_extension("wasm");
    assert!(
        file.is_file(),
        "{} is missing; run `make test`, or `assent-plugin build tests/plugins/* plugins/*`",
        file.display()
    );
    file
}

fn mapper(name: &str, writes: &str) -> PluginSpec {
    PluginSpec {
        name: name.to_owned(),
        file: component(name),
        sha256: None,
        config: json!({}),
        role: Role::ClaimMapper {
            applications: None,
            writes: vec![writes.to_owned()],
            on_failure: OnFailure::Fail,
            result_max_age: Duration::ZERO,
        },
        limits: CallLimits::default(),
    }
}

fn input() -> ClaimInput {
    let application_id = Did::from_ed25519(&[1; 32]);
    ClaimInput {
        protocol: Protocol::Oidc,
        sink: Sink::IdToken,
        now: Timestamp::from_seconds(1_800_000_000),
        application: json!({ "id": application_id, "name": "Shop" }),
        application_id,
        account: json!({ "name": "ada" }),
        user: json!({ "name": "ada" }),
        roles: vec!["admin".to_owned()],
        scopes: vec!["openid".to_owned(), "profile".to_owned()],
        requested: Vec::new(),
        acr: None,
        amr: Vec::new(),
        claims: serde_json::Map::new(),
    }
}

#[tokio::test]
async fn two_versions_of_a_contract_are_served_in_one_chain() {
    let specs = || {
        vec![
            mapper("account-roles", "account"),
            mapper("next-mapper", "team"),
        ]
    };
    let plugins = Plugins::load(specs(), Loader::default().with_version(next::VERSION))
        .await
        .expect("both load");
    let made = plugins.map_claims(input()).await.expect("claims");
    assert_eq!(made.claims["team"]["roles"], json!(["admin"]));
    assert_eq!(
        made.claims["team"]["account"], made.claims["account"],
        "the later plugin sees the claim of the earlier plugin"
    );

    let error = Plugins::load(specs(), Loader::default())
        .await
        .err()
        .expect("this version is not served")
        .to_string();
    assert_eq!(
        error,
        "plugin `next-mapper`: it is a claim mapper for version 2.0.0 of `assent:claims`; this Assent serves version \
         1.0.0"
    );
}

/// The digests of the released contracts without comments and empty lines. A released contract must never change,
/// because the components of others depend on it. A change needs a new version in a new folder, with an adapter of its
/// own.
const RELEASED: [(&str, &str); 3] = [
    (
        "approval@1.0.0/approval.wit",
        "2130a29b5650e3413261a54d7aedd5b338d1b41843bd24030818d9c6170e49e0",
    ),
    (
        "claims@1.0.0/claims.wit",
        "05cf27d147d6900472a6e21ee4dd79ebc3b4ad0ee42468d93533154ab4246f3a",
    ),
    (
        "host@1.0.0/host.wit",
        "780b1576d7c31c11ecc1b4849e9b41219976abf4ee3bbe64bf133694b99ba1ea",
    ),
];

#[test]
fn released_contracts_are_frozen() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
    let mut found: Vec<String> = Vec::new();
    for package in std::fs::read_dir(&folder).expect("the contracts") {
        let package = package.expect("a folder");
        for file in std::fs::read_dir(package.path()).expect("a package") {
            let file = file.expect("a file").path();
            found.push(
                file.strip_prefix(&folder)
                    .expect("below")
                    .display()
                    .to_string(),
            );
        }
    }
    found.sort();
    assert_eq!(
        found,
        RELEASED.map(|(file, _)| file.to_owned()),
        "each file of a contract is recorded"
    );
    for (file, digest) in RELEASED {
        let text = std::fs::read_to_string(folder.join(file)).expect("the contract");
        let code: String = text
            .lines()
            .filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with("//"))
            .flat_map(|line| [line, "\n"])
            .collect();
        assert_eq!(
            assent_model::secret::Digest::sha256(code.as_bytes()).to_text(),
            digest,
            "{file} was released and may not change"
        );
    }
}
