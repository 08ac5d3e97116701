//! The bounds of every server of this kind. A second process of this program measures them on the server's core.

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::routing::{get, post};
use axum::{Form, Router};
use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::EcCurve;
use josekit::jws::{ES256, JwsSigner, JwsVerifier};
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::rsa::Rsa;
use openssl::sign::Signer;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::load::Load;
use super::server::on_its_core;

/// What the trivial server computes for each answer besides the answer itself: about as much as a short answer of
/// Assent costs. Otherwise its client would never sleep, but that of Assent would, and waking it would count only
/// there.
const WORK: Duration = Duration::from_micros(30);

const SIGNATURES: &str = "rsa-signatures";
const VERIFICATIONS: &str = "es256-verifications";
const FORM_POST: &str = "form-post";

/// Returns whether this is the second process.
pub fn is_selected() -> bool {
    let names = [SIGNATURES, VERIFICATIONS, FORM_POST];
    std::env::args().any(|argument| names.contains(&argument.as_str()))
}

/// Runs the measurement or the server that the arguments select.
pub fn run() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next();
    let mut length = || {
        let millis = arguments.next().and_then(|text| text.parse().ok());
        Duration::from_millis(millis.expect("a time"))
    };
    match name.as_deref() {
        Some(SIGNATURES) => println!("{}", sign_for(length())),
        Some(VERIFICATIONS) => println!("{}", verify_for(length())),
        _ => serve_form_post(),
    }
}

fn again(arguments: &[&str]) -> Command {
    let mut command = on_its_core(&std::env::current_exe().expect("this program"));
    command
        .args(arguments)
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// Measures consecutive bare RSA-2048 signatures.
pub async fn rsa_signatures(length: Duration) -> Load {
    operations(SIGNATURES, length).await
}

/// Measures consecutive bare ES256 verifications by the library that verifies DPoP proofs in Assent. The key is
/// already in the form that the library needs, though that of a proof is not.
pub async fn es256_verifications(length: Duration) -> Load {
    operations(VERIFICATIONS, length).await
}

/// Counts the operations of the second process.
async fn operations(name: &str, length: Duration) -> Load {
    let output = again(&[name, &length.as_millis().to_string()])
        .output()
        .await
        .expect("run");
    let answers = String::from_utf8(output.stdout)
        .expect("text")
        .trim()
        .parse()
        .expect("a count");
    Load {
        answers,
        took: length,
        ..Load::default()
    }
}

fn sign_for(length: Duration) -> u64 {
    let key = PKey::from_rsa(Rsa::generate(2048).expect("a key")).expect("a key");
    let message = [b'a'; 1000];
    let (mut count, start) = (0, Instant::now());
    while start.elapsed() < length {
        let mut signer = Signer::new(MessageDigest::sha256(), &key).expect("a signer");
        signer.sign_oneshot_to_vec(&message).expect("a signature");
        count += 1;
    }
    count
}

fn verify_for(length: Duration) -> u64 {
    let key = Jwk::generate_ec_key(EcCurve::P256).expect("a key");
    // As long as the header and the claims of a proof.
    let message = [b'a'; 450];
    let signer = ES256.signer_from_jwk(&key).expect("a signer");
    let signature = signer.sign(&message).expect("a signature");
    let public = key.to_public_key().expect("a key");
    let verifier = ES256.verifier_from_jwk(&public).expect("a verifier");
    let (mut count, start) = (0, Instant::now());
    while start.elapsed() < length {
        verifier.verify(&message, &signature).expect("valid");
        count += 1;
    }
    count
}

/// Returns the answers a second of the trivial server, without [`WORK`].
pub fn per_second_without_work(load: &Load) -> f64 {
    let each = load.took.as_secs_f64() / load.answers as f64;
    1.0 / (each - WORK.as_secs_f64())
}

fn work() {
    let begun = Instant::now();
    while begun.elapsed() < WORK {
        std::hint::spin_loop();
    }
}

/// A server that reads a posted form and answers with one word.
pub struct FormPost {
    pub address: SocketAddr,
    _process: Child,
}

impl FormPost {
    pub async fn start() -> Self {
        let mut process = again(&[FORM_POST]).spawn().expect("started");
        let mut line = String::new();
        let output = process.stdout.take().expect("its output");
        BufReader::new(output)
            .read_line(&mut line)
            .await
            .expect("its address");
        Self {
            address: line.trim().parse().expect("an address"),
            _process: process,
        }
    }
}

#[tokio::main]
async fn serve_form_post() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    println!("{}", listener.local_addr().expect("an address"));
    let answer = async |Form(form): Form<Vec<(String, String)>>| {
        work();
        form.first().map(|(name, _)| name.clone())
    };
    let router = Router::new().route(
        "/oidc/token",
        post(async move |form| answer(form).await.unwrap_or_default()),
    );
    let router = router.route(
        "/trivial",
        get(async || {
            work();
            "ok"
        }),
    );
    // A collector of traces and metrics.
    let router = router.route("/v1/{signal}", post(async |_: Bytes| ""));
    axum::serve(listener, router).await.expect("serving");
}
