//! A client that keeps writing, whatever happens to the cluster: what was acknowledged must be there in the end.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::shop::{SOON, Shop};

/// Between two writes.
const PAUSE: Duration = Duration::from_millis(20);

pub struct Writer {
    stop: Arc<AtomicBool>,
    writes: JoinHandle<Vec<u32>>,
}

impl Writer {
    /// Writes to these members in turn, by etcd's gateway.
    pub fn to(addresses: Vec<SocketAddr>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let writes = thread::spawn(move || {
            let mut acknowledged = Vec::new();
            let numbers = (0..).take_while(|_| !stopped.load(Ordering::Relaxed));
            for (number, address) in numbers.zip(addresses.iter().cycle()) {
                acknowledged.extend(
                    put(*address, number).filter(|answer| answer.starts_with("HTTP/1.1 200")).map(|_| number),
                );
                thread::sleep(PAUSE);
            }
            acknowledged
        });
        Self { stop, writes }
    }

    /// Writes to the members of a source.
    pub fn to_source(shop: &Shop, count: u8) -> Self {
        Self::to((1..=count).map(|number| (shop.source_address(number), 2379).into()).collect())
    }

    /// Stops, and looks for everything that was acknowledged at this endpoint.
    pub fn lost_nothing(self, shop: &Shop, endpoint: &str) {
        self.stop.store(true, Ordering::Relaxed);
        let acknowledged = self.writes.join().unwrap();
        assert!(!acknowledged.is_empty(), "nothing was ever acknowledged");
        let found = shop.etcdctl(endpoint, &["get", "written-", "--prefix", "--keys-only"]);
        let found: std::collections::BTreeSet<&str> = found.lines().collect();
        let lost: Vec<_> =
            acknowledged.iter().filter(|number| !found.contains(key(**number).as_str())).collect();
        assert!(lost.is_empty(), "{} of {} writes were lost: {lost:?}", lost.len(), acknowledged.len());
    }
}

fn key(number: u32) -> String {
    format!("written-{number}")
}

fn put(address: SocketAddr, number: u32) -> Option<String> {
    let body = format!(r#"{{"key":"{}","value":"{}"}}"#, STANDARD.encode(key(number)), STANDARD.encode("x"));
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(8))).ok()?;
    let head = format!("POST /v3/kv/put HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n", body.len());
    write!(stream, "{head}connection: close\r\n\r\n{body}").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// Waits until something is so that no report tells.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + SOON;
    while !is_so() {
        assert!(Instant::now() < deadline, "never {what}");
        thread::sleep(Duration::from_millis(100));
    }
}
