use super::super::spec::NoCredentials;
use super::*;
use assent_model::clock::SystemClock;

fn egress(hosts: &[&str], allow_private: bool) -> PluginEgress {
    let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
    let grant = HttpGrant {
        hosts,
        allow_private,
        ..HttpGrant::default()
    };
    PluginEgress::new(
        &grant,
        Duration::from_secs(5),
        Arc::new(NoCredentials),
        Arc::new(SystemClock),
    )
    .expect("egress")
}

#[test]
fn only_granted_hosts_are_permitted() {
    let egress = egress(
        &["push.example.com", "*.notify.example", "alt.example:8443"],
        false,
    );
    for url in [
        "https://push.example.com/a?b",
        "https://PUSH.example.com:443/",
        "https://a.b.notify.example/x",
        "https://alt.example:8443/",
    ] {
        assert!(egress.check_url(url).is_ok(), "{url}");
    }
    for url in [
        "https://push.example.com.evil.example/",
        "https://evil-push.example.com/",
        "https://push.example.com:8443/",
        "https://alt.example/",
        "https://notify.example/",
        "https://evilnotify.example/",
        "https://push.example.com./",
        "http://push.example.com/",
        "https://push.example.com@evil.example/",
        "https://user@push.example.com/",
        "ftp://push.example.com/",
        "https://93.184.216.34/",
        "https://[2606:4700::1111]/",
        "https://0x7f000001/",
        "https://2130706433/",
    ] {
        assert!(
            matches!(egress.check_url(url), Err(Error::Refused(_))),
            "{url}"
        );
    }
    assert!(matches!(
        egress.check_url("not a url"),
        Err(Error::Invalid(_))
    ));
}

#[test]
fn invalid_host_patterns_are_errors() {
    for text in [
        "",
        "*",
        "*.",
        "https://push.example.com",
        "127.0.0.1",
        "[::1]",
        "push.example.com:x",
        "a.*.b",
        "a/b",
    ] {
        assert!(HostPattern::parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_plugin_cannot_set_headers_of_the_connection() {
    let header = |name: &str, value: &str| headers(&[(name.to_owned(), value.to_owned())]);
    assert!(header("ttl", "60").is_ok());
    for name in ["Host", "content-length", "Transfer-Encoding", "two words"] {
        assert!(
            matches!(header(name, "x"), Err(Error::Invalid(_))),
            "{name}"
        );
    }
    assert!(matches!(header("ttl", "a\r\nb: c"), Err(Error::Invalid(_))));
}
