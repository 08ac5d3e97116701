//! Plugins: sandboxed components that suggest claims and carry approval requests.
//!
//! A plugin only suggests or carries; the host keeps every promise of the protocol. Each call runs in an instance of
//! its own, with limits on work, time, memory and output, and each plugin has its own queue. So no plugin can harm a
//! call of another one. No other crate depends on the engine.

mod admission;
mod approval;
mod bindings;
mod breaker;
mod call;
mod candidate;
mod claims;
mod compiled;
mod compiler;
mod component_check;
mod contract;
mod contracts;
mod description;
pub mod egress;
mod engine;
mod fault;
mod load;
mod loaded;
mod log_limit;
mod log_line;
mod meter;
mod metrics;
mod names;
mod plugin_egress;
mod plugins;
mod protected;
mod script;
mod set;
mod share;
mod sink;
mod smoke_test;
mod spec;
mod turns;
mod usage;
mod workbench;
mod world;

pub use approval::{
    Callback, CallbackContent, ChannelFailure, ChannelFailureKind, ChannelInfo, ChannelRequest,
    ChannelState, Evidence, Notice, Question, StartedRequest,
};
pub use candidate::{Candidate, CandidateError};
pub use claims::{
    ClaimInput, MapFailure, MapFailureKind, MappedClaims, MapperRun, MapperRunEnd, Protocol,
    RequestedClaim, SamlAttribute, TracedChange, ValueType,
};
pub use compiled::{CompilationCache, check_compiled_folder};
pub use compiler::{COMPILE, Compiler, compile_plugin};
pub use description::{Description, Inspection, PluginIdentity};
pub use fault::{Fault, LoadError};
pub use load::Loader;
pub use loaded::PluginGrant;
pub use log_line::{Journal, LogLine, one_line};
pub use meter::{PluginMetrics, Quantiles};
pub use plugins::{PluginStatus, Plugins};
pub use protected::{PROTECTED, is_protected};
pub use script::{Script, ScriptedError, ScriptedMethod, ScriptedRequest, ScriptedResponse};
pub use set::{PluginSet, PluginSetId};
pub use sink::Sink;
pub use spec::{
    CallLimits, Credential, CredentialGrant, Credentials, HttpGrant, NoCredentials, OnFailure,
    PluginSpec, Role, Trust,
};
pub use usage::Usage;
pub use workbench::{ChannelUnderTest, MapperUnderTest, MeasuredOutcome, Workbench, inspect};
pub use world::World;

#[cfg(test)]
mod tests;
