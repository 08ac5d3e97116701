//! Devices that wait for requests.

use std::time::{Duration, Instant};

use assent_tests::flows::{PostgresServer, new_name};
use assent_tests::harness::{Device, in_time};
use futures_util::future::{join, join_all};
use futures_util::{StreamExt, stream};
use reqwest::{Method, StatusCode};
use tokio::time::sleep;

use crate::cluster;

/// The number of devices, and the number of their users.
const DEVICES: usize = 2000;
const USERS: usize = 200;
/// The duration of each wait, and the period in which the waits begin.
const WAIT: &str = "?wait=30";
const START: Duration = Duration::from_secs(20);
/// The number of attempts of a device if the server is overloaded.
const ATTEMPTS: u32 = 10;

/// Waits until the server answers, and returns the number of attempts.
async fn poll(device: &Device, delay: Duration) -> u32 {
    sleep(delay).await;
    for attempt in 1..ATTEMPTS {
        let path = "/authenticator/api/requests";
        let reply = device.call(Method::GET, path, WAIT, Vec::new()).await;
        match reply.expect("an answer").status {
            StatusCode::OK => return attempt,
            StatusCode::SERVICE_UNAVAILABLE => sleep(Duration::from_secs(2)).await,
            status => panic!("{status}"),
        }
    }
    panic!("no answer to {ATTEMPTS} requests");
}

pub async fn devices() -> String {
    let server = PostgresServer::start();
    let cluster = cluster(&server).await;
    cluster.route_to_both();
    let enrolled = stream::iter(0..USERS)
        .map(async |_| {
            let user = cluster.user(&new_name()).await;
            let mut devices = Vec::new();
            for _ in 0..DEVICES / USERS {
                devices.push(cluster.authenticator(&user).await);
            }
            devices
        })
        .buffer_unordered(8)
        .collect::<Vec<Vec<Device>>>();
    let devices = enrolled.await.concat();
    cluster.route_to(0);
    let polls =
        join_all(devices.iter().enumerate().map(async |(index, device)| {
            poll(device, START * index as u32 / DEVICES as u32).await
        }));
    let meanwhile = async {
        // All devices wait by then.
        sleep(START + Duration::from_secs(2)).await;
        let (before, began) = (cluster.instances[0].proxy.executed(), Instant::now());
        sleep(Duration::from_secs(5)).await;
        let statements = cluster.instances[0].proxy.executed() - before;
        let rate = statements as f64 / began.elapsed().as_secs_f64();
        (rate, cluster.expect_service(Instant::now()).await)
    };
    let (answers, (rate, took)) = in_time(join(polls, meanwhile)).await;
    let delayed = answers.iter().filter(|attempts| **attempts > 1).count();
    cluster.verify_audit_log().await;
    format!(
        "{rate:.0} statements a second, a sign-in at the same instance took {:.1} s, {delayed} devices asked again",
        took.as_secs_f64()
    )
}
