//! The recipe of Kubernetes. Its program is kubelogin on each user's computer. Neither Debian nor npm has it, so the
//! test sends a request as kubelogin does.

use serde_json::json;

use super::Recipe;
use crate::harness::{Application, Browser, TestHost, after};

#[tokio::test]
async fn kubelogin_may_listen_on_either_port_of_the_loopback_address() {
    let host = TestHost::start().await;
    let recipe = Recipe::connect(&host, "kubernetes", json!({})).await;
    let (_, arguments) = recipe.file.expect("the file of kubectl");
    let hostname = after(&arguments, "--oidc-redirect-url-hostname=");
    for port in [8000, 18000] {
        let application = Application {
            id: recipe.application.clone(),
            secret: None,
            redirect_uri: format!("http://{hostname}:{port}"),
        };
        let page = application.login_page(&Browser::new(&host.base), &[]).await;
        assert!(page.body.contains("name=\"name\""), "{}", page.body);
    }
}
