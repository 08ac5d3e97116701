//! The enrolment of an authenticator. Its key is stored before the link is used, and stays the same between attempts:
//! the server returns the same result for the same link and key, because an earlier response may have been lost.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use openssl::ec::{EcGroup, EcKey};
use openssl::nid::Nid;
use reqwest::{Method, RequestBuilder};
use serde::{Deserialize, Serialize};

use crate::authenticator::enrolled::Authenticator;
use crate::authenticator::exchange::{NoResponse, Reply, client, exchange, public_key, signature};
use crate::authenticator::link::{page_of, token_in};
use crate::http::devices::{
    EnrolledDevice, EnrolmentBody, EnrolmentPreview, EnrolmentToken, PushBody,
};
use assent_model::device::PushSubscription;
use assent_model::secret::Secret;
use assent_model::statement::EnrolmentStatement;
use assent_model::token::prefix;

/// The pauses before further attempts to reach the server.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(2)];

/// An enrolment whose link is not used yet, or whose response was lost: the content of its file.
#[derive(Serialize, Deserialize)]
pub struct PendingEnrolment {
    /// The digest of the link's token, to recognise the link.
    link_digest: String,
    issuer: String,
    /// The private key, as PEM.
    private_key: String,
}

impl std::fmt::Debug for PendingEnrolment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PendingEnrolment").finish_non_exhaustive()
    }
}

/// An enrolment link: the server, and the token.
struct Link {
    origin: String,
    token: String,
}

impl Link {
    /// Finds the link in a text that was copied.
    fn parse(text: &str) -> anyhow::Result<Self> {
        let token = token_in::<48>(prefix::ENROLMENT, text)?;
        let page = page_of(text).context("the link has no #enrol= in it")?;
        let origin = url::Url::parse(&page)
            .context("the link is not a URL")?
            .origin()
            .ascii_serialization();
        Ok(Self { origin, token })
    }

    fn digest(&self) -> String {
        Secret::new(self.token.as_str()).digest().to_text()
    }
}

impl PendingEnrolment {
    /// Creates the key of an enrolment with this link. The link stays valid.
    ///
    /// # Errors
    /// If the link is invalid, or the server cannot be reached.
    pub async fn prepare(link: &str) -> anyhow::Result<Self> {
        let link = Link::parse(link)?;
        let preview = format!("{}/authenticator/api/enrolments/preview", link.origin);
        let about = EnrolmentToken {
            token: link.token.clone(),
        };
        let http = client().await?;
        let reply = send_repeatedly(|| http.post(&preview).json(&about)).await?;
        let EnrolmentPreview { issuer, .. } = reply.read()?;
        let key = EcKey::generate(&*EcGroup::from_curve_name(Nid::X9_62_PRIME256V1)?)?;
        Ok(Self {
            link_digest: link.digest(),
            issuer,
            private_key: String::from_utf8(key.private_key_to_pem()?)?,
        })
    }

    /// Creates the file of an enrolment, or reads that of an earlier attempt with the same link.
    ///
    /// # Errors
    /// Like [`Self::prepare`], or if the file has other content or cannot be created.
    pub async fn begin(link: &str, path: &Path) -> anyhow::Result<Self> {
        let digest = Link::parse(link)?.digest();
        let earlier = std::fs::read_to_string(path).unwrap_or_default();
        if let Ok(earlier) = serde_json::from_str::<Self>(&earlier)
            && earlier.link_digest == digest
        {
            return Ok(earlier);
        }
        let mut file = Authenticator::new_file(path)?;
        let pending = match Self::prepare(link).await {
            Ok(pending) => pending,
            Err(error) => {
                std::fs::remove_file(path)?;
                return Err(error);
            }
        };
        file.write_all(serde_json::to_string_pretty(&pending)?.as_bytes())
            .and_then(|()| file.sync_all())
            .context("cannot write the file")?;
        Ok(pending)
    }

    /// Enrols: proves the possession of the key, and uses up the link.
    ///
    /// # Errors
    /// [`NoResponse`] if the server did not respond: the enrolment may have succeeded, and can be repeated. Otherwise
    /// if the server rejects the enrolment.
    pub async fn send(
        &self,
        link: &str,
        name: &str,
        push: Option<PushSubscription>,
    ) -> anyhow::Result<Authenticator> {
        let Link { origin, token } = Link::parse(link)?;
        let key = EcKey::private_key_from_pem(self.private_key.as_bytes())
            .context("the file holds no private key")?;
        let public = public_key(&key)?;
        let thumbprint = public.thumbprint();
        let statement = EnrolmentStatement {
            issuer: &self.issuer,
            token: &token,
            device_name: name,
            key_thumbprint: &thumbprint,
        };
        let body = EnrolmentBody {
            device_name: name.to_owned(),
            public_key: public,
            signature: signature(&key, &statement.text())?,
            token: token.clone(),
        };
        let address = format!("{origin}/authenticator/api/enrolments");
        let http = client().await?;
        let reply = send_repeatedly(|| http.post(&address).json(&body)).await?;
        let EnrolledDevice {
            device_id, account, ..
        } = reply.read()?;
        let authenticator = Authenticator {
            origin,
            issuer: self.issuer.clone(),
            device: device_id,
            account,
            private_key: self.private_key.clone(),
        };
        if push.is_some() {
            let body = serde_json::to_vec(&PushBody { subscription: push })?;
            authenticator
                .call(Method::PUT, "/authenticator/api/device/push", "", body)
                .await?
                .into_body()?;
        }
        Ok(authenticator)
    }
}

impl Authenticator {
    /// Enrols with an enrolment link: creates a key, proves its possession, and uses up the link.
    ///
    /// # Errors
    /// If the link is invalid, or the server cannot be reached or rejects the enrolment.
    pub async fn enrol(
        link: &str,
        name: &str,
        push: Option<PushSubscription>,
    ) -> anyhow::Result<Self> {
        PendingEnrolment::prepare(link)
            .await?
            .send(link, name, push)
            .await
    }
}

/// Sends a request, and sends it again if there was no response of the server itself.
async fn send_repeatedly(request: impl Fn() -> RequestBuilder) -> anyhow::Result<Reply> {
    let mut pauses = PAUSES.iter();
    loop {
        let outcome = match exchange(request()).await {
            Ok(reply) if reply.status.is_server_error() => {
                let reason = reply.into_body().err().map(|error| error.to_string());
                Err(anyhow::Error::msg(reason.unwrap_or_default()).context(NoResponse))
            }
            outcome => outcome,
        };
        match (outcome, pauses.next()) {
            (Err(error), Some(pause)) if error.is::<NoResponse>() => {
                tokio::time::sleep(*pause).await;
            }
            (outcome, _) => return outcome,
        }
    }
}
