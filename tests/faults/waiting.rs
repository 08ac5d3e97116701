//! Devices that wait for requests.

use std::time::{Duration, Instant};

use assent_tests::flows::{PostgresServer, new_name};
use assent_tests::harness::{Device, in_time};
use futures_util::StreamExt;
use futures_util::future::{join, join_all};
use futures_util::stream;
use reqwest::{Method, StatusCode};
use tokio::time::sleep;

use crate::cluster;

/// Their number, and of how many users they are.
const DEVICES: usize = 2000;
const USERS: usize = 200;
/// How long each waits.
const WAIT: &str = "?wait=30";

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
    let polls = join_all(devices.iter().map(async |device| {
        let path = "/authenticator/api/requests";
        device.call(Method::GET, path, WAIT, Vec::new()).await
    }));
    let meanwhile = async {
        // All of them wait by then.
        sleep(Duration::from_secs(10)).await;
        let (before, began) = (cluster.instances[0].proxy.executed(), Instant::now());
        sleep(Duration::from_secs(5)).await;
        let statements = cluster.instances[0].proxy.executed() - before;
        let rate = statements as f64 / began.elapsed().as_secs_f64();
        (rate, cluster.expect_service(Instant::now()).await)
    };
    let (answers, (rate, took)) = in_time(join(polls, meanwhile)).await;
    let answered = answers
        .iter()
        .filter(|answer| {
            answer
                .as_ref()
                .is_ok_and(|reply| reply.status == StatusCode::OK)
        })
        .count();
    let failed = answers.iter().find(|answer| {
        answer
            .as_ref()
            .map_or(true, |reply| reply.status != StatusCode::OK)
    });
    assert_eq!(answered, DEVICES, "{failed:?}");
    cluster.verify_audit_log().await;
    format!(
        "{rate:.0} statements a second, a sign-in at the same instance took {:.1} s",
        took.as_secs_f64()
    )
}
