//! Whose a connection of this machine is: the kernel knows which user opened the other end.

use std::net::{IpAddr, SocketAddr};

/// Whether the other end of a connection to `here` from `there` was opened by this process's own user.
pub(crate) fn is_own(here: SocketAddr, there: SocketAddr) -> bool {
    let me = rustix::process::geteuid().as_raw();
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
    let tables: Vec<String> = tables
        .iter()
        .filter_map(|table| std::fs::read_to_string(table).ok())
        .collect();
    // If the system has neither table, nobody is turned away here: the secret in the path and the cookie still keep
    // other users out.
    tables.is_empty()
        || tables
            .iter()
            .any(|table| owner_in(table, here, there) == Some(me))
}

/// The user that the table names for the socket at `there` which is connected with `here` (proc(5), `/proc/net/tcp`).
fn owner_in(table: &str, here: SocketAddr, there: SocketAddr) -> Option<u32> {
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (local, remote) = (fields.next()?, fields.next()?);
        let is_it = names(local, there) && names(remote, here);
        // Behind the two addresses stand state, queues, timer and retransmissions; then the user.
        is_it.then(|| fields.nth(4)?.parse().ok())?
    })
}

/// Whether a field of the table is that address: the address in the machine's byte order, the port as it is written.
fn names(field: &str, address: SocketAddr) -> bool {
    let Some((host, port)) = field.split_once(':') else {
        return false;
    };
    let IpAddr::V4(ip) = address.ip() else {
        return false;
    };
    let v4 = format!("{:08X}", u32::from_ne_bytes(ip.octets()));
    // A socket that takes IPv6 and IPv4 is listed in `tcp6`, with the IPv4 address in its mapped form
    // (`::ffff:127.0.0.1`).
    let mapped = format!(
        "0000000000000000{:08X}{v4}",
        u32::from_ne_bytes([0, 0, 0xff, 0xff])
    );
    let is_host = host == v4 || host == mapped;
    is_host && u16::from_str_radix(port, 16) == Ok(address.port())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_of_this_user_is_its_own() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = listener.local_addr().unwrap();
        let stream = TcpStream::connect(here).unwrap();
        let (_accepted, there) = listener.accept().unwrap();
        assert_eq!(stream.local_addr().unwrap(), there);
        assert!(is_own(here, there));
        let gone = SocketAddr::new(there.ip(), 1);
        assert!(!is_own(here, gone), "nobody has that port");
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn another_users_connection_is_not_taken_for_the_persons() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             0: 0503027F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1\n\
             1: 0100007F:C350 0503027F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 2 1\n";
        let here: SocketAddr = "127.2.3.5:8080".parse().unwrap();
        let there: SocketAddr = "127.0.0.1:50000".parse().unwrap();
        assert_eq!(owner_in(table, here, there), Some(1001));
        assert_eq!(owner_in(table, there, here), None);
    }
}
