//! Discord's REST, as far as a channel is written and read: three requests, by the gateway's own guarded way out.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use bytes::Bytes;
use data_encoding::HEXLOWER;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use tokio::time::sleep;
use url::Url;

use super::found::{Attachment, ChannelPost, Snowflake};
use super::limits::{REFUSED, RateLimitHeaders, RateLimits, RequestKind};
use super::text::ChannelMessage;
use crate::lock::Locked as _;
use crate::outgoing::{How, HttpAnswer, HttpClient};

/// A channel of Discord's.
pub(crate) struct Channel {
    outgoing: HttpClient,
    messages: Url,
    token: HeaderValue,
    limits: Mutex<RateLimits>,
}

/// One request.
struct DiscordRequest {
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Bytes,
}

/// Why Discord did not do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RestFault {
    /// It has no answer, or no time: later it may.
    #[error("it does not answer, or asks us to wait")]
    Later,
    /// Nothing will change until a person does something.
    #[error(
        "it answers {0}: see to the token, the channel and the rights of the bot there; it is asked again in {minutes} \
         minutes, or at once when the gateway is started again", minutes = REFUSED.as_secs() / 60
    )]
    Refused(u16),
    /// It will not take this message.
    #[error("it does not take this message ({0})")]
    Unfit(u16),
    /// What it says means nothing to us.
    #[error("its answer is none of Discord's")]
    Malformed,
}

impl Channel {
    /// The channel of that id below `base`, for the bot of that token.
    pub(crate) fn of(
        outgoing: &HttpClient,
        base: &Url,
        channel: Snowflake,
        token: &str,
    ) -> Option<Self> {
        let mut token = HeaderValue::from_str(&format!("Bot {token}")).ok()?;
        token.set_sensitive(true);
        let mut messages = base.clone();
        let id = channel.0.to_string();
        messages
            .path_segments_mut()
            .ok()?
            // A base URL that ends with `/` has an empty last segment, which would make a double slash here: so remove it.
            .pop_if_empty()
            .extend(["channels", &id, "messages"]);
        Some(Self {
            outgoing: outgoing.clone(),
            messages,
            token,
            limits: Mutex::default(),
        })
    }

    /// Posts a message; its id.
    pub(crate) async fn post(&self, written: &ChannelMessage<'_>) -> Result<Snowflake, RestFault> {
        #[derive(Deserialize)]
        struct Posted {
            id: Snowflake,
        }
        let (kind, body) = match &written.file {
            None => (
                "application/json".to_owned(),
                written.payload.to_string().into_bytes(),
            ),
            Some((name, file)) => multipart(&written.payload.to_string(), name, file),
        };
        let headers = self.headers(Some(&kind))?;
        let url = self.messages.clone();
        let ask = DiscordRequest {
            method: Method::POST,
            url,
            headers,
            body: body.into(),
        };
        let posted: Posted = self.ask_for(RequestKind::Post, ask).await?;
        Ok(posted.id)
    }

    /// Up to a hundred messages behind that one, the oldest first; the newest alone without one.
    pub(crate) async fn read(
        &self,
        after: Option<Snowflake>,
    ) -> Result<Vec<ChannelPost>, RestFault> {
        let mut url = self.messages.clone();
        match after {
            Some(after) => url
                .query_pairs_mut()
                .append_pair("after", &after.0.to_string())
                .append_pair("limit", "100"),
            None => url.query_pairs_mut().append_pair("limit", "1"),
        };
        let headers = self.headers(None)?;
        let ask = DiscordRequest {
            method: Method::GET,
            url,
            headers,
            body: Bytes::new(),
        };
        let mut posts: Vec<ChannelPost> = self.ask_for(RequestKind::Read, ask).await?;
        // Discord returns the newest post first. Sort the oldest first: the reader stores its position after each post,
        // and would skip every post that is older than the position.
        posts.sort_by_key(|post| post.id);
        Ok(posts)
    }

    /// A file that was posted. Its address is whatever the post says: no token goes there.
    pub(crate) async fn file(&self, file: &Attachment) -> Result<Bytes, RestFault> {
        let url = Url::parse(&file.url).map_err(|_| RestFault::Malformed)?;
        let ask = DiscordRequest {
            method: Method::GET,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
        };
        Ok(self.ask(RequestKind::File, ask).await?.body)
    }

