//! URLs of peers and clients: what etcd and every resolver take for the same address.

use crate::etcd::{LABEL_MAX, is_rfc1123_subdomain};
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use url::Host;

/// Longest URL, in characters; the CRD's bound.
const URL_MAX: usize = 2048;

/// A URL that is a scheme, a host and perhaps a port, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Whether the scheme is `https`; otherwise it is `http`.
    pub https: bool,
    /// Name in lower case, or IP address.
    host: Host<String>,
    /// Port, where there is one.
    pub port: Option<u16>,
}

/// Why a text is no such URL. Displays as the second half of a message: the fault and its remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// More than 2,048 characters.
    #[error("has {0} characters; a URL here has at most {URL_MAX}")]
    Long(usize),
    /// White space or a control character.
    #[error("holds white space or a control character; remove it")]
    Blank,
    /// A comma would make two entries of one when the list is joined.
    #[error("holds a comma, with which etcd separates URLs; write each URL as an entry of its own")]
    Comma,
    /// A letter beyond ASCII.
    #[error("holds \"{0}\", which is not ASCII; write an internationalized name in its xn-- form")]
    NotAscii(char),
    /// No `://`.
    #[error("doesn't begin with \"http://\" or \"https://\"; write one of them before the host")]
    NoScheme,
    /// Neither `http` nor `https`.
    #[error("has the scheme {scheme:?}; write http or https", scheme = .0)]
    Scheme(String),
    /// `user:password@`.
    #[error("holds user information before the host; remove it, etcd reads none there")]
    UserInfo,
    /// A path, if only `/`.
    #[error("has the path {path:?}; end the URL after the port, without even a \"/\": etcd refuses a path", path = .0)]
    Path(String),
    /// `?…`.
    #[error("has a query; end the URL after the port")]
    Query,
    /// `#…`.
    #[error("has a fragment; end the URL after the port")]
    Fragment,
    /// Nothing between scheme and port.
    #[error("has no host; write the name or the IP address at which other pods reach it")]
    NoHost,
    /// No port where one must be.
    #[error("has no port; etcd refuses to start on a URL without one, write e.g. \"{0}:2380\"")]
    NoPort(String),
    /// A port that is none.
    #[error("has the port {port:?}; a port is 1 to 65535, without sign or leading zero", port = .0)]
    Port(String),
    /// An IPv6 address that isn't in brackets.
    #[error("holds an IPv6 address without brackets; write it in them, such as \"[2001:db8::1]:2380\"")]
    Bare6,
    /// Something in brackets that is no IPv6 address.
    #[error("has {host:?} for its host, and no IPv6 address in the brackets; zone ids are not taken", host = .0)]
    NotIpv6(String),
    /// A host that resolvers read as an IPv4 address, written otherwise.
    #[error(
        "has the host {host:?}, which resolvers read as an IPv4 address but which isn't one in full; write four \
         numbers of 0 to 255 without leading zeros, such as \"10.0.0.1\"",
        host = .0
    )]
    NotIpv4(String),
    /// A host that is no RFC 1123 name.
    #[error(
        "has the host {host:?}, which is no DNS name: labels of a-z 0-9 -, at most 63 characters each, joined with dots",
        host = .0
    )]
    NotName(String),
}

impl Address {
    /// Reads a URL. A missing port is no fault here; [`Self::with_port`] makes it one.
    pub fn read(text: &str) -> Result<Self, Fault> {
        check_characters(text)?;
        let (scheme, rest) = text.split_once("://").ok_or(Fault::NoScheme)?;
        let https = https(scheme)?;
        let (authority, tail) = rest.split_at(rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len()));
        check_tail(tail)?;
        if authority.contains('@') {
            return Err(Fault::UserInfo);
        }
        let (host, port) = split_port(authority)?;
        Ok(Self { https, host: read_host(host)?, port: port.map(read_port).transpose()? })
    }

    /// The same, where a missing port is a fault.
    pub fn with_port(text: &str) -> Result<Self, Fault> {
        let address = Self::read(text)?;
        if address.port.is_none() {
            return Err(Fault::NoPort(crate::text::shortened(text, crate::text::VALUE_MAX)));
        }
        Ok(address)
    }

    /// Where it leads, by host (case, last dot and IPv6 spelling aside) and port: equal for two addresses that are
    /// the same; the scheme makes no difference.
    pub fn place(&self) -> (Place<'_>, Option<u16>) {
        (place(&self.host), self.port)
    }

    /// Place and scheme: equal for two URLs that are the same value.
    pub fn value(&self) -> AddressValue<'_> {
        (self.https, self.place())
    }

    /// Why another pod can't reach this host, if it can't.
    pub fn unreachable(&self) -> Option<&'static str> {
        match place(&self.host) {
            Place::V4(ip) => unreachable_v4(ip),
            Place::V6(ip) => unreachable_v6(ip),
            Place::Name(name) => is_local_name(name).then_some("a name of the machine itself"),
        }
    }

    /// The host's name, without a last dot; nothing for IP addresses.
    pub fn name(&self) -> Option<&str> {
        match place(&self.host) {
            Place::Name(name) => Some(name),
            Place::V4(_) | Place::V6(_) => None,
        }
    }
}

