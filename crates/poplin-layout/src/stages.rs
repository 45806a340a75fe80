//! Solver stages and their functions, declared from the table of stages ([`crate::stage_table`]).

/// Memory that a stage writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Memory {
    /// Position and working inverse mass of particles: workgroup memory or storage, by tier.
    Current,
    /// Position one iteration ago and the user's inverse mass: workgroup memory or storage, by
    /// tier.
    Previous,
    /// The cloth's part of the storage buffer `scratch`.
    Scratch,
    /// Other workgroup memory: fiber rows, the grid of self collision, faults, sleep counters.
    Workgroup,
}

/// Reference in `f64` against which a stage is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oracle {
    /// Functions in `crates/poplin-oracle/src`: file and name.
    Functions(&'static [(&'static str, &'static str)]),
    /// No oracle: the reason, or the test that replaces it.
    None(&'static str),
}

/// A row of the table of stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageRow {
    /// The stage.
    pub stage: Stage,
    /// Stem of its shader file and of its CPU reference.
    pub name: &'static str,
    /// Its functions, in the order in which the kernel calls them.
    pub tasks: &'static [Task],
    /// Memory written by its functions.
    pub writes: &'static [Memory],
    /// Its `f64` reference.
    pub oracle: Oracle,
}

macro_rules! declare_stages {
    (
        $($(#[doc = $doc:literal])+ $stage:ident {
            name: $name:ident,
            tasks: [$(
                $task:ident = $function:ident $(($arguments:literal))? $([$splits:ident])?
            ),+ $(,)?],
            writes: [$($memory:ident),+],
            oracle: $oracle:expr $(,)?
        })+
        kernel: [$($kernel_task:ident = $kernel_function:ident),+ $(,)?]
    ) => {
        /// One stage of the solver, in the order of the iteration. The kernel is compiled with only
        /// the stages that a bucket of cloths needs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u32)]
        pub enum Stage {
            $($(#[doc = $doc])+ $stage,)+
        }

        /// A function that the kernel runs for each of a range of items.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "each is the shader function of its name, documented there")]
        pub enum Task {
            $($($task,)+)+
            $($kernel_task,)+
        }

        impl Task {
            /// Name of the function in the shader.
            pub const fn name(self) -> &'static str {
                match self {
                    $($(Self::$task => stringify!($function),)+)+
                    $(Self::$kernel_task => stringify!($kernel_function),)+
                }
            }

            /// Arguments of the call after the item, in the shader.
            pub(crate) const fn arguments(self) -> &'static str {
                match self {
                    $($(Self::$task => concat!($($arguments)?),)+)+
                    $(Self::$kernel_task)|+ => "",
                }
            }

            /// True if several threads may process the items of one loop at once: of two items,
            /// neither writes a row that the other reads or writes. Memory safety of threads on the
            /// CPU rests on it.
            pub const fn is_splittable(self) -> bool {
                match self {
                    $($(Self::$task => !concat!($(stringify!($splits))?).is_empty(),)+)+
                    $(Self::$kernel_task)|+ => false,
                }
            }

            /// Stage of the function; `None` for functions of the kernel itself.
            pub const fn stage(self) -> Option<Stage> {
                match self {
                    $($(Self::$task)|+ => Some(Stage::$stage),)+
                    $(Self::$kernel_task)|+ => None,
                }
            }
        }

        /// All stages in the order of the iteration.
        pub const STAGES: &[StageRow] = &[$(StageRow {
            stage: Stage::$stage,
            name: stringify!($name),
            tasks: &[$(Task::$task),+],
            writes: &[$(Memory::$memory),+],
            oracle: $oracle,
        }),+];

        /// All functions that the kernel runs over items.
        pub const TASKS: &[Task] = &[$($(Task::$task,)+)+ $(Task::$kernel_task,)+];
    };
}

crate::stage_table!(declare_stages);

impl Task {
    /// True for a function of the first step of a cyclic reduction only, false for one of the later
    /// steps only; `None` for one that runs in every repetition of its loop.
    pub const fn is_of_first_step(self) -> Option<bool> {
        match self {
            Self::BuildRow => Some(true),
            Self::ReduceRow => Some(false),
            _ => None,
        }
    }
}

impl Stage {
    /// Row of the stage in the table.
    pub const fn row(self) -> &'static StageRow {
        &STAGES[self as usize]
    }

    /// Stem of the stage's shader file and of its CPU reference.
    pub const fn name(self) -> &'static str {
        self.row().name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StageMask;

    #[test]
    fn bits_and_rows_follow_the_order_of_the_table() {
        for (index, row) in STAGES.iter().enumerate() {
            assert_eq!(row.stage as usize, index);
            assert_eq!(row.stage.row(), row);
            assert!(row.tasks.iter().all(|task| task.stage() == Some(row.stage)));
        }
        let bits = STAGES.iter().map(|row| StageMask::only(row.stage));
        let stages = bits.fold(StageMask(0), StageMask::union);
        assert!(!stages.intersects(StageMask::IMPLICIT_PARTS), "the mask has 32 bits");
    }
}
