//! A load balancer that sends all connections to one instance.

use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::harness::listen;

/// The load balancer. It ends with the test's runtime.
pub struct Balancer {
    port: u16,
    /// The port of the instance.
    target: watch::Sender<u16>,
}

impl Balancer {
    /// A balancer without an instance.
    pub async fn start() -> Self {
        let (listener, port) = listen().await;
        let target = watch::Sender::new(0);
        let shared = target.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, shared.subscribe()));
            }
        });
        Self { port, target }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends the connections to the former instance, and sends new ones to this.
    pub fn route_to(&self, port: u16) {
        self.target.send_replace(port);
    }
}

async fn carry(mut client: TcpStream, mut target: watch::Receiver<u16>) {
    let port = *target.borrow_and_update();
    let carried = async {
        let mut server = TcpStream::connect(("127.0.0.1", port)).await?;
        copy_bidirectional(&mut client, &mut server).await
    };
    tokio::select! {
        _ = carried => {}
        _ = target.changed() => {}
    }
}
