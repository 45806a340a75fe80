//! Twins of `shaders/stage`, one file per algorithm, with the same functions in the same order of
//! arithmetic.

pub mod bend;
pub mod collide_body;
pub mod collide_box;
pub mod collide_continuous;
pub mod collide_convex;
pub mod collide_shape;
pub mod collide_triangle;
pub mod cyclic_reduction;
pub mod gauss_seidel;
pub mod implicit;
pub mod integrate;
pub mod limit_speed;
pub mod mass;
pub mod motion;
pub mod self_collide;
pub mod semi_implicit;
pub mod separation;
pub mod sleep;
pub mod tether;
pub mod virtual_particles;
pub mod wind;

use poplin_layout::{Task, stage_table};

use crate::colliders::prepare_shape;
use crate::{ClothMemory, StageFunction};

/// Declares [`twin`] from the table of stages.
macro_rules! declare_twins {
    (
        $($(#[$doc:meta])+ $stage:ident {
            name: $file:ident,
            tasks: [$(
                $task:ident = $function:ident $(($arguments:literal))? $([$splits:ident])?
            ),+ $(,)?],
            $($rest:tt)*
        })+
        kernel: $kernel:tt
    ) => {
        /// Returns the twin of a shader function.
        pub fn twin(task: Task) -> StageFunction {
            match task {
                $($(Task::$task => $file::$function,)+)+
                Task::PrepareShape => prepare_shape,
                // The twin works directly on the buffers.
                Task::FetchParticle | Task::FlushParticle => leave,
            }
        }
    };
}
stage_table!(declare_twins);

/// Does nothing.
fn leave(_: &mut ClothMemory<'_>, _: u32) {}
