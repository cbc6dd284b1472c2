//! What the mailboxes of a household are asked to be.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, ReplayPolicy, pull};
use async_nats::jetstream::stream::{
    Config as Stream, DiscardPolicy, RetentionPolicy, StorageType,
};

use crate::Mailbox;

/// One agent's place in the household.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPlace {
    /// Its inbox subject.
    pub inbox: String,
    /// Its mailbox.
    pub mailbox: Mailbox,
}

/// The settings of the stream of all mailboxes that a person may choose. An absent one stays as the server has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamOptions {
    /// The room that the stream keeps for each of its mailboxes, in bytes [default: 64 MiB, or what it has where that is more].
    pub mailbox_bytes: Option<u64>,
    /// On how many servers of a cluster the stream and its consumers lie, 1 to 5 [default: what it has, 1 for a new one].
    pub replicas: Option<usize>,
}

/// A setting that the server did not take as it was asked. Servers ignore options that they do not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingDifference {
    /// Its name in the server's configuration.
    pub setting: &'static str,
    /// What was asked for.
    pub asked: String,
    /// What the server says it is.
    pub is: String,
}

/// How many messages one inbox holds.
pub(crate) const INBOX_MESSAGES: i64 = 4_000;
/// The room of one inbox, in bytes: the server keeps it free for nobody else, also while it is empty. All messages fit
/// in up to 16 KiB each.
pub(crate) const INBOX_BYTES: u64 = 64 << 20;

/// A full inbox refuses, and nobody removes mail but its reader. What somebody gave more of than is wanted stays:
/// replicas and room, unless `options` say how much. Settings that are none of ours stay as `found` has them.
pub(crate) fn stream(
    name: &str,
    subjects: Vec<String>,
    options: StreamOptions,
    found: Option<&Stream>,
) -> Stream {
    let found = found.cloned().unwrap_or_default();
    let share = options.mailbox_bytes;
    let max_bytes = room(subjects.len(), share.unwrap_or(INBOX_BYTES));
    let max_bytes = match (share, found.max_bytes) {
        // Unless somebody says how much, keep a larger limit that somebody gave the stream, or that it has none (below 0). If there is no
        // stream, `found` is the default, whose limit means nothing.
        (None, has) if !found.name.is_empty() && (has < 0 || has > max_bytes) => has,
        _ => max_bytes,
    };
    Stream {
        name: name.to_owned(),
        subjects,
        storage: StorageType::File,
        retention: RetentionPolicy::WorkQueue,
        discard: DiscardPolicy::New,
        discard_new_per_subject: true,
        max_messages_per_subject: INBOX_MESSAGES,
        max_messages: -1,
        max_consumers: -1,
        max_bytes,
        max_age: Duration::from_secs(30 * 24 * 3600),
        // The limit leaves room for a message of 240 KiB and for the headers that a server adds.
        max_message_size: 256 * 1024,
        num_replicas: options.replicas.unwrap_or(found.num_replicas).max(1),
        no_ack: false,
        sealed: false,
        deny_delete: true,
        deny_purge: true,
        // No roll-ups: with them a header of any sender's message would empty the inbox that the message goes to.
        allow_rollup: false,
        allow_direct: false,
        // The server drops a message whose `Nats-Msg-Id` it has seen within this window. signet sends no such id and needs no
        // window: take the shortest one, so that whoever guesses another sender's id cannot suppress that message for long.
        duplicate_window: Duration::from_millis(100),
        republish: None,
        mirror: None,
        sources: None,
        subject_transform: None,
        ..found
    }
}

/// The room of so many mailboxes, as the server counts it.
pub(crate) fn room(mailboxes: usize, share: u64) -> i64 {
    let mailboxes = u64::try_from(mailboxes).unwrap_or(u64::MAX);
    i64::try_from(mailboxes.saturating_mul(share)).unwrap_or(i64::MAX)
}

pub(crate) fn consumer(place: &AgentPlace, found: Option<&pull::Config>) -> pull::Config {
    let backoff = [30, 60, 5 * 60, 30 * 60].map(Duration::from_secs);
    pull::Config {
        durable_name: Some(place.mailbox.consumer.clone()),
        name: Some(place.mailbox.consumer.clone()),
        filter_subject: place.inbox.clone(),
        filter_subjects: Vec::new(),
        deliver_policy: DeliverPolicy::All,
        ack_policy: AckPolicy::Explicit,
        replay_policy: ReplayPolicy::Instant,
        ack_wait: Duration::from_secs(30),
        backoff: backoff.to_vec(),
        // Give up a message after ten deliveries, in some three hours: it may be one that breaks every connection that
        // delivers it.
        max_deliver: 10,
        max_ack_pending: 1024,
        max_waiting: 512,
        headers_only: false,
        // 0 means no limit: if a pull asks for more than a limit set here, the server ends the pull.
        max_batch: 0,
        max_bytes: 0,
        // Zero means that the server never deletes an unused consumer: an agent may be away for months and needs its
        // mailbox again.
        inactive_threshold: Duration::ZERO,
        memory_storage: false,
        ..found.cloned().unwrap_or_default()
    }
}

