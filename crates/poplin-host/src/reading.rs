//! Pending read of a state.

use std::fmt;
use std::pin::Pin;

use crate::{Error, State};

/// Pending state, requested by [`Engine::begin_read`](crate::Engine::begin_read). The CPU backend
/// has it at once.
#[derive(Debug)]
pub struct Reading(Source);

#[derive(Debug)]
enum Source {
    Ready(Option<State>),
    Transfer(Box<dyn Transfer>),
}

/// Transfer of a state from a device.
pub trait Transfer: fmt::Debug + Send + Sync {
    /// Polls as [`Reading::poll`] does.
    ///
    /// # Errors
    /// If the device failed.
    fn poll(&mut self) -> Result<Option<State>, Error>;

    /// Waits as [`Reading::receive`] does.
    fn receive(self: Box<Self>) -> Pin<Box<dyn Future<Output = Result<State, Error>> + Send>>;
}

impl From<State> for Reading {
    fn from(state: State) -> Self {
        Self(Source::Ready(Some(state)))
    }
}

impl Reading {
    /// Wraps a transfer.
    pub fn new(transfer: impl Transfer + 'static) -> Self {
        Self(Source::Transfer(Box::new(transfer)))
    }

    /// Returns the state once it has arrived, and only once; never blocks.
    ///
    /// # Errors
    /// [`Error`] if the GPU failed.
    pub fn poll(&mut self) -> Result<Option<State>, Error> {
        match &mut self.0 {
            Source::Ready(state) => Ok(state.take()),
            Source::Transfer(transfer) => transfer.poll(),
        }
    }

    /// Waits for the state without blocking a thread; call it instead of [`Reading::poll`], not
    /// after it. On native platforms the GPU completes the transfer when its device is polled: at
    /// every step of its engine and in [`Engine::wait`](crate::Engine::wait).
    ///
    /// # Errors
    /// [`Error`] if the GPU failed.
    pub async fn receive(self) -> Result<State, Error> {
        match self.0 {
            Source::Ready(state) => Ok(state.unwrap_or_default()),
            Source::Transfer(transfer) => transfer.receive().await,
        }
    }
}
