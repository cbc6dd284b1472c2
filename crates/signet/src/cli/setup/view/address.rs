//! Where a program of `signet view` listens: at an address of this machine that nobody can foretell.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::os::fd::{AsFd as _, BorrowedFd};

use data_encoding::BASE64URL_NOPAD;
use signet_cord::ListenAt;

use crate::cli::CliError;
use crate::random;

/// An address that is bound, and the secret of the path there.
pub(super) struct BoundAddress {
    socket: TcpListener,
    at: SocketAddr,
    secret: String,
}

impl BoundAddress {
    /// At that port of 127.0.0.1; without one at a random address of 127.0.0.0/8, and a port that the system chooses.
    pub(super) fn bind(port: Option<u16>) -> Result<Self, CliError> {
        let failed = |error: std::io::Error| {
            let what = format!("no address of this machine to listen at: {error}");
            CliError::refused(what, "name a port that nobody has: signet view --port 7701")
        };
        let ip = match port {
            Some(_) => Ipv4Addr::LOCALHOST,
            None => {
                // Use no byte 0 or 255: an address with one may stand for a whole network, or for all machines in it.
                let random = random::bytes::<3>().map_err(failed)?;
                let [a, b, c] = random.map(|byte| byte.clamp(1, 254));
                Ipv4Addr::new(127, a, b, c)
            }
        };
        let at = SocketAddrV4::new(ip, port.unwrap_or(0));
        let socket = TcpListener::bind(at).map_err(failed)?;
        let at = socket.local_addr().map_err(failed)?;
        Ok(Self {
            socket,
            at,
            secret: fresh()?,
        })
    }

    /// The word that goes with the socket.
    pub(super) fn listen_at(&self) -> ListenAt {
        ListenAt {
            secret: self.secret.clone(),
            host: self.at.to_string(),
            desk: None,
            homes: None,
            idle: None,
        }
    }

    /// The socket, for the program that listens.
    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// As a browser names it.
    pub(super) fn origin(&self) -> String {
        format!("http://{}", self.at)
    }
}

/// 43 characters that nobody guesses.
pub(super) fn fresh() -> Result<String, CliError> {
    let bytes = random::bytes::<32>().map_err(|error| {
        let what = format!("no random bytes: {error}");
        CliError::refused(what, "run it where getrandom(2) is allowed")
    })?;
    Ok(BASE64URL_NOPAD.encode(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_views_listen_at_addresses_that_nobody_foretells() {
        let one = BoundAddress::bind(None).unwrap();
        let other = BoundAddress::bind(None).unwrap();
        assert!(one.at.ip().is_loopback() && other.at.ip().is_loopback());
        assert_ne!(one.at, other.at);
        assert_ne!(one.secret, other.secret);
        assert_eq!(one.secret.len(), 43);
        assert_eq!(one.listen_at().host, one.at.to_string());
    }
}