macro_rules! differences {
    ($asked:expr, $is:expr, $($field:ident as $name:literal),* $(,)?) => {{
        let mut differences = Vec::new();
        $(if $asked.$field != $is.$field {
            differences.push(SettingDifference {
                setting: $name,
                asked: format!("{:?}", $asked.$field),
                is: format!("{:?}", $is.$field),
            });
        })*
        differences
    }};
}

pub(crate) fn stream_differences(asked: &Stream, is: &Stream) -> Vec<SettingDifference> {
    let mut is = is.clone();
    // Sort the subjects as those of `asked` are: another order alone is no difference.
    is.subjects.sort_unstable();
    differences!(
        asked, is,
        subjects as "subjects",
        storage as "storage",
        retention as "retention",
        discard as "discard",
        discard_new_per_subject as "discard_new_per_subject",
        max_messages_per_subject as "max_msgs_per_subject",
        max_messages as "max_msgs",
        max_consumers as "max_consumers",
        max_bytes as "max_bytes",
        max_age as "max_age",
        max_message_size as "max_msg_size",
        num_replicas as "num_replicas",
        no_ack as "no_ack",
        sealed as "sealed",
        deny_delete as "deny_delete",
        deny_purge as "deny_purge",
        allow_rollup as "allow_rollup_hdrs",
        allow_direct as "allow_direct",
        duplicate_window as "duplicate_window",
        republish as "republish",
        mirror as "mirror",
        sources as "sources",
        subject_transform as "subject_transform",
    )
}

pub(crate) fn consumer_differences(
    asked: &pull::Config,
    is: &pull::Config,
) -> Vec<SettingDifference> {
    differences!(
        asked, is,
        durable_name as "durable_name",
        filter_subject as "filter_subject",
        filter_subjects as "filter_subjects",
        deliver_policy as "deliver_policy",
        ack_policy as "ack_policy",
        replay_policy as "replay_policy",
        backoff as "backoff",
        max_deliver as "max_deliver",
        max_ack_pending as "max_ack_pending",
        headers_only as "headers_only",
        max_batch as "max_batch",
        max_bytes as "max_bytes",
        inactive_threshold as "inactive_threshold",
        memory_storage as "mem_storage",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: StreamOptions = StreamOptions {
        mailbox_bytes: None,
        replicas: None,
    };

    fn inboxes() -> Vec<String> {
        let inboxes = ["agent.alpha.inbox", "agent.beta.inbox", "agent.gamma.inbox"];
        inboxes.map(str::to_owned).to_vec()
    }

    #[test]
    fn each_mailbox_has_room_for_all_its_messages_of_the_usual_size() {
        let stream = stream("AGENT_INBOX", inboxes(), KEPT, None);
        assert!(stream.discard_new_per_subject);
        assert!(stream.max_messages_per_subject.unsigned_abs() * 16 * 1024 <= INBOX_BYTES);
        assert_eq!(stream.max_bytes, 3 * 64 * 1024 * 1024);
    }

    #[test]
    fn what_somebody_gave_more_of_stays_and_what_is_none_of_ours_too() {
        let mut found = stream("AGENT_INBOX", inboxes(), KEPT, None);
        found.num_replicas = 3;
        found.max_bytes = 3 << 30;
        found.description = Some("kept by Ann".to_owned());
        let again = |options| stream("AGENT_INBOX", inboxes(), options, Some(&found));
        assert!(stream_differences(&again(KEPT), &found).is_empty());
        assert_eq!(again(KEPT).description, found.description);
        let less = again(StreamOptions {
            mailbox_bytes: Some(1 << 20),
            ..KEPT
        });
        assert_eq!((less.max_bytes, less.num_replicas), (3 << 20, 3));
        let five = again(StreamOptions {
            replicas: Some(5),
            ..KEPT
        });
        assert_eq!((five.max_bytes, five.num_replicas), (3 << 30, 5));
        found.max_bytes = -1;
        let unlimited = stream("AGENT_INBOX", inboxes(), KEPT, Some(&found));
        assert_eq!(unlimited.max_bytes, -1);
    }
}
