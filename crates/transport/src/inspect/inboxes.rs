//! Whether mailboxes answer for the inboxes of peers, by a question that each of them refuses and none keeps.

use async_nats::client::{Client, RequestErrorKind};
use async_nats::{HeaderMap, Request};
use futures_util::future::join_all;

use super::LIMIT;
use crate::Storage;
use crate::confirm::parse;

/// What came back from the inbox of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InboxAnswer {
    /// A mailbox answered.
    Mailbox,
    /// No server that this one reaches has a mailbox or a listener there.
    Nobody,
    /// A listener is there, and no answer came back.
    Silence,
}

/// The answers of the first inboxes, in their order. All are asked at once: one that is silent keeps none waiting.
pub(super) async fn ask_all(client: &Client, inboxes: &[String]) -> Vec<(String, InboxAnswer)> {
    let asked = inboxes.iter().take(super::INBOXES);
    join_all(asked.map(|inbox| async move { (inbox.clone(), ask(client, inbox).await) })).await
}

/// The answer says nothing that anybody could not invent who may write to this agent's reply prefix.
async fn ask(client: &Client, inbox: &str) -> InboxAnswer {
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Expected-Stream", "signet-doctor");
    let request = Request::new().headers(headers).timeout(Some(LIMIT));
    match client.send_request(inbox.to_owned(), request).await {
        Ok(answer) => match parse(&answer.payload, "").0 {
            Storage::Unconfirmed | Storage::NoStream => InboxAnswer::Silence,
            Storage::Stored { .. } | Storage::Refused(_) => InboxAnswer::Mailbox,
        },
        Err(error) if error.kind() == RequestErrorKind::NoResponders => InboxAnswer::Nobody,
        Err(_) => InboxAnswer::Silence,
    }
}
