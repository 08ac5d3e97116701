//! A back-channel request whose result the server sends to the application.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::sign_in::approve;
use super::{Attempt, Cluster};
use crate::harness::{Application, Device, Respond, Text, http_client, in_time};

const GRANT: &str = "urn:openid:params:grant-type:ciba";
const TOKEN: &str = "8d67dc78-7faa-4d41-aabd-67707b374255";

/// The approval of one request of an application in the mode ping.
pub struct Backchannel {
    application: Application,
    device: Device,
    auth_req_id: String,
    pings: mpsc::UnboundedReceiver<String>,
}

impl Backchannel {
    pub async fn prepare(cluster: &Cluster, name: &str) -> Self {
        let user = cluster.ada_named(name).await;
        let (endpoint, pings) = listen().await;
        let path = format!("/applications/{}", user.application.id);
        let changes = json!({
            "grant_types": ["authorization_code", "refresh_token", GRANT],
            "backchannel_token_delivery_mode": "ping",
            "backchannel_client_notification_endpoint": endpoint,
        });
        cluster.admin_ok(Method::PATCH, &path, changes).await;
        let form = [
            ("scope", "openid"),
            ("login_hint", name),
            ("client_notification_token", TOKEN),
        ];
        let (status, answer) = post(cluster, "backchannel", &user.application, &form).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        Self {
            application: user.application,
            device: user.device,
            auth_req_id: answer["auth_req_id"].text().to_owned(),
            pings,
        }
    }

    /// Approves the request, unless it is approved.
    ///
    /// # Errors
    /// Returns an error if the device receives no answer.
    pub async fn attempt(&mut self) -> Attempt<()> {
        // If there is no request, the server has stored the approval, although the device received no answer.
        approve(&self.device, "").await.map(|_| ())
    }

    /// Asserts that the application is notified, and gets its tokens once.
    pub async fn check(&mut self, cluster: &Cluster) {
        let ping = in_time(self.pings.recv()).await.expect("a notification");
        let (head, body) = ping.split_once("\r\n\r\n").expect("a head");
        let authorization = format!("authorization: bearer {TOKEN}");
        assert!(head.to_lowercase().contains(&authorization), "{head}");
        assert_eq!(body, json!({"auth_req_id": self.auth_req_id}).to_string());
        let form = [("grant_type", GRANT), ("auth_req_id", &self.auth_req_id)];
        let (status, tokens) = post(cluster, "token", &self.application, &form).await;
        assert_eq!(status, StatusCode::OK, "{tokens}");
        let (status, answer) = post(cluster, "token", &self.application, &form).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    }
}

async fn post(
    cluster: &Cluster,
    endpoint: &str,
    application: &Application,
    form: &[(&str, &str)],
) -> (StatusCode, Value) {
    let response = http_client()
        .post(format!("{}/oidc/{endpoint}", cluster.base))
        .form(form)
        .basic_auth(&application.id, application.secret.as_ref())
        .response()
        .await;
    (response.status(), response.json().await.expect("JSON"))
}

/// Starts a server that accepts each request. Returns its address, and the requests that arrive.
async fn listen() -> (String, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (sender, arrived) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = String::new();
            // The body is the last part, and a JSON object.
            while !request.ends_with('}') {
                let mut part = vec![0; 4096];
                match stream.read(&mut part).await {
                    Ok(read) if read > 0 => {
                        request.push_str(&String::from_utf8_lossy(&part[..read]));
                    }
                    _ => break,
                }
            }
            let answer = "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
            let _ = stream.write_all(answer.as_bytes()).await;
            // A killed instance may send nothing.
            if request.ends_with('}') {
                let _ = sender.send(request);
            }
        }
    });
    (format!("http://127.0.0.1:{port}/"), arrived)
}
