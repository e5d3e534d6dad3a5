//! A client that sees what a webhook's client sees: TLS by tokio-rustls, HTTP/1.1 by hand.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::SOON;

/// What came back.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub fn closes(&self) -> bool {
        self.header("connection") == Some("close")
    }

    pub fn allowed(&self) -> bool {
        let review: serde_json::Value = serde_json::from_str(&self.body).expect(&self.body);
        review["response"]["allowed"].as_bool().expect("allowed")
    }
}

/// How to speak TLS.
pub struct Options<'a> {
    pub ca: &'a Path,
    pub name: &'a str,
    pub versions: &'a [&'static SupportedProtocolVersion],
    pub alpn: &'a [&'a str],
    pub identity: Option<(&'a Path, &'a Path)>,
}

impl<'a> Options<'a> {
    pub fn new(ca: &'a Path) -> Self {
        Self { ca, name: "localhost", versions: rustls::ALL_VERSIONS, alpn: &["http/1.1"], identity: None }
    }

    pub fn config(&self) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(self.ca).unwrap() {
            roots.add(certificate.unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(self.versions)
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match self.identity {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => {
                let chain = CertificateDer::pem_file_iter(chain).unwrap().map(Result::unwrap).collect();
                builder.with_client_auth_cert(chain, PrivateKeyDer::from_pem_file(key).unwrap()).unwrap()
            }
        };
        config.alpn_protocols = self.alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        config
    }

    pub async fn connect(&self, address: SocketAddr) -> io::Result<Client> {
        connect_with(Arc::new(self.config()), self.name, address).await
    }
}

pub async fn connect_with(config: Arc<ClientConfig>, name: &str, address: SocketAddr) -> io::Result<Client> {
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let connecting = async {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        TlsConnector::from(config).connect(name, socket).await
    };
    let stream = timeout(SOON, connecting).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    Ok(Client { stream })
}

/// One connection.
pub struct Client<S = TlsStream<TcpStream>> {
    pub stream: S,
}

/// A TLS connection that trusts `ca`.
pub async fn connect(address: SocketAddr, ca: &Path) -> Client {
    Options::new(ca).connect(address).await.unwrap()
}

/// One request on a connection of its own.
pub async fn post(address: SocketAddr, ca: &Path, path: &str, body: &str) -> Answer {
    connect(address, ca).await.post(path, body).await.unwrap()
}

/// One GET without TLS.
pub async fn plain(address: SocketAddr, path: &str) -> Answer {
    try_plain(address, path).await.unwrap()
}

/// The same where perhaps nobody listens.
pub async fn try_plain(address: SocketAddr, path: &str) -> io::Result<Answer> {
    let mut client = Client { stream: TcpStream::connect(address).await? };
    client.send(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes()).await?;
    client.answer().await
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    pub async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    pub async fn post(&mut self, path: &str, body: &str) -> io::Result<Answer> {
        self.post_as(path, "application/json", body).await
    }

    /// Bytes that needn't be text.
    pub async fn post_bytes(&mut self, path: &str, body: &[u8]) -> io::Result<Answer> {
        self.post_as(path, "application/json", body).await
    }

    pub async fn post_as(
        &mut self,
        path: &str,
        content_type: &str,
        body: impl AsRef<[u8]>,
    ) -> io::Result<Answer> {
        let body = body.as_ref();
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n"
        );
        self.send(&[head.as_bytes(), body].concat()).await?;
        self.answer().await
    }

    /// Reads one answer; an error where the connection ends before.
    pub async fn answer(&mut self) -> io::Result<Answer> {
        timeout(SOON, self.read_answer()).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }

    async fn read_answer(&mut self) -> io::Result<Answer> {
        let mut read = Vec::new();
        let end = loop {
            if let Some(end) = read.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break end + 4;
            }
            self.read_some(&mut read).await?;
        };
        let head = String::from_utf8(read[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut answer = Answer { status, head, body: String::new() };
        let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        while read.len() < end + length {
            self.read_some(&mut read).await?;
        }
        answer.body = String::from_utf8(read[end..end + length].to_vec()).unwrap();
        Ok(answer)
    }

    async fn read_some(&mut self, read: &mut Vec<u8>) -> io::Result<()> {
        match self.stream.read_buf(read).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    /// Waits until the server has closed the connection.
    pub async fn closed(&mut self) -> bool {
        let mut rest = Vec::new();
        // A reset is an end too.
        timeout(SOON, self.stream.read_to_end(&mut rest)).await.is_ok()
    }
}
