//! `signet watch`: what a person should see, at a terminal or on a desktop, as it comes.

mod desktop;

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use signet_api::{Attention, FollowAttention, Reason};
use signet_audit::visible;

use crate::cli::ask::connect_to;
use crate::cli::exit::section;
use crate::cli::print::print_as;
use crate::cli::{CliError, Exit, print};
use crate::control::{Client, ClientError};
use crate::home::Home;
use desktop::Desktop;

/// See `signet watch --help`.
#[derive(Debug, Args)]
#[command(after_help = after_help())]
pub(crate) struct WatchArgs {
    /// Show it on the desktop as well, by notify-send
    #[arg(long)]
    desktop: bool,
    /// Print each as one line of JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &WatchArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let home = Home::find(home)?;
    let mut watch = Watcher {
        desktop: args.desktop.then(Desktop::find).transpose()?,
        json: args.json,
        seen: HashSet::new(),
    };
    let mut client = connect_to(&home, Duration::ZERO)?;
    let stands = client.call(&FollowAttention {})?.attention;
    if stands.is_empty() && !args.json {
        print("nothing waits for you; what comes is told here until Ctrl-C\n")?;
    }
    watch.show_new(stands)?;
    loop {
        let ended = watch.follow(&mut client)?;
        anstream::eprintln!("{ended}; waiting for it to come back");
        client = watch.follow_again(&home)?;
        anstream::eprintln!("the daemon answers again");
    }
}

/// Who watches, and what they have seen.
struct Watcher {
    desktop: Option<Desktop>,
    json: bool,
    /// The ids of the records that were shown: a daemon that was started again lists the same records once more.
    seen: HashSet<String>,
}

impl Watcher {
    /// Shows what comes until the daemon is gone; how it went.
    fn follow(&mut self, client: &mut Client) -> Result<ClientError, CliError> {
        for told in client.notifications() {
            let attention = match told.map(signet_api::Notification::into_attention) {
                Ok(None) => continue,
                Ok(Some(Ok(attention))) => attention,
                Ok(Some(Err(error))) | Err(error) if !is_of_a_stop(&error) => {
                    return Err(error.into());
                }
                Ok(Some(Err(error))) | Err(error) => return Ok(error),
            };
            self.seen.extend(attention.id.clone());
            self.show(attention)?;
        }
        Ok(ClientError::Closed)
    }

    /// Waits until a daemon answers again, and shows what stands by then and was not shown before.
    fn follow_again(&mut self, home: &Home) -> Result<Client, CliError> {
        loop {
            std::thread::sleep(PAUSE);
            // `connect_to` reads the configuration each time: the restarted daemon may listen at another socket.
            let connected = connect_to(home, Duration::ZERO);
            let mut client = match connected {
                Err(failure) if failure.is_not_reachable() => continue,
                connected => connected?,
            };
            match client.call(&FollowAttention {}) {
                Ok(stands) => {
                    self.show_new(stands.attention)?;
                    return Ok(client);
                }
                Err(error) if is_of_a_stop(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Shows what stands, without what was shown.
    fn show_new(&mut self, stands: Vec<Attention>) -> Result<(), CliError> {
        for attention in stands {
            if attention
                .id
                .as_ref()
                .is_none_or(|id| self.seen.insert(id.clone()))
            {
                self.show(attention)?;
            }
        }
        Ok(())
    }

    fn show(&mut self, attention: Attention) -> Result<(), CliError> {
        print_as(self.json, &attention, || page(&attention))?;
        if let Some(desktop) = &self.desktop {
            desktop.show(attention);
        }
        Ok(())
    }
}

/// Whether another daemon may answer in a moment: this one stopped, has no place or no room.
fn is_of_a_stop(error: &ClientError) -> bool {
    match error {
        ClientError::Refused(refusal) => {
            refusal.is(&Reason::PlaceNeeded) || refusal.is(&Reason::DiskFull)
        }
        ClientError::Malformed => false,
        ClientError::NotReachable { .. }
        | ClientError::Closed
        | ClientError::TimedOut(_)
        | ClientError::Stopped(_)
        | ClientError::Io(_) => true,
    }
}

/// The record as two lines for a person. Names in it are escaped, so that they neither begin a line nor drive the
/// terminal.
fn page(attention: &Attention) -> String {
    let still = if attention.still { "still: " } else { "" };
    let line = format!(
        "{}  {:<12}  {still}{}",
        attention.time,
        attention.kind.as_str(),
        attention.text
    );
    format!("{}\n  next: {}\n", visible(&line), visible(&attention.next))
}

fn after_help() -> String {
    let codes = section([
        (Exit::Done, "never by itself: it watches until Ctrl-C"),
        (Exit::Usage, "--desktop, and there is no notify-send"),
        (Exit::NotReachable, "no daemon answered when it began"),
    ]);
    format!("{EXPLAINED}\n{codes}\n{EXAMPLE}")
}

/// Between two looks for a daemon that is gone.
const PAUSE: Duration = Duration::from_millis(500);
const EXPLAINED: &str = "\
Strangers that wait for an introduction, drafts to approve, alarms, messages in quarantine, the end of the certificate: first what
stands, marked `still`, then what comes. No content of a message is shown. When the daemon is started again it goes on,
and shows again nothing that it has shown.
";

const EXAMPLE: &str = "\
EXAMPLE:
  signet watch
  signet watch --desktop
  signet watch --json | jq -r 'select(.kind == \"alarm\") | .text'";

#[cfg(test)]
mod tests {
    use signet_api::AttentionKind;

    use super::*;

    #[test]
    fn no_text_leaves_its_line_or_drives_the_terminal() {
        let attention = Attention {
            version: 1,
            kind: AttentionKind::Alarm,
            time: "2026-01-01T00:00:00.000Z".to_owned(),
            agent: "agent-a".to_owned(),
            id: None,
            alarm: None,
            peer: None,
            principal: None,
            verified: false,
            count: 1,
            still: true,
            text: "it rings\n  next: rm -rf /\u{1b}[2J".to_owned(),
            next: "signet alarms\r\u{202e}".to_owned(),
        };
        let page = page(&attention);
        assert_eq!(page.lines().count(), 2, "{page}");
        assert!(page.starts_with("2026-01-01T00:00:00.000Z  alarm         still: it rings"));
        let hidden = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!page.contains(hidden), "{page:?}");
    }
}
