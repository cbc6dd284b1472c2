//! A connection whose other end has to read: one that takes nothing for a while is ended.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A stream on which a write that waits has an end.
pub(crate) struct Patient<S> {
    stream: S,
    patience: Duration,
    /// When the write that waits has waited long enough.
    end: Pin<Box<Sleep>>,
    waits: bool,
}

impl<S> Patient<S> {
    pub(crate) fn new(stream: S, patience: Duration) -> Self {
        Self {
            stream,
            patience,
            end: Box::pin(sleep(patience)),
            waits: false,
        }
    }

    fn judge<T>(
        &mut self,
        polled: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        // A single byte that is taken stops the timer: a slow reader is served, and a client that reads nothing is cut off.
        if polled.is_ready() {
            self.waits = false;
            return polled;
        }
        // Start the timer at the first try that had to wait. Later tries must not begin it anew, or it would never run out.
        if !self.waits {
            self.waits = true;
            self.end.as_mut().reset(Instant::now() + self.patience);
        }
        match self.end.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // This timer is for writing alone, so only pass the call on: reading has the limits `header-seconds` and
        // `body-seconds`.
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(polled, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.judge(polled, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.judge(polled, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.judge(polled, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn who_does_not_read_is_let_go_and_who_reads_slowly_is_not() {
        let (near, mut far) = tokio::io::duplex(4);
        let mut near = Patient::new(near, Duration::from_millis(200));
        let slow = tokio::spawn(async move {
            let mut read = [0; 2];
            for _ in 0..8 {
                tokio::time::sleep(Duration::from_millis(50)).await;
                far.read_exact(&mut read).await.unwrap();
            }
            far
        });
        near.write_all(&[7; 16]).await.unwrap();
        let _far = slow.await.unwrap();
        let error = near.write_all(&[7; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
