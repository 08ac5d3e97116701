//! A blocked log delays no request.

use std::process::Stdio;

use futures_util::{StreamExt, stream};
use reqwest::StatusCode;

use crate::harness::{Body, ServerProcess, free_port, http_client, in_time, temp_folder};

#[tokio::test]
async fn requests_are_answered_while_the_log_pipe_is_full() {
    /// A pipe holds 64 KiB, and each of these requests logs about 200 bytes.
    const REQUESTS: usize = 2000;
    let folder = temp_folder();
    let metrics = free_port();
    let settings = format!("[metrics]\nlisten = \"127.0.0.1:{metrics}\"");
    // The pipe stays open while the process runs, and has no reader.
    let server = ServerProcess::start(folder.path(), "", &settings, Stdio::piped()).await;
    let client = http_client();
    let nowhere = stream::iter(0..REQUESTS).for_each_concurrent(16, |_| async {
        let answer = client.get(format!("{}/nowhere", server.base)).send().await;
        assert_eq!(answer.expect("an answer").status(), StatusCode::NOT_FOUND);
    });
    in_time(nowhere).await;
    let metrics = client.get(format!("http://127.0.0.1:{metrics}/metrics"));
    let metrics = metrics.send().await.expect("an answer").read_text().await;
    assert!(
        metrics.contains("\nassent_log_dropped_lines_total "),
        "{metrics}"
    );
    // The shutdown is not delayed either.
    server.signal("INT").await;
    assert!(server.ended().await.success());
}
