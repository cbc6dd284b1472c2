//! Where a home's own NATS server listens.

use std::io::Read as _;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use crate::cli::CliError;

/// Whether a NATS server answers at HOST:PORT: it greets whoever connects.
pub(in crate::cli) fn speaks_nats(address: &str) -> bool {
    let addresses = address.to_socket_addrs().into_iter().flatten();
    let greets = |address: SocketAddr| {
        let second = Some(Duration::from_secs(1));
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok()?;
        stream.set_read_timeout(second).ok()?;
        let mut greeting = [0; 5];
        stream.read_exact(&mut greeting).ok()?;
        (greeting == *b"INFO ").then_some(())
    };
    addresses.filter_map(greets).next().is_some()
}

/// Checks that HOST:PORT can be listened at; the port 0 becomes a free one.
pub(super) fn free(listen: &str) -> Result<String, CliError> {
    let busy = |error: std::io::Error| {
        if error.kind() == std::io::ErrorKind::InvalidInput {
            let next = "write HOST:PORT, such as 127.0.0.1:4222";
            return CliError::usage(format!("--listen {listen}: {error}"), next);
        }
        let what = format!("nobody can listen at {listen}: {error}");
        let next = "free the port, or name another: signet up --listen HOST:PORT; or use the server that \
                    is there: signet up --nats URL";
        CliError::refused(what, next)
    };
    // The listener is closed when this function ends, so that the server can take the port. If another
    // program takes the port first, the server reports it.
    let listener = TcpListener::bind(listen).map_err(busy)?;
    let address = listener.local_addr().map_err(busy)?;
    match listen.strip_suffix(":0") {
        Some(host) => Ok(format!("{host}:{}", address.port())),
        None => Ok(listen.to_owned()),
    }
}

/// A NATS server has the address of this home's, and is not known to be this home's.
pub(super) fn taken(listen: &str) -> CliError {
    let port = listen.rsplit_once(':').map_or(listen, |(_, port)| port);
    let what = format!(
        "a NATS server listens at {listen}, the address of this home's own, and was not started for this home as it is now"
    );
    let next = format!(
        "ss -ltnp 'sport = :{port}'  # shows its process: if it is this home's from before, end it with kill, then: signet \
         up; or name another address: signet up --listen HOST:PORT"
    );
    CliError::refused(what, next)
}

/// Where a NATS server usually listens.
pub(in crate::cli::setup::up) const USUAL: &str = "127.0.0.1:4222";
