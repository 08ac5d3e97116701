//! The proxy in front of PostgreSQL finds each COMMIT.

use crate::harness::postgres_messages::{Messages, Transactions, ends_commit, requests_encryption};

fn message(kind: u8, parts: &[&str]) -> Vec<u8> {
    let body: Vec<u8> = parts
        .iter()
        .flat_map(|part| part.bytes().chain([0]))
        .collect();
    let length = u32::try_from(body.len() + 4).expect("a length");
    [vec![kind], length.to_be_bytes().to_vec(), body].concat()
}

#[test]
fn commits_of_both_protocols_are_found() {
    let mut transactions = Transactions::default();
    let mut follow = |message: Vec<u8>| transactions.follow(&message);
    assert!(follow(message(b'Q', &["BEGIN"])).is_none());
    assert!(follow(message(b'P', &["s1", "UPDATE a\n  SET b = $1"])).is_none());
    assert!(follow(message(b'B', &["", "s1", "COMMIT"])).is_none());
    assert!(follow(message(b'E', &[""])).is_none());
    let commit = follow(message(b'Q', &["COMMIT"])).expect("the simple protocol");
    assert_eq!(commit.statements, ["UPDATE a SET b = $1"]);

    for sent in [
        message(b'Q', &["BEGIN; SELECT 1; INSERT INTO c VALUES (1)"]),
        message(b'P', &["end", "commit"]),
        message(b'B', &["p", "end"]),
    ] {
        assert!(follow(sent).is_none());
    }
    let commit = follow(message(b'E', &["p"])).expect("the extended protocol");
    assert_eq!(commit.first_write(), "INSERT INTO c VALUES (1)");
    assert!(follow(message(b'Q', &["SELECT 'COMMIT'"])).is_none());
}

#[test]
fn messages_end_where_their_lengths_say() {
    let request = vec![0, 0, 0, 8, 4, 210, 22, 47];
    let startup = vec![0, 0, 0, 9, 0, 3, 0, 0, 0];
    let query = message(b'Q', &["COMMIT"]);
    let mut messages = Messages::from_client();
    let mut found = Vec::new();
    for byte in [request.as_slice(), &startup, &query].concat() {
        messages.add(&[byte]);
        found.extend(messages.next_message());
    }
    assert_eq!(found, [request.clone(), startup.clone(), query]);
    assert!(requests_encryption(&request) && !requests_encryption(&startup));

    let done = message(b'C', &["COMMIT"]);
    let mut replies = Messages::from_server();
    replies.add(b"N");
    assert_eq!(replies.take_byte().as_deref(), Some(b"N".as_slice()));
    replies.add(&done);
    assert!(ends_commit(&replies.next_message().expect("complete")));
    assert!(!ends_commit(&message(b'C', &["INSERT 0 1"])));
}
