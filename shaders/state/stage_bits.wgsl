// Written by `cargo xtask generate` from crates/poplin-layout: change the declaration there.

/// Bit of the stage `integrate` in `STAGES`.
const STAGE_INTEGRATE: u32 = 0x1u;

/// Bit of the stage `wind` in `STAGES`.
const STAGE_WIND: u32 = 0x2u;

/// Bit of the stage `motion` in `STAGES`.
const STAGE_MOTION: u32 = 0x4u;

/// Bit of the stage `tether` in `STAGES`.
const STAGE_TETHER: u32 = 0x8u;

/// Bit of the stage `implicit` in `STAGES`.
const STAGE_IMPLICIT: u32 = 0x10u;

/// Bit of the stage `gauss_seidel` in `STAGES`.
const STAGE_GAUSS_SEIDEL: u32 = 0x20u;

/// Bit of the stage `semi_implicit` in `STAGES`.
const STAGE_SEMI_IMPLICIT: u32 = 0x40u;

/// Bit of the stage `cyclic_reduction` in `STAGES`.
const STAGE_CYCLIC_REDUCTION: u32 = 0x80u;

/// Bit of the stage `yarn` in `STAGES`.
const STAGE_YARN: u32 = 0x100u;

/// Bit of the stage `bend` in `STAGES`.
const STAGE_BEND: u32 = 0x200u;

/// Bit of the stage `displacement` in `STAGES`.
const STAGE_DISPLACEMENT: u32 = 0x400u;

/// Bit of the stage `second_order` in `STAGES`.
const STAGE_SECOND_ORDER: u32 = 0x800u;

/// Bit of the stage `separation` in `STAGES`.
const STAGE_SEPARATION: u32 = 0x1000u;

/// Bit of the stage `self_collide` in `STAGES`.
const STAGE_SELF_COLLIDE: u32 = 0x2000u;

/// Bit of the stage `sweep` in `STAGES`.
const STAGE_SWEEP: u32 = 0x4000u;

/// Bit of the stage `collide_convex` in `STAGES`.
const STAGE_COLLIDE_CONVEX: u32 = 0x8000u;

/// Bit of the stage `collide_box` in `STAGES`.
const STAGE_COLLIDE_BOX: u32 = 0x10000u;

/// Bit of the stage `collide_triangle` in `STAGES`.
const STAGE_COLLIDE_TRIANGLE: u32 = 0x20000u;

/// Bit of the stage `mass` in `STAGES`.
const STAGE_MASS: u32 = 0x40000u;

/// Bit of the stage `collide_shape` in `STAGES`.
const STAGE_COLLIDE_SHAPE: u32 = 0x80000u;

/// Bit of the stage `collide_continuous` in `STAGES`.
const STAGE_COLLIDE_CONTINUOUS: u32 = 0x100000u;

/// Bit of the stage `collide_body` in `STAGES`.
const STAGE_COLLIDE_BODY: u32 = 0x200000u;

/// Bit of the stage `virtual_particles` in `STAGES`.
const STAGE_VIRTUAL_PARTICLES: u32 = 0x400000u;

/// Bit of the stage `limit_speed` in `STAGES`.
const STAGE_LIMIT_SPEED: u32 = 0x800000u;

/// Bit of the stage `sleep` in `STAGES`.
const STAGE_SLEEP: u32 = 0x1000000u;

/// Bits of the stages that solve fibers.
const STAGES_OF_FIBERS: u32 = 0xe0u;

/// Bits of the stages that read prepared shapes.
const STAGES_OF_SHAPES: u32 = 0x7bc000u;

/// Bits of the stages that touch spheres and capsules.
const STAGES_OF_SPHERES: u32 = 0x180000u;

/// Bits of the stages whose contacts an implicit solve looks for.
const STAGES_OF_PROBES: u32 = 0x1b8000u;

/// Bits of triangles that resist stretch in an implicit solve.
const IMPLICIT_TRIANGLES: u32 = 0x8000000u;

/// Bits of bends that resist bending in an implicit solve.
const IMPLICIT_BENDS: u32 = 0x10000000u;

/// Bits of springs that resist stretch or bending in an implicit solve.
const IMPLICIT_SPRINGS: u32 = 0x20000000u;

/// Bits of chains that precondition an implicit solve.
const IMPLICIT_CHAINS: u32 = 0x40000000u;

/// Bits of implicit steps that may be halved.
const IMPLICIT_HALVINGS: u32 = 0x80000000u;
