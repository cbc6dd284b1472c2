//! The two streams of a client: a line a message, and none longer than a client has reason for.

use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Deserialize as _;
use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, Stdin, Stdout,
};
use tokio::sync::Mutex;

use crate::doors::mcp::receipts::Receipts;
use crate::shown::escaped_line;

/// Standard input and output. Clones are the same streams.
pub(crate) struct ClientStdio<R = Stdin, W = Stdout> {
    lines: Arc<Mutex<BoundedLines<R>>>,
    out: Arc<Mutex<W>>,
    receipts: Receipts,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> ClientStdio<R, W> {
    pub(crate) fn new(input: R, out: W, receipts: Receipts) -> Self {
        Self {
            lines: Arc::new(Mutex::new(BoundedLines::new(input))),
            out: Arc::new(Mutex::new(out)),
            receipts,
        }
    }

    async fn refuse(&self, fault: Unreadable) -> io::Result<()> {
        let error = ErrorData::new(fault.code, fault.what, None);
        let refused = TxJsonRpcMessage::<RoleServer>::error(error, fault.id);
        write(&self.out, &refused).await
    }
}

impl<R, W> Clone for ClientStdio<R, W> {
    fn clone(&self) -> Self {
        Self {
            lines: Arc::clone(&self.lines),
            out: Arc::clone(&self.out),
            receipts: self.receipts.clone(),
        }
    }
}

impl<R, W> Transport<RoleServer> for ClientStdio<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let (out, receipts) = (Arc::clone(&self.out), self.receipts.clone());
        async move {
            write(&out, &item).await?;
            // Acknowledge only after the line was written: otherwise an answer that the client never got would leave the inbox.
            if let JsonRpcMessage::Response(response) = &item {
                receipts.written(&response.id);
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let line = self.lines.lock().await.next().await.ok()??;
            let fault = match line {
                BoundedLine::TooLong => Unreadable::too_long(),
                BoundedLine::Whole(line) if line.trim_ascii().is_empty() => continue,
                BoundedLine::Whole(line) => match parse(&line) {
                    Ok(message) => return Some(message),
                    Err(fault) => fault,
                },
            };
            // If the refusal cannot be written, the client reads no more: `None` ends the conversation.
            self.refuse(fault).await.ok()?;
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.out.lock().await.flush().await
    }
}

async fn write<W: AsyncWrite + Unpin>(
    out: &Mutex<W>,
    message: &TxJsonRpcMessage<RoleServer>,
) -> io::Result<()> {
    let line = serde_json::to_string(message)?;
    let line = format!("{}\n", escaped_line(&line));
    let mut out = out.lock().await;
    out.write_all(line.as_bytes()).await?;
    out.flush().await
}

/// A line that is no message, and what its sender is told.
struct Unreadable {
    code: ErrorCode,
    what: &'static str,
    id: Option<RequestId>,
}

impl Unreadable {
    fn too_long() -> Self {
        Self {
            code: ErrorCode::INVALID_REQUEST,
            what: "the line is longer than 4 MiB; it was not read",
            id: None,
        }
    }
}

fn parse(line: &[u8]) -> Result<RxJsonRpcMessage<RoleServer>, Unreadable> {
    // Parse a second time only if the message is refused, to find the id that the refusal should name.
    serde_json::from_slice(line).map_err(|_| match serde_json::from_slice::<Value>(line) {
        Ok(value) => Unreadable {
            code: ErrorCode::INVALID_REQUEST,
            what: "the line is no message of MCP",
            id: value
                .get("id")
                .and_then(|id| RequestId::deserialize(id).ok()),
        },
        Err(_) => Unreadable {
            code: ErrorCode::PARSE_ERROR,
            what: "the line is no JSON, or nests deeper than 127 levels",
            id: None,
        },
    })
}

/// What stands between two line feeds.
#[derive(Debug, PartialEq, Eq)]
enum BoundedLine {
    Whole(Vec<u8>),
    TooLong,
}

/// The lines of a stream, with no more of one in memory than is wanted. A read that is dropped loses nothing.
struct BoundedLines<R> {
    input: BufReader<R>,
    begun: Vec<u8>,
    is_too_long: bool,
}

impl<R: AsyncRead + Unpin> BoundedLines<R> {
    fn new(input: R) -> Self {
        Self {
            input: BufReader::new(input),
            begun: Vec::new(),
            is_too_long: false,
        }
    }

    /// The next line; `None` at the end of the stream, where a line that is cut off counts for nothing.
    async fn next(&mut self) -> io::Result<Option<BoundedLine>> {
        loop {
            let chunk = self.input.fill_buf().await?;
            if chunk.is_empty() {
                return Ok(None);
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
            self.is_too_long |= self.begun.len() + part.len() > LINE_MAX;
            match self.is_too_long {
                // Keep nothing of a line that is too long, and skip its rest: otherwise a line without an end would fill the
                // memory.
                true => self.begun = Vec::new(),
                false => self.begun.extend_from_slice(part),
            }
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            if end.is_some() {
                let line = std::mem::take(&mut self.begun);
                return Ok(Some(match std::mem::take(&mut self.is_too_long) {
                    true => BoundedLine::TooLong,
                    false => BoundedLine::Whole(line),
                }));
            }
        }
    }
}

/// Longer than any message that a peer takes (256 KiB), however it is escaped.
const LINE_MAX: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    async fn lines(text: &[u8]) -> Vec<BoundedLine> {
        let mut lines = BoundedLines::new(text);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            all.push(line);
        }
        all
    }

    #[tokio::test]
    async fn a_line_without_end_takes_no_memory_and_the_next_one_is_read() {
        let text = [&vec![b'x'; LINE_MAX + 1][..], b"\nnext\ncut"].concat();
        assert_eq!(
            lines(&text).await,
            [BoundedLine::TooLong, BoundedLine::Whole(b"next".to_vec())]
        );
        let text = [&vec![b'x'; LINE_MAX][..], b"\n"].concat();
        assert_eq!(
            lines(&text).await,
            [BoundedLine::Whole(vec![b'x'; LINE_MAX])]
        );
    }

    /// What a client got for each line, and how many messages arrived.
    async fn spoken(text: String) -> (Vec<Value>, usize) {
        let (receipts, _wrote) = Receipts::new();
        let mut stdio = ClientStdio::new(Cursor::new(text.into_bytes()), Vec::new(), receipts);
        let mut arrived = 0;
        while stdio.receive().await.is_some() {
            arrived += 1;
        }
        let said = String::from_utf8(stdio.out.lock().await.clone()).unwrap();
        let said = said.lines().map(|line| serde_json::from_str(line).unwrap());
        (said.collect(), arrived)
    }

    #[tokio::test]
    async fn garbage_is_refused_and_what_follows_is_served() {
        let deep = format!("{{\"id\":1,\"x\":{}1{}}}", "[".repeat(500), "]".repeat(500));
        let text = format!(
            "\u{feff}garbage\n\n{deep}\n{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":3}}\n[]\n\
             {{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"ping\"}}\n"
        );
        let (said, arrived) = spoken(text).await;
        let codes: Vec<i64> = said
            .iter()
            .map(|line| line["error"]["code"].as_i64().unwrap())
            .collect();
        assert_eq!((codes, arrived), (vec![-32700, -32700, -32600, -32600], 1));
        assert_eq!(said[2]["id"], 7);
    }
}