/// Lower-case scheme and host, IPv6 as RFC 5952 writes it, no path.
impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.https { "https" } else { "http" };
        match &self.host {
            // The URL standard's own spelling leaves RFC 5952 at IPv4-mapped addresses.
            Host::Ipv6(ip) => write!(formatter, "{scheme}://[{ip}]")?,
            host => write!(formatter, "{scheme}://{host}")?,
        }
        match self.port {
            Some(port) => write!(formatter, ":{port}"),
            None => Ok(()),
        }
    }
}

/// A URL as it should be written: without white space around it, scheme and host in lower case, without a lone
/// `/` behind the authority. Nothing where the text can't be read, or is wrong in another way.
pub fn canonical(text: &str) -> Option<String> {
    let trimmed = text.trim();
    let bare = trimmed.strip_suffix('/').unwrap_or(trimmed);
    Address::read(bare).ok().map(|address| address.to_string())
}

/// What makes two URLs the same value: whether the scheme is `https`, and where they lead.
pub type AddressValue<'a> = (bool, (Place<'a>, Option<u16>));

/// What a host is, for comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place<'a> {
    /// A name without its last dot.
    Name(&'a str),
    /// An IPv4 address, also one that was written as IPv4-mapped IPv6.
    V4(Ipv4Addr),
    /// Any other IPv6 address.
    V6(Ipv6Addr),
}

fn place(host: &Host<String>) -> Place<'_> {
    match host {
        Host::Domain(name) => Place::Name(name.strip_suffix('.').unwrap_or(name)),
        Host::Ipv4(ip) => Place::V4(*ip),
        Host::Ipv6(ip) => ip.to_ipv4_mapped().map_or(Place::V6(*ip), Place::V4),
    }
}

fn unreachable_v4(ip: Ipv4Addr) -> Option<&'static str> {
    match ip {
        ip if ip.is_loopback() => Some("a loopback address"),
        ip if ip.is_unspecified() => Some("the unspecified address"),
        ip if ip.is_link_local() => Some("a link-local address"),
        ip if ip.is_multicast() => Some("a multicast address"),
        ip if ip.is_broadcast() => Some("the broadcast address"),
        _ => None,
    }
}

fn unreachable_v6(ip: Ipv6Addr) -> Option<&'static str> {
    match ip {
        ip if ip.is_loopback() => Some("a loopback address"),
        ip if ip.is_unspecified() => Some("the unspecified address"),
        ip if ip.is_unicast_link_local() => Some("a link-local address"),
        ip if ip.is_multicast() => Some("a multicast address"),
        _ => None,
    }
}

fn is_local_name(name: &str) -> bool {
    matches!(name, "localhost" | "localhost.localdomain" | "ip6-localhost" | "ip6-loopback")
        || name.ends_with(".localhost")
}

fn check_characters(text: &str) -> Result<(), Fault> {
    let plain = |byte: u8| byte.is_ascii_graphic() && byte != b',';
    if text.len() <= URL_MAX && text.bytes().all(plain) {
        return Ok(());
    }
    let length = text.chars().count();
    if length > URL_MAX {
        return Err(Fault::Long(length));
    }
    match text.chars().find(|c| !c.is_ascii_graphic() || *c == ',') {
        Some(',') => Err(Fault::Comma),
        Some(c) if c.is_whitespace() || c.is_control() => Err(Fault::Blank),
        Some(c) => Err(Fault::NotAscii(c)),
        None => Ok(()),
    }
}

fn https(scheme: &str) -> Result<bool, Fault> {
    if scheme.eq_ignore_ascii_case("https") {
        Ok(true)
    } else if scheme.eq_ignore_ascii_case("http") {
        Ok(false)
    } else {
        Err(Fault::Scheme(crate::text::shortened(scheme, 32)))
    }
}

