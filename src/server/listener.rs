//! Accepts connections: so many at once, each known until its first request is answered, and all that the
//! kernel has queued before it closes.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::connect_info::Connected;
use axum_server::{AddrListener, Address};
use prometheus_client::metrics::gauge::Gauge;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Who is at the other end of a connection. axum-server keeps one as long as the connection's task lives, so
/// that what it holds is given back at the connection's end, however that comes.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    connection: Arc<Connection>,
}

#[derive(Debug)]
struct Connection {
    /// Held until the first request is answered.
    fresh: Mutex<Option<TaskTrackerToken>>,
    gauge: Gauge,
    _place: Option<OwnedSemaphorePermit>,
}

impl Peer {
    /// The connection's first request is answered: from here on axum-server's graceful shutdown loses nothing
    /// of it.
    pub(super) fn has_been_answered(&self) {
        drop(self.connection.fresh.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.gauge.dec();
    }
}

impl Connected<Self> for Peer {
    fn connect_info(peer: Self) -> Self {
        peer
    }
}

impl Address for Peer {
    type Stream = TcpStream;
    type Listener = Listener;
}

/// How far a listener is with closing; shared with whoever closes it.
#[derive(Clone, Debug, Default)]
pub(super) struct Closing {
    /// Set from outside: take what is queued, and close.
    pub(super) stop: CancellationToken,
    /// Set by the listener: it is closed.
    pub(super) closed: CancellationToken,
    /// Connections before the end of their first request.
    pub(super) fresh: TaskTracker,
}

/// A listening socket.
#[derive(Debug)]
pub(super) struct Listener {
    phase: Mutex<Phase>,
    places: Arc<Semaphore>,
    gauge: Gauge,
    closing: Closing,
}

#[derive(Debug)]
enum Phase {
    Open(Arc<TcpListener>),
    /// Taking what the kernel has queued, without waiting.
    Emptying(std::net::TcpListener),
    Closed,
}

impl Listener {
    /// Listens on a bound socket, for at most `max_connections` at once.
    pub(super) fn new(socket: TcpListener, max_connections: usize, gauge: Gauge, closing: Closing) -> Self {
        let phase = Mutex::new(Phase::Open(Arc::new(socket)));
        Self { phase, places: Arc::new(Semaphore::new(max_connections)), gauge, closing }
    }

    async fn next(&self) -> io::Result<(TcpStream, Peer)> {
        tokio::select! {
            biased;
            () = self.closing.stop.cancelled() => {}
            accepted = self.accept() => return accepted,
        }
        match self.next_queued()? {
            Some(stream) => Ok((stream, self.peer(None))),
            None => std::future::pending().await,
        }
    }

    /// Waits for a place first: connections beyond wait in the kernel's backlog.
    async fn accept(&self) -> io::Result<(TcpStream, Peer)> {
        let Some(listener) = self.open() else { return std::future::pending().await };
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(io::Error::other)?;
        let (stream, _) = listener.accept().await?;
        Ok((stream, self.peer(Some(place))))
    }

    fn open(&self) -> Option<Arc<TcpListener>> {
        match &*self.phase() {
            Phase::Open(listener) => Some(Arc::clone(listener)),
            Phase::Emptying(_) | Phase::Closed => None,
        }
    }

    /// The next connection of the kernel's backlog, which bounds them; once there is none, closes the socket.
    /// Asked of the socket itself: the runtime may not have heard of the last ones yet.
    fn next_queued(&self) -> io::Result<Option<TcpStream>> {
        let mut phase = self.phase();
        if let Phase::Open(_) = *phase {
            *phase = std::mem::replace(&mut *phase, Phase::Closed).stop_waiting()?;
        }
        let Phase::Emptying(socket) = &*phase else { return Ok(None) };
        match socket.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(true)?;
                TcpStream::from_std(stream).map(Some)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                *phase = Phase::Closed;
                self.closing.closed.cancel();
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn peer(&self, place: Option<OwnedSemaphorePermit>) -> Peer {
        self.gauge.inc();
        let fresh = Mutex::new(Some(self.closing.fresh.token()));
        Peer { connection: Arc::new(Connection { fresh, gauge: self.gauge.clone(), _place: place }) }
    }

    // No code that can panic runs while the lock is held.
    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Phase {
    fn stop_waiting(self) -> io::Result<Self> {
        match self {
            // Nobody else holds it: the future that accepts has been dropped.
            Self::Open(listener) => match Arc::into_inner(listener) {
                Some(listener) => listener.into_std().map(Self::Emptying),
                None => Ok(Self::Closed),
            },
            other => Ok(other),
        }
    }
}

impl AddrListener<TcpStream, Peer> for Listener {
    async fn bind_to(_: Peer) -> io::Result<Self> {
        Err(io::Error::other("a listener is made from a bound socket"))
    }

    async fn accept_stream(&self) -> io::Result<(TcpStream, Peer)> {
        let (stream, peer) = self.next().await?;
        // An answer is one small write: waiting to fill a packet would delay it. Where the client has gone
        // already, its handshake says so.
        let _ = stream.set_nodelay(true);
        Ok((stream, peer))
    }

    // Nobody asks: whoever bound the socket knows.
    fn get_local_addr(&self) -> io::Result<Peer> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpStream as Client};
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    const SOON: Duration = Duration::from_secs(10);

    async fn listener(max_connections: usize) -> (Listener, SocketAddr, Closing) {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, closing) = (socket.local_addr().unwrap(), Closing::default());
        (Listener::new(socket, max_connections, Gauge::default(), closing.clone()), address, closing)
    }

    #[tokio::test]
    async fn what_the_kernel_has_queued_is_taken_before_the_socket_closes() {
        let (listener, address, closing) = listener(1).await;
        let _clients: Vec<Client> = (0..8).map(|_| Client::connect(address).unwrap()).collect();
        closing.stop.cancel();
        let mut held = Vec::new();
        while let Ok(accepted) = timeout(Duration::from_millis(200), listener.accept_stream()).await {
            held.push(accepted.unwrap());
        }
        assert_eq!(held.len(), 8);
        assert!(closing.closed.is_cancelled());
        assert!(Client::connect(address).is_err(), "nobody listens any more");
    }

    #[tokio::test]
    async fn connections_beyond_the_limit_wait_for_a_place() {
        let (listener, address, _closing) = listener(1).await;
        let _clients = [Client::connect(address).unwrap(), Client::connect(address).unwrap()];
        let (_stream, first) = timeout(SOON, listener.accept_stream()).await.unwrap().unwrap();
        assert_eq!(listener.gauge.get(), 1);
        assert!(timeout(Duration::from_millis(50), listener.accept_stream()).await.is_err());
        drop(first);
        assert!(timeout(SOON, listener.accept_stream()).await.unwrap().is_ok());
        assert_eq!(listener.gauge.get(), 0);
    }

    #[tokio::test]
    async fn a_connection_is_fresh_until_its_first_answer_or_its_end() {
        let (listener, address, closing) = listener(8).await;
        let _clients = [Client::connect(address).unwrap(), Client::connect(address).unwrap()];
        let (_, answered) = listener.accept_stream().await.unwrap();
        let (_, ended) = listener.accept_stream().await.unwrap();
        closing.fresh.close();
        assert_eq!(closing.fresh.len(), 2);
        answered.has_been_answered();
        answered.has_been_answered();
        assert_eq!(closing.fresh.len(), 1);
        drop(ended);
        assert!(timeout(SOON, closing.fresh.wait()).await.is_ok());
    }
}
