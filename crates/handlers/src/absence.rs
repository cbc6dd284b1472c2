//! What becomes of the next messages while the other side is away.

use std::time::Duration;

use crate::Fault;

/// While the other side is away, messages had better wait in the inbox than use up their tries.
#[derive(Default)]
pub(crate) struct Absence(Option<Duration>);

impl Absence {
    /// Waits longer with each try that found nobody there.
    pub(crate) async fn wait_after(&mut self, fault: Option<&Fault>) {
        if !fault.is_some_and(Fault::is_of_absence) {
            // Without a fault, or with a fault of another kind, the handler was there: after its next absence begin with the
            // shortest pause again.
            self.0 = None;
            return;
        }
        let pause = self.0.map_or(SHORTEST, |last| last.saturating_mul(2));
        self.0 = Some(pause.min(LONGEST_ABSENCE));
        tokio::time::sleep(pause.min(LONGEST_ABSENCE)).await;
    }
}

/// How long the first pause is.
const SHORTEST: Duration = Duration::from_millis(500);
/// How long nothing is received at most for a program that is not there.
const LONGEST_ABSENCE: Duration = Duration::from_secs(30);
