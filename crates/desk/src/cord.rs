//! From the first word of the launcher to the end: it listens where it is told, and ends with the launcher.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use signet_cord::{Cord, CordWord, ProgramEnd, ToDesk};
use signet_listener::{Accept, ConnectionLimits, NoTls};
use tokio_util::sync::CancellationToken;

use crate::DeskError;
use crate::desk::Desk;
use crate::fault;
use crate::serve::router;

/// Serves the desk until the launcher is gone.
pub(crate) fn run() -> Result<(), DeskError> {
    let cord = Cord::of_stdin()?;
    let Some((ToDesk::Listen(listen), Some(socket))) = cord.receive()? else {
        return Err(DeskError::NoListener);
    };
    let desk = Arc::new(Desk::new(&listen)?);
    let socket = TcpListener::from(socket);
    socket.set_nonblocking(true).map_err(DeskError::System)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(CALLS_AT_ONCE)
        .enable_all()
        .build();
    let runtime = runtime.map_err(DeskError::System)?;
    let stop = CancellationToken::new();
    let hears = cord.try_clone()?;
    let (told, ends) = (Arc::clone(&desk), stop.clone());
    std::thread::spawn(move || {
        hear(&hears, &told);
        ends.cancel();
    });
    runtime.block_on(async move {
        let socket = tokio::net::TcpListener::from_std(socket).map_err(DeskError::System)?;
        cord.send(&CordWord::Ready {}, None)?;
        tokio::spawn(tell_when_idle(cord, Arc::clone(&desk)));
        let accept = Accept {
            limits: LIMITS,
            tls: None::<NoTls>,
            router: router(desk),
            stop,
        };
        accept.run(socket).await;
        Ok(())
    })
}

/// Does what the launcher says until it is gone.
fn hear(cord: &Cord, desk: &Desk) {
    loop {
        match cord.receive() {
            Ok(Some((ToDesk::Home(home), _))) => desk.seat(home),
            Ok(Some((ToDesk::Ticket(ticket), _))) => desk.sessions.admit(ticket),
            // A second `Listen` changes nothing: the desk listens already, and serves one address alone.
            Ok(Some((ToDesk::Listen(_), _))) => {}
            Ok(None) => return,
            Err(error) => {
                fault::tell(&error.to_string(), "open the page again: signet view");
                return;
            }
        }
    }
}

/// Tells the launcher when nobody has used the desk for a while. The launcher decides what ends: whoever reads in the room still
/// wants a desk.
async fn tell_when_idle(cord: Cord, desk: Arc<Desk>) {
    loop {
        let left = desk.until_idle();
        if left.is_zero() {
            let end = CordWord::End(ProgramEnd {
                reason: "idle".to_owned(),
            });
            // If the launcher is gone this fails, which does not matter: the thread in `hear` notices the closed cord
            // and ends the desk.
            let _ = cord.send(&end, None);
        }
        tokio::time::sleep(left.max(BEAT)).await;
    }
}

const LIMITS: ConnectionLimits = ConnectionLimits {
    connections: 64,
    header_time: Duration::from_secs(30),
};
/// Calls to daemons that are under way.
const CALLS_AT_ONCE: usize = 8;
const BEAT: Duration = Duration::from_secs(1);
