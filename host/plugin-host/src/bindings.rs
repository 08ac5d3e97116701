//! The bindings that are generated from `wit/`.

/// `assent:approval`, world `approval-channel`, with the interfaces of `assent:host`.
#[allow(
    unsafe_code,
    missing_docs,
    clippy::all,
    reason = "generated code; `wit/` documents it"
)]
pub(super) mod approval {
    wasmtime::component::bindgen!({
        path: ["../../wit/host@1.0.0", "../../wit/approval@1.0.0"],
        world: "assent:approval/approval-channel",
        imports: { "assent:host/http.send": async },
        exports: { default: async },
    });
}

/// `assent:approval`, world `delegated-approval-channel`.
#[allow(
    unsafe_code,
    missing_docs,
    clippy::all,
    reason = "generated code; `wit/` documents it"
)]
pub(super) mod delegated {
    wasmtime::component::bindgen!({
        path: ["../../wit/host@1.0.0", "../../wit/approval@1.0.0"],
        world: "assent:approval/delegated-approval-channel",
        exports: { default: async },
        with: { "assent:host": super::approval::assent::host },
    });
}

/// `assent:claims`.
#[allow(
    unsafe_code,
    missing_docs,
    clippy::all,
    reason = "generated code; `wit/` documents it"
)]
pub(super) mod claims {
    wasmtime::component::bindgen!({
        path: ["../../wit/host@1.0.0", "../../wit/claims@1.0.0"],
        world: "assent:claims/claim-mapper",
        // A user may have many roles. Borrowing writes each role into the plugin's memory without a copy on the host.
        ownership: Borrowing { duplicate_if_necessary: true },
        exports: { default: async },
        with: { "assent:host": super::approval::assent::host },
    });
}