fn check_tail(tail: &str) -> Result<(), Fault> {
    match tail.chars().next() {
        None => Ok(()),
        Some('?') => Err(Fault::Query),
        Some('#') => Err(Fault::Fragment),
        Some(_) => Err(Fault::Path(crate::text::shortened(tail, 64))),
    }
}

/// Host and port of an authority; the port as it is written.
fn split_port(authority: &str) -> Result<(&str, Option<&str>), Fault> {
    if let Some(end) = authority.rfind(']') {
        let (host, port) = authority.split_at(end + 1);
        return match port {
            "" => Ok((host, None)),
            port => port.strip_prefix(':').map(|port| (host, Some(port))).ok_or_else(|| not_ipv6(authority)),
        };
    }
    if authority.starts_with('[') {
        return Err(not_ipv6(authority));
    }
    match authority.split_once(':') {
        Some((_, port)) if port.contains(':') && is_bare_ipv6(authority) => Err(Fault::Bare6),
        Some((host, port)) => Ok((host, Some(port))),
        None => Ok((authority, None)),
    }
}

/// Whether an authority is an IPv6 address, alone or before a port.
fn is_bare_ipv6(authority: &str) -> bool {
    let is_ipv6 = |text: &str| text.parse::<Ipv6Addr>().is_ok();
    is_ipv6(authority) || authority.rsplit_once(':').is_some_and(|(host, _)| is_ipv6(host))
}

fn not_ipv6(host: &str) -> Fault {
    Fault::NotIpv6(crate::text::shortened(host, 64))
}

fn read_port(text: &str) -> Result<u16, Fault> {
    let bare = !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit());
    let port = text.parse().ok().filter(|_| bare);
    port.ok_or_else(|| Fault::Port(crate::text::shortened(text, 32)))
}

/// An IPv6 address in brackets, an IPv4 address in full, or a DNS name in lower case.
fn read_host(text: &str) -> Result<Host<String>, Fault> {
    let shown = || crate::text::shortened(text, 64);
    if text.is_empty() {
        return Err(Fault::NoHost);
    }
    if text.starts_with('[') {
        let inside = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        return inside.and_then(|ip| ip.parse().ok()).map(Host::Ipv6).ok_or_else(|| not_ipv6(text));
    }
    let name = text.to_ascii_lowercase();
    if ends_in_a_number(&name) {
        return name.parse().map(Host::Ipv4).map_err(|_| Fault::NotIpv4(shown()));
    }
    if is_host_name(&name) { Ok(Host::Domain(name)) } else { Err(Fault::NotName(shown())) }
}

/// Whether resolvers and the URL standard take a host for an IPv4 address, in full or not.
fn ends_in_a_number(name: &str) -> bool {
    let last = name.strip_suffix('.').unwrap_or(name).rsplit('.').next().unwrap_or_default();
    last.starts_with("0x") || (!last.is_empty() && last.bytes().all(|b| b.is_ascii_digit()))
}

