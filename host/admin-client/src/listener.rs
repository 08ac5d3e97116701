//! Checks the owner of the local socket that would receive a token without encryption.
//!
//! An attacker on this machine could take the port while the server is stopped. The attacker would then receive a token
//! that is valid at the restarted server, or at another instance of the same database.
//!
//! Linux shows the owner of each socket. On other systems, and if this information cannot be read, no address is
//! rejected.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use url::{Host, Url};

use crate::error::{CommandError, ErrorKind};

/// The files in which Linux lists the sockets of this machine.
const SOCKETS: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];
/// The state of a listening socket.
const LISTENS: &str = "0A";
const ROOT: u32 = 0;

/// Rejects an address at which an untrusted user of this machine listens. Trusted are root, the user of this program,
/// and the owner of the current folder, which is the folder of `assent serve`.
///
/// # Errors
/// [`CommandError`] if a process of another user listens at the address.
pub fn must_be_trusted(address: &Url) -> anyhow::Result<()> {
    let trusted = trusted_users();
    let sockets: Vec<String> = SOCKETS
        .iter()
        .filter_map(|file| std::fs::read_to_string(file).ok())
        .collect();
    match stranger(&sockets.concat(), address, &trusted) {
        None => Ok(()),
        Some(user) => Err(CommandError::with_kind(
            ErrorKind::Unreachable,
            format!(
                "a program of another user of this machine (uid {user}) listens at {address}, so it gets no token; \
                 start this command in the folder of `assent serve`, as its user"
            ),
        )),
    }
}

/// Rejects a Unix socket of an untrusted user.
///
/// # Errors
/// [`CommandError`] if the socket belongs to another user.
pub fn socket_must_be_trusted(socket: &Path) -> anyhow::Result<()> {
    match std::fs::metadata(socket).map(|found| found.uid()) {
        Ok(user) if !trusted_users().contains(&user) => Err(CommandError::with_kind(
            ErrorKind::Unreachable,
            format!(
                "the socket {} belongs to another user of this machine (uid {user}), so it gets no token; start this \
                 command as the user of `assent serve`",
                socket.display()
            ),
        )),
        // Connecting then fails with the reason.
        _ => Ok(()),
    }
}

/// Returns root, the user of this program, and the owner of the current folder.
fn trusted_users() -> Vec<u32> {
    let owner = |path: &str| std::fs::metadata(path).ok().map(|found| found.uid());
    [Some(ROOT), owner("/proc/self"), owner(".")]
        .into_iter()
        .flatten()
        .collect()
}

/// Returns the first untrusted user with a socket that listens at the address.
fn stranger(sockets: &str, address: &Url, trusted: &[u32]) -> Option<u32> {
    let port = address.port_or_known_default()?;
    let leads_to = |ip: IpAddr| match address.host() {
        Some(Host::Ipv4(wanted)) => ip == IpAddr::V4(wanted),
        Some(Host::Ipv6(wanted)) => ip == wanted.to_canonical(),
        // Any other host is a name of this machine, such as `localhost`.
        _ => ip.is_loopback(),
    };
    let listening = sockets.lines().filter_map(listener);
    let here =
        listening.filter(|(ip, at, _)| *at == port && (ip.is_unspecified() || leads_to(*ip)));
    here.map(|(.., user)| user)
        .find(|user| !trusted.contains(user))
}

/// Parses the address, port and user of a line about a listening socket.
fn listener(line: &str) -> Option<(IpAddr, u16, u32)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (local, state, user) = (fields.get(1)?, fields.get(3)?, fields.get(7)?);
    let (ip, port) = local.split_once(':')?;
    let listens = *state == LISTENS;
    let found = (
        address(ip)?,
        u16::from_str_radix(port, 16).ok()?,
        user.parse().ok()?,
    );
    listens.then_some(found)
}

/// Parses an address from words of 32 bits in the byte order of this machine.
fn address(hex: &str) -> Option<IpAddr> {
    let word = |at: usize| {
        u32::from_str_radix(hex.get(at..at + 8)?, 16)
            .ok()
            .map(u32::to_ne_bytes)
    };
    match hex.len() {
        8 => word(0).map(|bytes| Ipv4Addr::from(bytes).into()),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?];
            let bytes: [u8; 16] = words.concat().try_into().ok()?;
            Some(Ipv6Addr::from(bytes).to_canonical())
        }
        _ => None,
    }
}

#[cfg(test)]
#[cfg(target_endian = "little")]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed test")]

    use super::*;

    /// Returns two listening sockets, at the ports 8080 and 8081, and a connection of port 8080. Root is 0, the
    /// server's user 998, and another user 1000.
    fn sockets(ip: &str, user: u32) -> String {
        format!(
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             \x20  0: {ip}:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  {user}        \
             0 1 1 0 100 0 0 10 0\n\
             \x20  1: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        \
             0 2 1 0 100 0 0 10 0\n\
             \x20  2: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        \
             0 3 1 0 20 4 30 10 -1\n"
        )
    }

    #[test]
    fn a_listening_process_of_another_user_is_detected() {
        let v6 = "00000000000000000000000001000000";
        let mapped = "0000000000000000FFFF00000100007F";
        let nowhere = "00000000000000000000000000000000";
        for (ip, url) in [
            ("0100007F", "http://127.0.0.1:8080/"),
            ("0100007F", "http://localhost:8080/"),
            ("00000000", "http://127.0.0.1:8080/"),
            (mapped, "http://127.0.0.1:8080/"),
            (v6, "http://[::1]:8080/"),
            (v6, "http://localhost:8080/"),
            (nowhere, "http://127.0.0.1:8080/"),
            ("0500000A", "http://10.0.0.5:8080/"),
        ] {
            let url = Url::parse(url).unwrap();
            assert_eq!(
                stranger(&sockets(ip, 1000), &url, &[0, 998]),
                Some(1000),
                "{ip} {url}"
            );
            for user in [0, 998] {
                assert_eq!(
                    stranger(&sockets(ip, user), &url, &[0, 998]),
                    None,
                    "{ip} {url}"
                );
            }
        }
        let elsewhere = Url::parse("http://127.0.0.1:8080/").unwrap();
        assert_eq!(
            stranger(&sockets("0500000A", 1000), &elsewhere, &[0]),
            None,
            "another address"
        );
        assert_eq!(stranger("", &elsewhere, &[0]), None);
    }

    #[test]
    fn a_socket_of_this_process_is_trusted() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        must_be_trusted(&url).unwrap();
        if let Ok(sockets) = std::fs::read_to_string(SOCKETS[0]) {
            assert!(
                stranger(&sockets, &url, &[]).is_some(),
                "it is found, if nobody is trusted"
            );
        }
    }
}
