//! The bindings that are generated from `wit/`. The role macros use them; plugins use the types of the other modules.

#[cfg(feature = "claim-mapper")]
#[allow(
    unsafe_code,
    missing_docs,
    clippy::all,
    reason = "generated code; `wit/` documents it"
)]
pub mod claims {
    wit_bindgen::generate!({
        path: ["wit/host@1.0.0", "wit/claims@1.0.0"],
        world: "assent:claims/claim-mapper",
        pub_export_macro: true,
        generate_all,
    });
}

#[cfg(feature = "delegated-approval-channel")]
#[allow(
    unsafe_code,
    missing_docs,
    clippy::all,
    reason = "generated code; `wit/` documents it"
)]
pub mod delegated {
    wit_bindgen::generate!({
        path: ["wit/host@1.0.0", "wit/approval@1.0.0"],
        world: "assent:approval/delegated-approval-channel",
        pub_export_macro: true,
        generate_all,
    });
}

#[cfg(feature = "approval-channel")]
#[allow(
    unsafe_code,
    missing_docs,
    clippy::all,
    reason = "generated code; `wit/` documents it"
)]
pub mod approval {
    wit_bindgen::generate!({
        path: ["wit/host@1.0.0", "wit/approval@1.0.0"],
        world: "assent:approval/approval-channel",
        pub_export_macro: true,
        generate_all,
    });
}
