//! The calls of a foreign carrier: a program that takes the daemon's bytes over HTTP, Discord and the like,
//! and holds no key.
//!
//! ```text
//! carrier.attach ──▶ this connection carries `http`: its end is the carrier's end
//!                ◀── carrier.parcel   what is to leave
//! carrier.left   ──▶ what became of it
//! carrier.deliver ─▶ what came, whoever sent it: the daemon judges it from its first byte
//! ```
//!
//! The daemon believes none of it. What a carrier calls held settles nothing and stops no other carrier; what
//! it delivers proves itself or is refused.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The name of the notification that carries a [`CarriedParcel`].
pub const CARRIER_PARCEL: &str = "carrier.parcel";
/// So many parcels at most are with the holder of a carrier and not yet reported by `carrier.left`.
pub const PARCELS_UNDER_WAY: usize = 64;
/// At most so many messages in one `carrier.deliver`. A line of the socket has 1 MiB besides.
pub const DELIVERED_AT_ONCE: usize = 64;
/// The address of a peer that can only dial out: what is for it is kept until it polls.
pub const KEPT_FOR_POLLS: &str = "poll";

/// Carries the named carrier by this connection from now on, until it ends. Another connection cannot have it
/// meanwhile: it is refused as `carrier-taken`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AttachCarrier {
    /// The carrier: one of `carriers` in `[carrier-socket]`, such as `http`.
    pub carrier: String,
}

/// From now on what is to leave comes as notifications `carrier.parcel`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Attached {
    /// The agent whose daemon this is.
    pub agent: String,
    /// The largest message in bytes; a longer one is refused by its length alone.
    pub largest: usize,
}

/// What is to leave: the parameters of `carrier.parcel`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct CarriedParcel {
    /// Names it in `carrier.left`.
    pub id: u64,
    /// Which carrier is to take it.
    pub carrier: String,
    /// For whom it is.
    pub peer: String,
    /// Where the peer is found on that carrier.
    pub address: String,
    /// The signed message, to be sent as it is: base64url without padding.
    pub bytes: String,
}

/// Says what became of a parcel. It is a hint: only the peer's receipt settles a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ReportParcel {
    /// Which carrier.
    pub carrier: String,
    /// The parcel.
    pub id: u64,
    /// Whether the other side has taken it: no copy goes by this carrier until the peer was heard of. Where it
    /// is false the message goes again, by the next carrier first.
    pub held: bool,
}

/// Whether the report was of any use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct ParcelReported {
    /// False for one that was reported before, was given up after 60 s, or was never handed out.
    pub known: bool,
}

/// Hands in what came by a carrier. It is answered when all of it is judged and what that says is durable.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DeliverMessages {
    /// Which carrier: it has to be attached, by whichever connection.
    pub carrier: String,
    /// The agent that it was addressed to, as the carrier has it; this daemon's own when absent. What was for
    /// another one is refused as `wrong-subject`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The messages, byte for byte as they came: base64url without padding. From 1 to 64.
    pub messages: Vec<String>,
    /// Seconds that a poll among them waits for something to be kept for its sender, 25 at most; 0 when absent.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub wait: f64,
}

/// How many of them were ruled how. It is for the carrier's own count, and never for whoever sent them.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Delivered {
    /// Taken.
    pub accepted: u64,
    /// Refused, or copies, each with a line of its own.
    pub refused: u64,
    /// Over a budget: counted and not looked at further.
    pub counted: u64,
    /// Where a poll was among them and its sender proved by it to be the peer, what is kept for that peer,
    /// oldest first, as `messages` above: it is for the answer to whoever sent the poll, and for nobody else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Vec<String>>,
}

/// Makes a poll: the word of this agent, good for 60 s, that it asks a peer for what is kept for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MakePoll {
    /// By which carrier.
    pub carrier: String,
    /// Whom to ask.
    pub peer: String,
    /// The message-id of the last message that the poll before gave and this daemon has judged: the peer need
    /// not keep it, nor those before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// A poll, signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct MadePoll {
    /// Where to send it.
    pub address: String,
    /// The poll: base64url without padding. What comes back goes to `carrier.deliver`.
    pub bytes: String,
}

/// Where the peers are found on a carrier, by invitations and configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ListRoutes {
    /// Which carrier.
    pub carrier: String,
}

/// Where they are found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", default)]
pub struct CarrierRoutes {
    /// The peers that are trusted and have an address there, by name.
    pub peers: Vec<CarrierRoute>,
    /// Whether this agent can only dial out, so that it has to poll those of them that have an address.
    pub dials_out: bool,
}

/// Where one peer is found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct CarrierRoute {
    /// The peer.
    pub peer: String,
    /// Where; `poll` for one that can only dial out, for which the daemon keeps what it has.
    pub address: String,
}

/// Takes a snapshot of the trust store: public keys, and what the person decided about them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct TakeTrust {
    /// The epoch of the snapshot that the caller has: only another one is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<String>,
    /// Seconds to wait for another one, 60 at most; 0 when absent.
    #[serde(skip_serializing_if = "is_nothing")]
    pub wait: f64,
}

/// The trust store, as far as it is needed to verify messages (checks V05 to V07).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct TrustTaken {
    /// Which one it is: another snapshot has another epoch.
    pub epoch: String,
    /// What `signet_proto::trust::TrustView::from_snapshot` reads; absent where the caller has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Value>,
}

/// What agents said to each other, as far as it may be shown to whoever a carrier shows things to: what was
/// taken or sent, never what was sealed, opened. Handshakes, receipts and orders are not among it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct FollowTransparency {
    /// What stands behind this line of the log; what comes from now on, when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// At most so many; 32 when absent, and at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Seconds to wait when there is nothing, 60 at most; 0 when absent.
    #[serde(skip_serializing_if = "is_nothing")]
    pub wait: f64,
}

/// A part of it.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", default)]
pub struct Transparency {
    /// Oldest first.
    pub messages: Vec<Transparent>,
    /// The line up to which the log was read: `after` of the next call.
    pub through: u64,
}

/// A message that was taken or sent.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Transparent {
    /// The line of the log that tells of it.
    pub line: u64,
    /// `in` or `out`.
    pub direction: String,
    /// Who sent it.
    pub from: String,
    /// The person for whom the sender acts.
    pub from_principal: String,
    /// For whom it is.
    pub to: String,
    /// The person for whom the recipient acts, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_principal: Option<String>,
    /// `agent.request` and the like; absent on an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// `request`, `response`, `notification` or `handoff`.
    pub message_type: String,
    /// The message-id.
    pub message_id: String,
    /// When it was signed (RFC 3339).
    pub timestamp: String,
    /// 1 to 4.
    pub data_tier: u8,
    /// What is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability: Option<String>,
    /// What it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<String>,
    /// The sender's own line for people; absent where it travelled sealed, or there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The signed message, byte for byte as on the wire: base64url without padding. What is sealed in it is
    /// sealed here.
    pub envelope: String,
}

fn is_nothing(seconds: &f64) -> bool {
    *seconds == 0.0
}

quiet!(DeliverMessages, Delivered, Transparency, Transparent);
