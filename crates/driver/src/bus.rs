//! The NATS protocol by hand: what no client library would send, and no client library is needed for.

use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::net::TcpStream;

use crate::DriverError;

/// Sends any bytes to any subject.
pub struct Publisher {
    out: BufWriter<TcpStream>,
    back: BufReader<TcpStream>,
}

impl Publisher {
    /// Connects to the server on that port of the loopback, as anybody.
    ///
    /// # Errors
    /// `Bus`.
    pub fn connect(port: u16) -> Result<Self, DriverError> {
        let mut publisher = Self::open(port).map_err(DriverError::Bus)?;
        publisher.flush()?;
        Ok(publisher)
    }

    /// Sends; [`Publisher::flush`] says when the server has it.
    ///
    /// # Errors
    /// `Bus`.
    pub fn put(&mut self, subject: &str, payload: &[u8]) -> Result<(), DriverError> {
        self.write(subject, payload).map_err(DriverError::Bus)
    }

    /// Waits until the server has handed on all that was sent before.
    ///
    /// # Errors
    /// `Bus`, also with what the server has to object.
    pub fn flush(&mut self) -> Result<(), DriverError> {
        self.round_trip().map_err(DriverError::Bus)
    }

    fn open(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        // Send each write at once: otherwise a small write may wait until the server has acknowledged the write before it.
        stream.set_nodelay(true)?;
        let back = BufReader::new(stream.try_clone()?);
        let mut out = BufWriter::with_capacity(1 << 16, stream);
        out.write_all(b"CONNECT {\"verbose\":false,\"pedantic\":false}\r\n")?;
        Ok(Self { out, back })
    }

    fn write(&mut self, subject: &str, payload: &[u8]) -> io::Result<()> {
        write!(self.out, "PUB {subject} {}\r\n", payload.len())?;
        self.out.write_all(payload)?;
        self.out.write_all(b"\r\n")
    }

    fn round_trip(&mut self) -> io::Result<()> {
        self.out.write_all(b"PING\r\n")?;
        self.out.flush()?;
        let mut line = String::new();
        while line.trim_end() != "PONG" {
            line.clear();
            if self.back.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if line.starts_with("-ERR") {
                return Err(io::Error::other(line.trim_end().to_owned()));
            }
        }
        Ok(())
    }
}