fn is_host_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    is_rfc1123_subdomain(name) && name.split('.').all(|label| label.len() <= LABEL_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_an_address() {
        for (text, canonical) in [
            ("http://10.0.0.1:2380", "http://10.0.0.1:2380"),
            ("HTTPS://Etcd-0.Example:2380", "https://etcd-0.example:2380"),
            ("http://[2001:DB8:0:0::1]:2380", "http://[2001:db8::1]:2380"),
            ("http://h.:2380", "http://h.:2380"),
            ("http://h:80", "http://h:80"),
            ("https://h:443", "https://h:443"),
            ("http://1a:1", "http://1a:1"),
            ("http://h", "http://h"),
            ("http://xn--bcher-kva.example:1", "http://xn--bcher-kva.example:1"),
            ("http://xn--a.example:1", "http://xn--a.example:1"),
            ("http://[::FFFF:0a00:1]:2380", "http://[::ffff:10.0.0.1]:2380"),
        ] {
            assert_eq!(Address::read(text).map(|a| a.to_string()), Ok(canonical.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_is_none() {
        let long = format!("http://{}:1", "a".repeat(2048));
        let label = format!("http://{}:1", "a".repeat(64));
        for (text, part) in [
            ("", "begin with"),
            ("10.0.0.1:2380", "begin with"),
            ("ftp://h:1", "scheme \"ftp\""),
            ("unix://h:1", "scheme \"unix\""),
            ("http://", "no host"),
            ("http://:2380", "no host"),
            ("http:///p", "path \"/p\""),
            ("http://h:2380/", "path \"/\""),
            ("http://h:2380\\x", "path"),
            ("http://h:2380?q", "query"),
            ("http://h:2380#f", "fragment"),
            ("http://u:p@h:2380", "user information"),
            ("http://h:", "port \"\""),
            ("http://h:0", "port \"0\""),
            ("http://h:02380", "port \"02380\""),
            ("http://h:+2380", "port \"+2380\""),
            ("http://h:65536", "port \"65536\""),
            ("http://h:abc", "port \"abc\""),
            ("http://h:2380,evil=http://1.2.3.4:2380", "comma"),
            ("http://h:2380/,evil=http://1.2.3.4:2380", "comma"),
            (" http://h:2380", "white space"),
            ("http://h :2380", "white space"),
            ("http://h\0:2380", "control"),
            ("http://hä:2380", "not ASCII"),
            ("http://::1:2380", "brackets"),
            ("http://[10.0.0.1]:2380", "no IPv6"),
            ("http://[fe80::1%25eth0]:2380", "no IPv6"),
            ("http://[::1]x:2380", "no IPv6"),
            ("http://127.1:2380", "IPv4"),
            ("http://010.0.0.1:2380", "IPv4"),
            ("http://256.0.0.1:2380", "IPv4"),
            ("http://0x7f.1:2380", "IPv4"),
            ("http://a.0x1:2380", "IPv4"),
            ("http://a.1:2380", "IPv4"),
            ("http://10.0.0.1.:2380", "IPv4"),
            ("http://foo.0xzz:2380", "IPv4"),
            ("http://A.0XG.:1", "IPv4"),
            ("http://h:1:2", "port \"1:2\""),
            ("http://[::1:2380", "no IPv6"),
            ("http:/h:1", "begin with"),
            ("http://h_under:2380", "DNS name"),
            ("http://*:2380", "DNS name"),
            ("http://-h:2380", "DNS name"),
            ("http://a..b:2380", "DNS name"),
            ("http://%68:2380", "DNS name"),
            (&long, "characters"),
            (&label, "DNS name"),
        ] {
            let fault = Address::read(text).expect_err(text).to_string();
            assert!(fault.contains(part), "{text}: {fault}");
        }
        assert!(matches!(Address::with_port("http://h"), Err(Fault::NoPort(_))));
    }

    #[test]
    fn the_same_address() {
        let same = |a: &str, b: &str| Address::read(a).unwrap().place() == Address::read(b).unwrap().place();
        assert!(same("http://h:1", "https://H.:1"));
        assert!(same("http://[::ffff:10.0.0.1]:1", "http://10.0.0.1:1"));
        assert!(same("http://[2001:db8::1]:1", "http://[2001:DB8:0:0::1]:1"));
        assert!(same("http://h", "http://h"));
        assert!(!same("http://h:80", "http://h"), "no port is different from any port");
        assert!(!same("http://h:1", "http://h:2"));
        assert!(!same("http://h:1", "http://g:1"));
    }

    #[test]
    fn what_no_other_pod_reaches() {
        for url in [
            "http://127.0.0.1:1",
            "http://127.9.9.9:1",
            "http://0.0.0.0:1",
            "http://169.254.1.1:1",
            "http://224.0.0.1:1",
            "http://255.255.255.255:1",
            "http://[::1]:1",
            "http://[::]:1",
            "http://[fe80::1]:1",
            "http://[ff02::1]:1",
            "http://[::ffff:127.0.0.1]:1",
            "http://LOCALHOST:1",
            "http://localhost.:1",
            "http://a.localhost:1",
            "http://localhost.localdomain:1",
            "http://ip6-loopback:1",
        ] {
            assert!(Address::read(url).unwrap().unreachable().is_some(), "{url}");
        }
        for url in [
            "http://10.0.0.1:1",
            "http://[2001:db8::1]:1",
            "http://mylocalhost:1",
            "http://localhost.example:1",
        ] {
            assert_eq!(Address::read(url).unwrap().unreachable(), None, "{url}");
        }
    }

    #[test]
    fn canonical_changes_spelling_only() {
        for (text, expected) in [
            (" HTTP://H:2380/ ", Some("http://h:2380")),
            ("http://H", Some("http://h")),
            ("http://h:2380//", None),
            ("http://h:2380/p", None),
            ("http://u@H:2380", None),
            ("FTP://H:1", None),
            ("http://127.1:1", None),
            ("nonsense", None),
        ] {
            assert_eq!(canonical(text).as_deref(), expected, "{text:?}");
        }
    }
}
