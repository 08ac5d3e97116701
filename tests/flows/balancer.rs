//! A load balancer.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::harness::listen;

/// The load balancer. It ends with the test's runtime.
pub struct Balancer {
    port: u16,
    /// The ports of the instances that receive connections, in turn.
    targets: watch::Sender<Vec<u16>>,
}

impl Balancer {
    /// Starts a balancer without an instance.
    pub async fn start() -> Self {
        let (listener, port) = listen().await;
        let targets = watch::Sender::new(Vec::new());
        let shared = targets.clone();
        tokio::spawn(async move {
            let turn = AtomicUsize::new(0);
            while let Ok((client, _)) = listener.accept().await {
                let turn = turn.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(carry(client, shared.subscribe(), turn));
            }
        });
        Self { port, targets }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Closes all connections, and forwards new ones to these instances.
    pub fn route_to(&self, ports: Vec<u16>) {
        self.targets.send_replace(ports);
    }
}

async fn carry(mut client: TcpStream, mut targets: watch::Receiver<Vec<u16>>, turn: usize) {
    let ports = targets.borrow_and_update().clone();
    let carried = async {
        let port = ports[turn % ports.len().max(1)];
        let mut server = TcpStream::connect(("127.0.0.1", port)).await?;
        copy_bidirectional(&mut client, &mut server).await
    };
    tokio::select! {
        _ = carried => {}
        _ = targets.changed() => {}
    }
}
