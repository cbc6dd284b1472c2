//! Who sends a request: by a token, by a certificate, or whoever reaches it where the configuration says so.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use hyper::StatusCode;
use hyper::header::{self, HeaderMap, HeaderValue};
use signet_listener::{ConnectionActivity, Remote, discard, only};
use tokio_util::sync::CancellationToken;

use super::gate::KnownCaller;
use super::guarded::guarded;
use super::refusal::{later, refused};
use crate::config::{Auth, GatewayConfig};
use crate::tokens::{Admitted, Anybody, NotAdmitted, Tokens};

/// How callers prove who they are.
pub(crate) enum Door {
    /// By a token or a certificate.
    Tokens(Arc<Tokens>),
    /// Not at all.
    Open(Box<Anybody>),
}

/// Puts the [`Caller`](crate::scope::Caller) into a request, or refuses it, by its head alone.
pub(super) async fn authenticate(
    State(door): State<Arc<Door>>,
    mut request: Request,
    next: Next,
) -> Response {
    match door.admit(&request) {
        Ok(Admitted { caller, place }) => {
            // `next.run` consumes the request, and a refusal after it has to know the kind of credential: so take the kind now.
            let kind = shown(&request).kind();
            let gone = caller.gone.clone();
            let standing = request.extensions().get::<ConnectionActivity>();
            let held = (place, standing.map(ConnectionActivity::of_caller));
            request.extensions_mut().insert(caller);
            // If the token is revoked or changed, or expires, end its request even in the middle of an answer: otherwise its
            // streams would go on.
            let mut response = tokio::select! {
                response = next.run(request) => guarded(response, gone, held),
                () = gone.cancelled() => return unknown(kind),
            };
            response.extensions_mut().insert(KnownCaller);
            response
        }
        Err(refusal) => {
            discard(request.into_body()).await;
            refusal
        }
    }
}

impl Door {
    /// As the configuration says. The file of the tokens is watched until `stop`.
    pub(crate) fn of(config: &GatewayConfig, stop: &CancellationToken) -> Self {
        match config.listen.auth {
            Auth::None => Self::Open(Box::new(Anybody::new(config.limits))),
            Auth::Token => {
                let path = config.path(&config.listen.tokens);
                let tokens = Arc::new(Tokens::of(path, config.limits));
                tokio::spawn(Arc::clone(&tokens).watch(stop.clone()));
                Self::Tokens(tokens)
            }
        }
    }

    /// Those who are let in, where not everybody is.
    pub(crate) fn tokens(&self) -> Option<Arc<Tokens>> {
        match self {
            Self::Tokens(tokens) => Some(Arc::clone(tokens)),
            Self::Open(_) => None,
        }
    }

    #[expect(clippy::result_large_err, reason = "a response, which is sent at once")]
    fn admit(&self, request: &Request) -> Result<Admitted, Response> {
        let tokens = match self {
            Self::Open(anybody) => {
                return anybody
                    .admit()
                    .map_err(|refusal| response(refusal, Credential::Nothing));
            }
            Self::Tokens(tokens) => tokens,
        };
        let shown = shown(request);
        let admitted = match shown {
            Credential::Token(token) => tokens.admit(token),
            Credential::Certificate(hash) => tokens.admit_certificate(&hash),
            Credential::Nothing => Err(NotAdmitted::Unknown),
        };
        admitted.map_err(|refusal| response(refusal, shown))
    }
}

/// By what a caller says who it is.
#[derive(Clone, Copy)]
enum Credential<'a> {
    Nothing,
    Token(&'a str),
    /// Its SHA-256. The caller has its key, or there were no connection.
    Certificate([u8; 32]),
}

impl Credential<'_> {
    /// The same without the token itself.
    const fn kind(self) -> Credential<'static> {
        match self {
            Self::Nothing => Credential::Nothing,
            Self::Token(_) => Credential::Token(""),
            Self::Certificate(hash) => Credential::Certificate(hash),
        }
    }
}

/// A token counts before a certificate.
fn shown(request: &Request) -> Credential<'_> {
    let remote = request.extensions().get::<Remote>();
    let certificate = remote.and_then(|remote| remote.certificate);
    match (bearer(request.headers()), certificate) {
        (Some(token), _) => Credential::Token(token),
        (None, Some(hash)) => Credential::Certificate(hash),
        (None, None) => Credential::Nothing,
    }
}

/// The token of a request (RFC 6750, section 2.1). Nothing else is one: an address with a token in it would stand in logs.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = only(headers, header::AUTHORIZATION)?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn response(refusal: NotAdmitted, shown: Credential<'_>) -> Response {
    let (reason, seconds) = match refusal {
        NotAdmitted::Unknown => return unknown(shown),
        NotAdmitted::TooMany(seconds) => ("too-many-requests", seconds),
        NotAdmitted::TooManyAtOnce => ("too-many-at-once", 1),
    };
    let busy = refused(
        StatusCode::TOO_MANY_REQUESTS,
        reason,
        "this token has too many requests",
        "wait as long as Retry-After says; [limits] of gateway.toml has the limits",
    );
    later(busy, seconds)
}

fn unknown(shown: Credential<'_>) -> Response {
    let send = "send Authorization: Bearer with a token of signet token make";
    let (challenge, message, next) = match shown {
        Credential::Token(_) => (
            "Bearer realm=\"signet\", error=\"invalid_token\"",
            "nobody is known by that token, or it holds no more",
            send,
        ),
        Credential::Certificate(_) => (
            CHALLENGE,
            "nobody is known by the certificate that was shown, or its token holds no more",
            "let the person make a token of the certificate: signet token make NAME --certificate FILE; or send \
             Authorization: Bearer with a token of signet token make",
        ),
        Credential::Nothing => (CHALLENGE, "this address wants a token", send),
    };
    let mut response = refused(StatusCode::UNAUTHORIZED, "token-unknown", message, next);
    let headers = response.headers_mut();
    headers.insert(
        header::WWW_AUTHENTICATE,
        HeaderValue::from_static(challenge),
    );
    response
}

const CHALLENGE: &str = "Bearer realm=\"signet\"";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_header_of_one_form_is_a_token() {
        let of = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::AUTHORIZATION, HeaderValue::from_static(value));
            }
            bearer(&headers).map(str::to_owned)
        };
        assert_eq!(of(&["Bearer abc"]).as_deref(), Some("abc"));
        assert_eq!(of(&["bearer  abc"]).as_deref(), Some("abc"));
        for odd in [
            &["Basic abc"][..],
            &["abc"],
            &["Bearer"],
            &["Bearer a", "Bearer b"],
            &[],
        ] {
            assert_eq!(of(odd), None, "{odd:?}");
        }
    }
}
