//! One end of a cord.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg,
    sendmsg, socketpair,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use signet_json::Limits;

/// One end. Dropping it ends the other program's wait.
#[derive(Debug)]
pub struct Cord(OwnedFd);

/// A cord that does not do its work.
#[derive(Debug, thiserror::Error)]
pub enum CordError {
    /// The system refused.
    #[error("the cord to the other program: {0}")]
    Io(#[from] io::Error),
    /// The datagram that came is none of its words.
    #[error("the other program said what no program of signet says")]
    Malformed,
    /// A word that was to be sent does not fit into a datagram.
    #[error("a word for the other program is too long")]
    TooLong,
}

impl Cord {
    /// A cord: this end, and the one that a started program has as standard input.
    ///
    /// # Errors
    /// When the system has no file descriptor left.
    pub fn pair() -> Result<(Self, OwnedFd), CordError> {
        let kind = SocketType::SEQPACKET;
        // Close both ends at exec: other programs that this one starts must not inherit them. The program at the other
        // end gets its end as standard input.
        let (here, there) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)
            .map_err(io::Error::from)?;
        // A program that reads nothing must not hold up the launcher for ever.
        set_socket_timeout(&here, Timeout::Send, Some(PATIENCE)).map_err(io::Error::from)?;
        Ok((Self(here), there))
    }

    /// The end that this program was started with.
    ///
    /// # Errors
    /// When the system has no file descriptor left.
    pub fn of_stdin() -> Result<Self, CordError> {
        Ok(Self(io::stdin().as_fd().try_clone_to_owned()?))
    }

    /// Another handle to the same end.
    ///
    /// # Errors
    /// When the system has no file descriptor left.
    pub fn try_clone(&self) -> Result<Self, CordError> {
        Ok(Self(self.0.try_clone()?))
    }

    /// Says one word, and hands over what belongs to it.
    ///
    /// # Errors
    /// When the other program is gone, or does not read.
    pub fn send(
        &self,
        word: &impl Serialize,
        along: Option<BorrowedFd<'_>>,
    ) -> Result<(), CordError> {
        let text = serde_json::to_vec(word).map_err(|_| CordError::Malformed)?;
        if text.len() > LONGEST {
            return Err(CordError::TooLong);
        }
        let along = along.as_slice();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !along.is_empty() && !control.push(SendAncillaryMessage::ScmRights(along)) {
            return Err(CordError::TooLong);
        }
        let words = [IoSlice::new(&text)];
        // NOSIGNAL: a program that has gone is an error of this call and not the end of this process.
        sendmsg(&self.0, &words, &mut control, SendFlags::NOSIGNAL).map_err(io::Error::from)?;
        Ok(())
    }

    /// Waits for the next word, and what comes along with it; `None` when the other end is gone.
    ///
    /// # Errors
    /// `Malformed` for a datagram that is no such word, or is too long; what came along is closed then.
    pub fn receive<T: DeserializeOwned>(&self) -> Result<Option<(T, Option<OwnedFd>)>, CordError> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let Some(text) = self.datagram(&mut control)? else {
            return Ok(None);
        };
        let mut along = None;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(sent) = message {
                along = sent.last().or(along);
            }
        }
        Ok(Some((parse(&text)?, along)))
    }

    /// The same for a program that is not believed: a file descriptor that it sends along is closed by the kernel.
    ///
    /// # Errors
    /// As [`Cord::receive`].
    pub fn receive_word<T: DeserializeOwned>(&self) -> Result<Option<T>, CordError> {
        let mut none = RecvAncillaryBuffer::default();
        let text = self.datagram(&mut none)?;
        text.map(|text| parse(&text)).transpose()
    }

    fn datagram(
        &self,
        control: &mut RecvAncillaryBuffer<'_>,
    ) -> Result<Option<Vec<u8>>, CordError> {
        let mut text = vec![0; LONGEST];
        let got = loop {
            let mut words = [IoSliceMut::new(&mut text)];
            match recvmsg(&self.0, &mut words, control, RecvFlags::CMSG_CLOEXEC) {
                Err(Errno::INTR) => {}
                Err(Errno::CONNRESET) => return Ok(None),
                got => break got.map_err(io::Error::from)?,
            }
        };
        if got.bytes == 0 {
            return Ok(None);
        }
        // A longer datagram was cut off, and its beginning might read as another word.
        if got.flags.contains(ReturnFlags::TRUNC) {
            return Err(CordError::Malformed);
        }
        text.truncate(got.bytes);
        Ok(Some(text))
    }
}

fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T, CordError> {
    let value = signet_json::parse(text, Limits::LINE).map_err(|_| CordError::Malformed)?;
    serde_json::from_value(value).map_err(|_| CordError::Malformed)
}

/// A home's path and a few words fit; bytes.
const LONGEST: usize = 32 * 1024;
/// How long the other program may take to make room for a word.
const PATIENCE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;

    use serde_json::json;

    use super::*;
    use crate::{CordWord, EntryTicket, ReconnectedHome, ToDesk, ToRoom};

    fn ends() -> (Cord, Cord) {
        let (here, there) = Cord::pair().unwrap();
        (here, Cord(there))
    }

    #[test]
    fn a_connection_comes_along_with_its_word_and_works() {
        let (launcher, room) = ends();
        let (mut daemon, connection) = UnixStream::pair().unwrap();
        let word = ToRoom::Connection(ReconnectedHome {
            name: "alice".to_owned(),
        });
        launcher.send(&word, Some(connection.as_fd())).unwrap();
        drop(connection);
        let (told, along) = room.receive::<ToRoom>().unwrap().unwrap();
        assert_eq!(told, word);
        daemon.write_all(b"heard").unwrap();
        drop(daemon);
        let mut heard = String::new();
        UnixStream::from(along.unwrap())
            .read_to_string(&mut heard)
            .unwrap();
        assert_eq!(heard, "heard");
        drop(launcher);
        assert!(room.receive::<ToRoom>().unwrap().is_none());
    }

    #[test]
    fn a_captured_room_hands_the_launcher_no_file_descriptor() {
        let (launcher, room) = ends();
        let (mut kept, sent) = UnixStream::pair().unwrap();
        room.send(&CordWord::Ready {}, Some(sent.as_fd())).unwrap();
        drop(sent);
        let heard = launcher.receive_word::<CordWord>().unwrap();
        assert_eq!(heard, Some(CordWord::Ready {}));
        // `read` meets the end of the stream: the launcher kept no copy of the file descriptor that was sent along.
        assert_eq!(kept.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn words_that_are_none_are_refused_and_the_next_one_is_read() {
        let (launcher, room) = ends();
        for odd in [
            json!({"ready": {}, "lost": {"name": "a"}}),
            json!({"lost": {"name": "a", "home": "/"}}),
            json!({"ticket": {"once": "x", "seconds": 60}}),
            json!("ready"),
            json!({"lost": {"name": "a".repeat(20_000)}, "x": 1}),
        ] {
            room.send(&odd, None).unwrap();
            let heard = launcher.receive_word::<CordWord>();
            assert!(matches!(heard, Err(CordError::Malformed)), "{odd}");
        }
        assert!(matches!(
            room.send(&"x".repeat(LONGEST), None),
            Err(CordError::TooLong)
        ));
        room.send(&CordWord::Ready {}, None).unwrap();
        assert!(launcher.receive_word::<CordWord>().unwrap().is_some());
    }

    #[test]
    fn a_program_that_reads_nothing_holds_up_nobody_for_ever() {
        let (launcher, _room) = ends();
        let word = "x".repeat(LONGEST / 2);
        let sent = (0..1_000).find_map(|_| launcher.send(&word, None).err());
        assert!(matches!(sent, Some(CordError::Io(_))), "{sent:?}");
    }

    #[test]
    fn what_lets_somebody_in_does_not_print() {
        let ticket = EntryTicket {
            once: "secret".to_owned(),
            seconds: 60,
            then: Some("secret".to_owned()),
        };
        assert!(!format!("{:?}", ToDesk::Ticket(ticket)).contains("secret"));
    }
}
