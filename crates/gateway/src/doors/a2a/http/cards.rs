//! Cards: this agent's own, open to everybody, and those of peers, where the configuration has them told.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH, LAST_MODIFIED};
use serde_json::Value;

use super::{base, public};
use crate::config::a2a::CardForm;
use crate::doors::a2a::card;
use crate::doors::a2a::door::A2aDoor;
use crate::doors::a2a::fault::A2aError;
use crate::listener::{json, later, refused};
use crate::scope::{Caller, SeenPeer};

pub(super) async fn own_card(State(room): State<Arc<A2aDoor>>, headers: HeaderMap) -> Response {
    let form = room.section().card;
    let written = card::own(&room, &public(&room, &base(&headers)), form).await;
    card_response(&room, "own", written, &headers)
}

pub(super) async fn own_old_card(State(room): State<Arc<A2aDoor>>, headers: HeaderMap) -> Response {
    let written = card::own(&room, &public(&room, &base(&headers)), CardForm::V03).await;
    card_response(&room, "own, old", written, &headers)
}

/// The public half of what signs cards.
pub(super) async fn keys(State(room): State<Arc<A2aDoor>>, headers: HeaderMap) -> Response {
    match room.signed_card(None).await {
        Ok(Some(shown)) => card_response(&room, "keys", Ok(shown.keys), &headers),
        Ok(None) => refused(
            StatusCode::NOT_FOUND,
            "no-card-key",
            "the cards of this agent are not signed",
            "a [card] in the daemon's config.toml has them signed",
        ),
        Err(fault) => card_response(&room, "keys", Err(fault), &headers),
    }
}

pub(super) async fn peers_card(
    State(room): State<Arc<A2aDoor>>,
    Extension(caller): Extension<Caller>,
    Path(peer): Path<String>,
    headers: HeaderMap,
) -> Response {
    let form = room.section().card;
    card_of_peer(&room, &caller, &peer, &headers, form).await
}

pub(super) async fn peers_old_card(
    State(room): State<Arc<A2aDoor>>,
    Extension(caller): Extension<Caller>,
    Path(peer): Path<String>,
    headers: HeaderMap,
) -> Response {
    card_of_peer(&room, &caller, &peer, &headers, CardForm::V03).await
}

async fn card_of_peer(
    room: &A2aDoor,
    caller: &Caller,
    peer: &str,
    headers: &HeaderMap,
    form: CardForm,
) -> Response {
    if !room.section().peer_cards {
        return no_card("[a2a] peer-cards = true in gateway.toml lets cards of peers be told");
    }
    let offers = match caller.scope.knows(peer) {
        true => room.offers(caller, peer).await,
        // Answer as for an unknown peer: a token must not learn of peers beyond its scope.
        false => Ok(None),
    };
    match offers {
        Ok(Some(_)) => {}
        Ok(None) => {
            return no_card(
                "signet peer list says whom the daemon knows, signet token list whom this token may see",
            );
        }
        Err(fault) => return card_response(room, peer, Err(fault), headers),
    }
    let base = public(room, &base(headers));
    let written = card::of_peer(room, SeenPeer { caller, peer }, &base, form).await;
    let name = match form {
        CardForm::V03 => format!("{peer}, old"),
        CardForm::V1 | CardForm::Hybrid => peer.to_owned(),
    };
    card_response(room, &name, written, headers)
}

fn no_card(next: &str) -> Response {
    let what = "there is no card at this address";
    refused(StatusCode::NOT_FOUND, "no-card", what, next)
}

/// `name` tells the card from the others that this gateway gives.
fn card_response(
    room: &A2aDoor,
    name: &str,
    written: Result<Value, A2aError>,
    asked: &HeaderMap,
) -> Response {
    let card = match written {
        Ok(card) => card.to_string(),
        Err(fault) => {
            let (reason, next) = match fault.is_busy() {
                true => ("busy", "look again a little later"),
                false => ("daemon-away", "start the daemon: signet run, or signet up"),
            };
            let status = StatusCode::SERVICE_UNAVAILABLE;
            return later(refused(status, reason, &fault.to_string(), next), 1);
        }
    };
    let etag = card::etag(&card);
    let is_known = asked
        .get(IF_NONE_MATCH)
        .is_some_and(|known| known.as_bytes() == etag.as_bytes());
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => json(card),
    };
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=300"));
    let since = room
        .changes
        .since(&format!("{name} at {}", base(asked)), &etag);
    let texts = [(LAST_MODIFIED, since.http()), (ETAG, etag)];
    for (name, text) in texts {
        if let Ok(text) = HeaderValue::from_str(&text) {
            headers.insert(name, text);
        }
    }
    response
}
