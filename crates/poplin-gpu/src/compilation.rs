//! When pipelines are compiled, and values that a thread of their own makes.

#[cfg(not(target_family = "wasm"))]
use std::thread::JoinHandle;

/// When an engine compiles its pipelines: one for each set of stages, sizes and lane counts of its cloths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compilation {
    /// When a cloth is added, or at the beginning of a frame before which one was changed so that it needs another pipeline: that
    /// call waits for the compiler, no frame that changes nothing does (default).
    #[default]
    WhenAdded,
    /// When a frame first needs it: that frame waits, and pipelines that no frame needs are not compiled, as those of a cloth whose
    /// colliders are yet to come. For runs without a window.
    WhenNeeded,
    /// On threads of their own, from the moment a cloth is added or changed: nothing waits. A cloth stands still until its
    /// pipeline is there; [`Engine::is_compiling`](crate::Engine::is_compiling) reports it,
    /// [`Engine::finish_compiling`](crate::Engine::finish_compiling) waits. In a browser, where there are no threads, as
    /// [`Compilation::WhenAdded`].
    Background,
}

/// A value that is made when it is needed or on a thread of its own before.
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
    /// The value, if it was waited for or found complete.
    pub(crate) fn get(&self) -> Option<&T> {
        self.value.as_ref()
    }

    /// A cloth will need the value, unless it is changed before the next frame.
    pub(crate) fn request(
        &mut self,
        compilation: Compilation,
        make: impl FnOnce() -> T + wgpu::WasmNotSend + 'static,
    ) {
        match compilation {
            Compilation::WhenAdded => self.finish(make),
            Compilation::WhenNeeded => {}
            Compilation::Background => self.start(make),
        }
    }

    /// Starts to make the value, unless that was done: on a thread, or at once where there are none.
    #[cfg(not(target_family = "wasm"))]
    fn start(&mut self, make: impl FnOnce() -> T + Send + 'static) {
        if self.value.is_none() && self.thread.is_none() {
            self.thread = Some(std::thread::spawn(make));
        }
    }

    /// Starts to make the value, unless that was done: on a thread, or at once where there are none.
    #[cfg(target_family = "wasm")]
    fn start(&mut self, make: impl FnOnce() -> T) {
        self.value.get_or_insert_with(make);
    }

    /// Makes the value, or waits for it.
    pub(crate) fn finish(&mut self, make: impl FnOnce() -> T) {
        self.wait();
        self.value.get_or_insert_with(make);
    }

    /// Waits for the value, if it is being made.
    pub(crate) fn wait(&mut self) {
        #[cfg(not(target_family = "wasm"))]
        if let Some(thread) = self.thread.take() {
            // A panic there is one here.
            let value = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            self.value = Some(value);
        }
    }

    /// Whether the value is there; takes it over from its thread.
    pub(crate) fn is_ready(&mut self) -> bool {
        if !self.is_running() {
            self.wait();
        }
        self.value.is_some()
    }

    /// Whether a thread is still at it.
    pub(crate) fn is_running(&self) -> bool {
        #[cfg(not(target_family = "wasm"))]
        return self.thread.as_ref().is_some_and(|thread| !thread.is_finished());
        #[cfg(target_family = "wasm")]
        return false;
    }
}
