//! Second approvals of back-channel requests (four eyes): the requests to those who may give one.

use crate::domain::{InternalError, Services};
use assent_model::approval::{
    Approval, ApprovalStage, ApprovalSubject, NUMBER_ATTEMPTS, PromptDetails,
};
use assent_model::backchannel::BackchannelRequest;
use assent_model::id::ApprovalId;
use assent_model::login::BrowserContext;
use assent_model::secret::Digest;
use assent_store::SecondApprover;

/// Returns the requests to the users who may give the second approval of a new back-channel request; none if it needs
/// none. If no member can give one, the request expires: the application must not learn who has a device.
pub(crate) async fn requests_for(
    services: &Services,
    request: &BackchannelRequest,
    application_name: &str,
) -> Result<Vec<Approval>, InternalError> {
    let Some(second) = &request.second else {
        return Ok(Vec::new());
    };
    let (application, now) = (&request.application, services.now());
    let found = services
        .store
        .second_approvers(second, application, now)
        .await?;
    if found.is_empty() {
        tracing::warn!(
            %application, request = %request.id, group = %second.group,
            "back-channel request without anyone for its second approval"
        );
    }
    let subject = ApprovalSubject::SecondApproval {
        id: request.id,
        first: second.first.clone(),
        message: request.message.clone(),
        scopes: request.scopes.clone(),
        binding: request.binding,
    };
    let to = |approver: SecondApprover| {
        let id = ApprovalId::new(now, &*services.entropy);
        Approval {
            id,
            subject: subject.clone(),
            user_id: Some(approver.user),
            name_digest: Digest::sha256(approver.name.as_bytes()),
            // No cookie has this digest.
            browser: Digest::sha256(id.as_bytes()),
            scanned_by: None,
            is_same_browser: false,
            number: None,
            shown: PromptDetails {
                application: Some(application.clone()),
                application_name: application_name.to_owned(),
                account: approver.name,
                browser: BrowserContext::default(),
                details: request.details.texts(),
            },
            requested_at: request.requested_at,
            expires_at: request.expires_at,
            attempts_left: NUMBER_ATTEMPTS,
            stage: ApprovalStage::Requested,
        }
    };
    Ok(found.into_iter().map(to).collect())
}
