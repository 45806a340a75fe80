//! A state in transfer from either backend.

use poplin_host::{Reading as _, State};

use crate::Error;

/// A pending state, requested by [`Simulation::begin_read`](crate::Simulation::begin_read).
#[derive(Debug)]
pub struct Reading(AnyReading);

#[derive(Debug)]
enum AnyReading {
    #[cfg(feature = "cpu")]
    Cpu(poplin_host::Ready),
    #[cfg(feature = "gpu")]
    Gpu(poplin_gpu::Reading),
    /// Placeholder of a build without backends; never constructed.
    #[cfg(not(any(feature = "cpu", feature = "gpu")))]
    Neither(std::convert::Infallible),
}

#[cfg(feature = "cpu")]
impl From<poplin_host::Ready> for Reading {
    fn from(reading: poplin_host::Ready) -> Self {
        Self(AnyReading::Cpu(reading))
    }
}

#[cfg(feature = "gpu")]
impl From<poplin_gpu::Reading> for Reading {
    fn from(reading: poplin_gpu::Reading) -> Self {
        Self(AnyReading::Gpu(reading))
    }
}

impl Reading {
    /// Returns the state once, when it has arrived; never blocks. On the CPU backend the state is
    /// available at once.
    ///
    /// # Errors
    /// [`Error::Gpu`] if the GPU failed.
    pub fn poll(&mut self) -> Result<Option<State>, Error> {
        match &mut self.0 {
            #[cfg(feature = "cpu")]
            AnyReading::Cpu(reading) => Ok(reading.poll()?),
            #[cfg(feature = "gpu")]
            AnyReading::Gpu(reading) => Ok(reading.poll()?),
            #[cfg(not(any(feature = "cpu", feature = "gpu")))]
            AnyReading::Neither(never) => match *never {},
        }
    }

    /// Waits for the state without blocking a thread; call it instead of [`Reading::poll`], not
    /// after it. On native platforms the GPU completes the transfer when its device is polled: at
    /// every step of the simulation and in [`Simulation::wait`](crate::Simulation::wait).
    ///
    /// # Errors
    /// [`Error::Gpu`] if the GPU failed.
    pub async fn receive(self) -> Result<State, Error> {
        match self.0 {
            #[cfg(feature = "cpu")]
            AnyReading::Cpu(reading) => Ok(reading.receive().await?),
            #[cfg(feature = "gpu")]
            AnyReading::Gpu(reading) => Ok(reading.receive().await?),
            #[cfg(not(any(feature = "cpu", feature = "gpu")))]
            AnyReading::Neither(never) => match never {},
        }
    }
}