    fn headers(&self, kind: Option<&str>) -> Result<HeaderMap, RestFault> {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, self.token.clone());
        headers.insert(header::USER_AGENT, HeaderValue::from_static(AGENT));
        if let Some(kind) = kind {
            let kind = HeaderValue::from_str(kind).map_err(|_| RestFault::Malformed)?;
            headers.insert(header::CONTENT_TYPE, kind);
        }
        Ok(headers)
    }

    /// Asks once, when the limits allow it, for JSON of that form. An answer of another form is as good as none: the next
    /// request waits as it does after a fault.
    async fn ask_for<T: DeserializeOwned>(
        &self,
        route: RequestKind,
        ask: DiscordRequest,
    ) -> Result<T, RestFault> {
        let answer = self.ask(route, ask).await?;
        let read = serde_json::from_slice(&answer.body);
        let mut limits = self.limits.locked();
        match &read {
            Ok(_) => limits.note(route, said(&answer), Instant::now()),
            Err(_) => limits.note_fault(Instant::now()),
        }
        read.map_err(|_| RestFault::Malformed)
    }

    /// Asks once, when the limits allow it. What a good answer says of limits is for whoever reads it.
    async fn ask(&self, route: RequestKind, ask: DiscordRequest) -> Result<HttpAnswer, RestFault> {
        // Check the limit again after each wait: another request may have been told to wait longer meanwhile.
        loop {
            let wait = self.limits.locked().wait(route, Instant::now());
            if wait.is_zero() {
                break;
            }
            sleep(wait).await;
        }
        let DiscordRequest {
            method,
            url,
            headers,
            body,
        } = ask;
        let Ok(answer) = self
            .outgoing
            .request(method, &url, headers, body, &HOW)
            .await
        else {
            // A posted file may lie on any server, so a failure to fetch it does not count as a fault of Discord's.
            if route != RequestKind::File {
                self.limits.locked().note_fault(Instant::now());
            }
            return Err(RestFault::Later);
        };
        let status = answer.status.as_u16();
        if route != RequestKind::File && !answer.status.is_success() {
            self.limits
                .locked()
                .note(route, said(&answer), Instant::now());
        }
        match status {
            200..=299 => Ok(answer),
            401 | 403 | 404 if route != RequestKind::File => Err(RestFault::Refused(status)),
            429 | 500.. => Err(RestFault::Later),
            _ => Err(RestFault::Unfit(status)),
        }
    }
}

/// What an answer says about limits, in its headers and, of a 429, in its body.
fn said(answer: &HttpAnswer) -> RateLimitHeaders {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Limited {
        retry_after: Option<f64>,
        global: bool,
    }
    let header = |name: &'static str| {
        let value = answer.headers.get(HeaderName::from_static(name));
        value.and_then(|value| value.to_str().ok())
    };
    let number = |name: &'static str| header(name).and_then(|text| text.trim().parse().ok());
    let limited: Limited = match answer.status.as_u16() {
        // A 429 may come without Discord's JSON as its body: the headers alone then say how long to wait.
        429 => serde_json::from_slice(&answer.body).unwrap_or_default(),
        _ => Limited::default(),
    };
    RateLimitHeaders {
        status: answer.status.as_u16(),
        remaining: header("x-ratelimit-remaining").and_then(|text| text.trim().parse().ok()),
        reset_after: number("x-ratelimit-reset-after"),
        retry_after: limited.retry_after.or_else(|| number("retry-after")),
        is_global: limited.global
            || header("x-ratelimit-global").is_some()
            || header("x-ratelimit-scope") == Some("global"),
    }
}

/// A form with the message and one file (RFC 7578). The boundary is a hash of both, so that neither holds it.
fn multipart(payload: &str, name: &str, file: &[u8]) -> (String, Vec<u8>) {
    let hash = Sha256::new()
        .chain_update(payload)
        .chain_update(file)
        .finalize();
    let boundary = format!("signet-{}", HEXLOWER.encode(hash.as_slice()));
    let mut body = Vec::with_capacity(payload.len() + file.len() + 512);
    let parts: [(&str, &str, &[u8]); 2] = [
        (
            "name=\"payload_json\"",
            "application/json",
            payload.as_bytes(),
        ),
        (
            &format!("name=\"files[0]\"; filename=\"{name}\""),
            "application/json",
            file,
        ),
    ];
    for (disposition, kind, bytes) in parts {
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; {disposition}\r\nContent-Type: {kind}\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(bytes);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    (format!("multipart/form-data; boundary={boundary}"), body)
}

/// Discord asks for this form.
const AGENT: &str = concat!(
    "DiscordBot (https://example.invalid/signet, ",
    env!("CARGO_PKG_VERSION"),
    ")"
);
/// A hundred messages of the longest kind fit.
const HOW: How = How {
    time: Duration::from_secs(30),
    answer_bytes: 4 << 20,
    pinned: None,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_holds_both_parts_byte_for_byte() {
        let (kind, body) = multipart("{\"a\":1}", "x.json", b"{\"b\": \"\r\n--\"}");
        let boundary = kind.split_once("boundary=").unwrap().1;
        let text = String::from_utf8(body).unwrap();
        let parts: Vec<&str> = text.split(&format!("--{boundary}")).collect();
        assert_eq!(parts.len(), 4, "{text}");
        assert!(
            parts[1].contains("name=\"payload_json\"")
                && parts[1].ends_with("\r\n\r\n{\"a\":1}\r\n")
        );
        assert!(
            parts[2].contains("filename=\"x.json\"")
                && parts[2].ends_with("\r\n\r\n{\"b\": \"\r\n--\"}\r\n")
        );
        assert_eq!(parts[3], "--\r\n");
    }
}
