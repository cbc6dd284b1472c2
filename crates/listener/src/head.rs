//! Facts that the head of a request says in one voice: two readers may each believe another of two headers.

use hyper::Uri;
use hyper::header::{self, HeaderMap, HeaderName};

/// The one header of that name; `None` where there is none, are several, or it is no text.
pub fn only(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut named = headers.get_all(name).iter();
    match (named.next(), named.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

/// The host that a request is for, with its port, in lower case; `None` where the head does not say so in one voice.
pub fn host_of(uri: &Uri, headers: &HeaderMap) -> Option<String> {
    let host = only(headers, header::HOST)?.to_ascii_lowercase();
    // A request target in absolute form names the host once more, and that host counts before the header's (RFC 9112,
    // section 3.2.2). Whoever listens holds only this one against its own names: so refuse a request whose two hosts differ.
    let is_same = |authority: &str| authority.eq_ignore_ascii_case(&host);
    let is_one = uri
        .authority()
        .is_none_or(|authority| is_same(authority.as_str()));
    is_one.then_some(host)
}

/// A host without its port.
pub fn name_of_host(host: &str) -> Option<&str> {
    let name = match host.rsplit_once(':') {
        // In `[::1]` the last colon belongs to the address and not to a port.
        Some((name, port)) if !port.contains(']') => {
            let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
            is_port.then_some(name)?
        }
        _ => host,
    };
    (!name.is_empty()).then_some(name)
}

/// The media type that a body is declared to have, in lower case and without parameters.
pub fn media_type(headers: &HeaderMap) -> Option<String> {
    let declared = only(headers, header::CONTENT_TYPE)?;
    let media = declared
        .split_once(';')
        .map_or(declared, |(media, _)| media);
    Some(media.trim().to_ascii_lowercase())
}

/// Whether a media type is one of JSON.
pub fn is_json(media: &str) -> bool {
    media == "application/json" || (media.starts_with("application/") && media.ends_with("+json"))
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn headers(hosts: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(header::HOST, HeaderValue::from_static(host));
        }
        headers
    }

    #[test]
    fn a_request_that_names_two_hosts_names_none() {
        let of = |uri: &'static str, hosts: &[&'static str]| {
            host_of(&Uri::from_static(uri), &headers(hosts))
        };
        assert_eq!(of("/", &["A.example:80"]).as_deref(), Some("a.example:80"));
        assert_eq!(
            of("http://a.example/", &["a.example"]).as_deref(),
            Some("a.example")
        );
        assert_eq!(of("/", &[]), None);
        assert_eq!(of("/", &["a.example", "a.example"]), None);
        assert_eq!(of("http://b.example/", &["a.example"]), None);
    }

    #[test]
    fn a_port_is_digits_and_an_address_in_brackets_has_colons_of_its_own() {
        for (host, name) in [
            ("a:1", Some("a")),
            ("[::1]", Some("[::1]")),
            ("[::1]:2", Some("[::1]")),
            ("a:", None),
            (":1", None),
            ("a:x", None),
            ("", None),
        ] {
            assert_eq!(name_of_host(host), name, "{host}");
        }
    }
}
