//! Who holds a connection to a port of this pod: the proof that a voter gets through to a joiner, which etcd itself
//! never asks for.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tokio::net::lookup_host;

use super::facts::Member;

/// `st` of an established connection.
const ESTABLISHED: &str = "01";

/// How many of these members hold a connection to a port here, by the addresses that their peer URLs have.
pub async fn reached_by(members: &[&Member], port: u16) -> Result<usize, String> {
    let remotes = remotes(port).map_err(|error| format!("can't see this pod's connections: {error}"))?;
    let mut count = 0;
    for member in members {
        count += usize::from(addresses(member).await.iter().any(|address| remotes.contains(address)));
    }
    Ok(count)
}

async fn addresses(member: &Member) -> BTreeSet<IpAddr> {
    let mut found = BTreeSet::new();
    for url in &member.peer_urls {
        let (_, host, port) = super::entry::place(url);
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        if let Ok(resolved) = lookup_host((host, port.unwrap_or_default())).await {
            found.extend(resolved.map(|address| address.ip().to_canonical()));
        }
    }
    found
}

fn remotes(port: u16) -> io::Result<BTreeSet<IpAddr>> {
    let mut found = BTreeSet::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        match fs::read_to_string(table) {
            Ok(text) => found.extend(parse(&text, port)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Remote addresses of established connections to a local port, in the kernel's table.
fn parse(table: &str, port: u16) -> impl Iterator<Item = IpAddr> {
    table.lines().skip(1).filter_map(move |line| {
        let mut fields = line.split_whitespace().skip(1);
        let (local, remote, state) = (fields.next()?, fields.next()?, fields.next()?);
        let (_, local_port) = local.split_once(':')?;
        let fits = state == ESTABLISHED && u16::from_str_radix(local_port, 16).ok()? == port;
        address(remote.split_once(':')?.0).filter(|_| fits)
    })
}

/// Words of 32 bits in the machine's own order.
fn address(hexadecimal: &str) -> Option<IpAddr> {
    let words: Option<Vec<u32>> = (0..hexadecimal.len() / 8)
        .map(|index| u32::from_str_radix(hexadecimal.get(index * 8..index * 8 + 8)?, 16).ok())
        .collect();
    let bytes: Vec<u8> = words?.into_iter().flat_map(u32::to_ne_bytes).collect();
    let four = <[u8; 4]>::try_from(bytes.as_slice()).map(Ipv4Addr::from).map(IpAddr::from);
    let sixteen = || <[u8; 16]>::try_from(bytes.as_slice()).map(Ipv6Addr::from).map(IpAddr::from);
    four.or_else(|_| sixteen()).ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::voter;

    #[test]
    fn established_connections_to_the_port_count() {
        let table = "  sl  local_address rem_address   st\n\
             0: 0100007F:094C 0200000A:C350 01 0\n\
             1: 0100007F:094C 00000000:0000 0A 0\n\
             2: 0100007F:094B 0300000A:C350 01 0\n\
             3: 0000000000000000FFFF00000100007F:094C 0000000000000000FFFF00000400000A:C350 01 0\n";
        let found: Vec<IpAddr> = parse(table, 2380).collect();
        assert_eq!(found, ["10.0.0.2".parse::<IpAddr>().unwrap(), "10.0.0.4".parse().unwrap()]);
    }

    #[tokio::test]
    async fn a_connection_from_a_members_address_is_seen() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let here = voter(1, "a", &["http://127.0.0.1:2380"]);
        let elsewhere = voter(2, "b", &["http://192.0.2.1:2380"]);
        assert_eq!(reached_by(&[&here, &elsewhere], address.port()).await, Ok(0));
        let _client = tokio::net::TcpStream::connect(address).await.unwrap();
        let _server = listener.accept().await.unwrap();
        assert_eq!(reached_by(&[&here, &elsewhere], address.port()).await, Ok(1));
    }
}
