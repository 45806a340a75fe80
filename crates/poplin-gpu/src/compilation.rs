//! Times of pipeline compilation, and values computed on background threads.

#[cfg(not(target_family = "wasm"))]
use std::thread::JoinHandle;

/// Time at which an engine compiles its pipelines, one for each set of stages, sizes and lane
/// counts of its cloths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compilation {
    /// Compiles when a cloth is added, or at the beginning of a frame for a changed cloth that
    /// needs a different pipeline: that call waits for the compiler, frames without changes do not
    /// (default).
    #[default]
    WhenAdded,
    /// Compiles when a frame first needs the pipeline: that frame waits, and pipelines that no
    /// frame needs are not compiled, for example those of a cloth whose colliders are added later.
    /// For runs without a window.
    WhenNeeded,
    /// Compiles on background threads, as soon as a cloth is added or changed, so that nothing
    /// waits. A cloth stands still until its pipeline is ready;
    /// [`GpuEngine::is_compiling`](crate::GpuEngine::is_compiling) reports it,
    /// [`GpuEngine::finish_compiling`](crate::GpuEngine::finish_compiling) waits. Without threads,
    /// in a browser, the same as [`Compilation::WhenAdded`].
    Background,
}

/// Value that is created when it is needed, or earlier on a background thread.
#[derive(Debug)]
pub(crate) struct Made<T> {
    value: Option<T>,
    #[cfg(not(target_family = "wasm"))]
    thread: Option<JoinHandle<T>>,
}

impl<T> Default for Made<T> {
    fn default() -> Self {
        Self {
            value: None,
            #[cfg(not(target_family = "wasm"))]
            thread: None,
        }
    }
}

impl<T: wgpu::WasmNotSend + 'static> Made<T> {
    /// Value, if it was waited for or found complete.
    pub(crate) fn get(&self) -> Option<&T> {
        self.value.as_ref()
    }

    /// Requests the value on behalf of a cloth that may need it in the next frame.
    pub(crate) fn request(
        &mut self,
        compilation: Compilation,
        make: impl FnOnce() -> T + wgpu::WasmNotSend + 'static,
    ) {
        match compilation {
            Compilation::WhenAdded => _ = self.finish(make),
            Compilation::WhenNeeded => {}
            Compilation::Background => self.start(make),
        }
    }

    /// Starts creating the value unless it exists or was started: on a thread, or at once without
    /// threads.
    #[cfg(not(target_family = "wasm"))]
    fn start(&mut self, make: impl FnOnce() -> T + Send + 'static) {
        if self.value.is_none() && self.thread.is_none() {
            self.thread = Some(std::thread::spawn(make));
        }
    }

    /// Starts creating the value unless it exists or was started: on a thread, or at once without
    /// threads.
    #[cfg(target_family = "wasm")]
    fn start(&mut self, make: impl FnOnce() -> T) {
        self.value.get_or_insert_with(make);
    }

    /// Creates the value, or waits for it.
    pub(crate) fn finish(&mut self, make: impl FnOnce() -> T) -> &T {
        self.wait();
        self.value.get_or_insert_with(make)
    }

    /// Waits for the value if it is being created.
    pub(crate) fn wait(&mut self) {
        #[cfg(not(target_family = "wasm"))]
        if let Some(thread) = self.thread.take() {
            // A panic of the thread continues in the caller.
            let value = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            self.value = Some(value);
        }
    }

    /// True if the value exists; collects it from a finished thread.
    pub(crate) fn is_ready(&mut self) -> bool {
        if !self.is_running() {
            self.wait();
        }
        self.value.is_some()
    }

    /// True while a thread is creating the value.
    pub(crate) fn is_running(&self) -> bool {
        #[cfg(not(target_family = "wasm"))]
        return self.thread.as_ref().is_some_and(|thread| !thread.is_finished());
        #[cfg(target_family = "wasm")]
        return false;
    }
}

impl<T, E: Clone> Made<Result<T, E>>
where
    Result<T, E>: wgpu::WasmNotSend + 'static,
{
    /// Creates the value, or waits for it; returns why that failed, if it did.
    pub(crate) fn prepare(&mut self, make: impl FnOnce() -> Result<T, E>) -> Result<(), E> {
        self.finish(make).as_ref().map(|_| ()).map_err(Clone::clone)
    }
}
