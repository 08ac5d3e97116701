//! The operations of the authenticator API: handler, description and errors in one place.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use utoipa_axum::router::UtoipaMethodRouter;
use utoipa_axum::routes;

use crate::domain::Services;
use crate::domain::operations::traffic::rate_limits::keys::Network;
use crate::http::devices::device_api_error::{DeviceApiError, UnauthenticatedCaller};
use crate::http::devices::error_code::ErrorCode;
use crate::http::devices::{device, enrolments, history, own_devices, passkeys, requests};
use crate::http::fetch_metadata::is_cross_site;
use crate::http::operations::rate_limits;
use crate::http::sign_in::{device_authorization, qr_sign_in};

/// An operation with its errors.
pub(super) struct DeviceOperation {
    /// The handler with its description.
    pub(super) described: UtoipaMethodRouter<Arc<Services>, Infallible>,
    /// Whether an enrolled device signs the call.
    pub(super) is_signed: bool,
    /// The errors of this operation, without the common errors of all operations.
    pub(super) errors: &'static [ErrorCode],
}

/// An operation that an enrolled device signs.
const fn signed(
    described: UtoipaMethodRouter<Arc<Services>, Infallible>,
    errors: &'static [ErrorCode],
) -> DeviceOperation {
    DeviceOperation {
        described,
        is_signed: true,
        errors,
    }
}

/// An operation before the device is enrolled.
const fn unsigned(
    described: UtoipaMethodRouter<Arc<Services>, Infallible>,
    errors: &'static [ErrorCode],
) -> DeviceOperation {
    DeviceOperation {
        described,
        is_signed: false,
        errors,
    }
}

/// All operations.
pub(super) fn operations() -> Vec<DeviceOperation> {
    use ErrorCode as E;
    vec![
        unsigned(routes!(enrolments::preview), LINK_ERRORS),
        unsigned(
            routes!(enrolments::enrol),
            &[
                E::LinkDamaged,
                E::LinkNotFound,
                E::LinkUsed,
                E::LinkExpired,
                E::LinkWithdrawn,
                E::InvalidProof,
                E::InvalidName,
                E::TooManyDevices,
                E::KeyInUse,
            ],
        ),
        signed(routes!(requests::list), &[]),
        signed(
            routes!(requests::decide),
            &[
                E::RequestNotFound,
                E::AlreadyDecided,
                E::Expired,
                E::InvalidProof,
                E::NumberMismatch,
                E::OtherBrowser,
                E::PasskeyRequired,
                E::InvalidPasskey,
                E::PasskeyMissing,
            ],
        ),
        signed(routes!(requests::lift_cooldown), &[]),
        signed(routes!(history::list), &[]),
        signed(routes!(qr_sign_in::preview), &[E::SignInNotFound]),
        signed(
            routes!(qr_sign_in::scan),
            &[E::SignInNotFound, E::UserInactive, E::TooManySignIns],
        ),
        signed(
            routes!(device_authorization::enter),
            &[
                E::UserCodeNotFound,
                E::UserInactive,
                E::NoAccess,
                E::TooManyCalls,
            ],
        ),
        signed(routes!(own_devices::list), &[]),
        signed(
            routes!(own_devices::rename),
            &[E::DeviceNotFound, E::InvalidName, E::TooManyCalls],
        ),
        signed(
            routes!(own_devices::revoke),
            &[E::DeviceNotFound, E::PasskeyRequired, E::InvalidPasskey],
        ),
        signed(routes!(own_devices::enrolment_link), CREATION_ERRORS),
        signed(routes!(own_devices::recovery_codes), CREATION_ERRORS),
        signed(
            routes!(own_devices::confirm_recovery_codes),
            &[E::RecoveryCodesNotFound],
        ),
        signed(routes!(own_devices::notifications_read), &[]),
        signed(routes!(device::set_push), &[E::InvalidSubscription]),
        signed(
            routes!(passkeys::offer),
            &[E::PasskeyExists, E::PasskeysUnsupported],
        ),
        signed(
            routes!(passkeys::add),
            &[E::InvalidPasskey, E::PasskeyExists],
        ),
        signed(
            routes!(passkeys::allow_sign_in),
            &[
                E::PasskeyRequired,
                E::InvalidPasskey,
                E::PasskeysUnsupported,
            ],
        ),
        signed(
            routes!(passkeys::add_for_sign_in),
            &[E::InvalidPasskey, E::PasskeyExists],
        ),
        signed(routes!(passkeys::stop_sign_in), &[]),
        signed(
            routes!(passkeys::remove),
            &[E::PasskeyRequired, E::InvalidPasskey],
        ),
        signed(routes!(device::remove), &[]),
    ]
}

/// The errors of an enrolment link.
const LINK_ERRORS: &[ErrorCode] = &[
    ErrorCode::LinkDamaged,
    ErrorCode::LinkNotFound,
    ErrorCode::LinkUsed,
    ErrorCode::LinkExpired,
    ErrorCode::LinkWithdrawn,
];

/// The errors of the operations by which a device creates an enrolment link or recovery codes.
const CREATION_ERRORS: &[ErrorCode] = &[
    ErrorCode::UserInactive,
    ErrorCode::PasskeyRequired,
    ErrorCode::InvalidPasskey,
    ErrorCode::TooManyCalls,
];

/// The routes, below `/authenticator/api`.
pub(crate) fn routes() -> Router<Arc<Services>> {
    operations()
        .into_iter()
        .fold(Router::new(), |router, operation| {
            let (_, paths, handler) = operation.described;
            paths
                .paths
                .keys()
                .fold(router, |router, path| router.route(path, handler.clone()))
        })
}

/// Rejects calls of other sites' pages, and limits the calls of a network with an invalid link or signature.
pub(crate) async fn limit_failures(
    State(services): State<Arc<Services>>,
    from: Network,
    request: Request,
    next: Next,
) -> Response {
    if is_cross_site(request.headers()) {
        return DeviceApiError::from(ErrorCode::CrossSiteRequest).into_response();
    }
    let failed = |response: &Response| {
        response
            .extensions()
            .get::<UnauthenticatedCaller>()
            .is_some()
    };
    let limit = &services.rate_limits.authenticator_failures;
    rate_limits::limit_failures(&services, limit, from, request, next, failed, || {
        DeviceApiError::from(ErrorCode::TooManyRequests).into_response()
    })
    .await
}
