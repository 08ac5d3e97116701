//! The repetition of a test sign-in's last page. A browser may lose the response: the user loads the page twice, or the
//! connection breaks. The outcome is stored, so nothing is processed again.

use std::time::Duration;

use crate::domain::sessions::session::BrowserSession;
use crate::domain::{InternalError, Services};
use assent_model::id::TestSignInId;
use assent_model::login::GivenAnswer;
use assent_model::secret::Digest;
use assent_model::test_sign_in::{TestSignIn, TestSignInOutcome, TestSignInStage, Visitor};

/// The time between two looks at a test sign-in whose response another request processes.
const SOON: Duration = Duration::from_millis(100);
/// The number of looks. The other request exchanges the code and runs plugins.
const LOOKS: u32 = 50;

/// Returns the test sign-in of this browser and session whose response arrived a moment ago.
pub async fn repeated_test_sign_in(
    services: &Services,
    id: TestSignInId,
    browser: Digest,
    signed_in: &BrowserSession,
) -> Result<Option<TestSignIn>, InternalError> {
    let visitor = Visitor {
        browser,
        session: signed_in.session.id,
        user: signed_in.user.id,
    };
    let since = services.now() - GivenAnswer::REPEATABLE;
    let found = services.store.test_sign_in(id).await?;
    Ok(found.filter(|test_sign_in| {
        test_sign_in.is_of(visitor) && test_sign_in.claimed_at.is_some_and(|at| at > since)
    }))
}

/// Returns the outcome of a test sign-in, which another request may determine at this moment.
pub async fn outcome(
    services: &Services,
    id: TestSignInId,
) -> Result<Option<TestSignInOutcome>, InternalError> {
    for look in 0..LOOKS {
        if look > 0 {
            tokio::time::sleep(SOON).await;
        }
        let found = services.store.test_sign_in(id).await?;
        match found.map(|test_sign_in| test_sign_in.stage) {
            Some(TestSignInStage::Finished(outcome)) => return Ok(Some(outcome)),
            Some(TestSignInStage::Claimed) => {}
            Some(TestSignInStage::Open) | None => return Ok(None),
        }
    }
    Ok(None)
}
