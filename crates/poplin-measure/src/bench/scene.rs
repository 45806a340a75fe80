//! Benchmark scenes: cloths, solids and their motion.

use poplin_model::{Capsule, Plane, Shape, Sphere};

/// Difference in radius between the colliding and the visible ball \[m\]: only particles collide,
/// and the triangles between them reach further in.
const BALL_MARGIN: f32 = 5e-3;

/// Friction of the swinging sheets, and of the dropped sheet except in `w4-frictions`.
pub(super) const FRICTION: f32 = 0.2;

/// Stiffness of the stretch, shear and bending edges of hanging cloths.
const STIFFNESS: [f32; 3] = [1.0, 0.8, 0.5];

/// Damping of hanging cloths, so that they come to rest.
const DAMPING: f32 = 0.2;

/// Cloths and shapes. All cloths are 1 m x 1 m squares of 0.2 kg; z is up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scene {
    /// Cloths that hang by two corners, without friction and tethers, with stiffness 1, 0.8 and 0.5
    /// against stretch, shear and bending.
    Hanging {
        /// Number of cloths.
        cloths: usize,
        /// Particles along each side of a cloth.
        side: u32,
        /// True if each cloth collides with four moving tapered capsules.
        has_capsules: bool,
    },
    /// Level sheet at z = 1, pinned at two corners of one side, that swings down.
    Swing {
        /// Particles along each side.
        side: u32,
        /// True if it swings onto a ball of radius 0.25 m at (0, 0.5, 0.55).
        has_ball: bool,
        /// True if the sheet has tethers.
        has_tethers: bool,
    },
    /// Level sheet of 64 x 64 particles and 1 cm thickness with self collision, dropped from z =
    /// 0.5 onto a ball of radius 0.2 m that lies on the floor z = 0.
    Drop {
        /// Coefficient of friction with ball and floor.
        friction: f32,
    },
}

impl Scene {
    /// Default number of frames that are timed and measured.
    pub fn frames(&self) -> u32 {
        match self {
            Self::Hanging { .. } | Self::Swing { .. } => 120,
            Self::Drop { .. } => 180,
        }
    }

    /// Number of frames before these, in which hanging cloths come to rest.
    pub fn settling(&self) -> u32 {
        if matches!(self, Self::Hanging { .. }) { 60 } else { 0 }
    }

    /// Number of cloths.
    pub fn cloths(&self) -> usize {
        if let Self::Hanging { cloths, .. } = self { *cloths } else { 1 }
    }

    /// Tests whether the cloth has self collision.
    pub fn keeps_apart(&self) -> bool {
        matches!(self, Self::Drop { .. })
    }

    /// Visible solids that a cloth must not penetrate at a time \[s\].
    pub fn solids(&self, cloth: usize, time: f32) -> Vec<Shape> {
        match *self {
            Self::Hanging { has_capsules: true, .. } => {
                (0..4).map(|capsule| moving_capsule(capsule, cloth, time).into()).collect()
            }
            Self::Hanging { .. } | Self::Swing { has_ball: false, .. } => Vec::new(),
            Self::Swing { .. } => {
                vec![Sphere { center: [0.0, 0.5, 0.55], radius: 0.25 }.into()]
            }
            Self::Drop { .. } => vec![Sphere { center: [0.0, 0.0, 0.2], radius: 0.2 }.into()],
        }
    }

    /// Floor plane, if there is one.
    pub fn floor(&self) -> Option<Plane> {
        let floor = Plane { normal: [0.0, 0.0, 1.0], offset: 0.0 };
        matches!(self, Self::Drop { .. }).then_some(floor)
    }

    pub(super) fn side(&self) -> u32 {
        match *self {
            Self::Hanging { side, .. } | Self::Swing { side, .. } => side,
            Self::Drop { .. } => 64,
        }
    }

    pub(super) fn is_pinned(&self) -> bool {
        !matches!(self, Self::Drop { .. })
    }

    /// Direction of gravity for the cooker. For a level sheet: the direction along which it will
    /// hang.
    pub(super) fn down(&self) -> [f32; 3] {
        if matches!(self, Self::Swing { .. }) { [0.0, 1.0, 0.0] } else { [0.0, 0.0, -1.0] }
    }

    /// Stiffness of stretch, shear and bending edges.
    pub(super) fn stiffness(&self) -> [f32; 3] {
        if matches!(self, Self::Hanging { .. }) { STIFFNESS } else { [1.0; 3] }
    }

    pub(super) fn damping(&self) -> [f32; 3] {
        if matches!(self, Self::Hanging { .. }) { [DAMPING; 3] } else { [0.0; 3] }
    }

    pub(super) fn friction(&self) -> f32 {
        match *self {
            Self::Hanging { .. } => 0.0,
            Self::Swing { .. } => FRICTION,
            Self::Drop { friction } => friction,
        }
    }

    /// Start position of a vertex of the unit grid \[m\].
    pub(super) fn start(&self, [x, _, y]: [f32; 3]) -> [f32; 3] {
        match self {
            Self::Hanging { .. } => [x - 0.5, 0.0, -y],
            Self::Swing { .. } => [x - 0.5, y, 1.0],
            Self::Drop { .. } => [x - 0.5, y - 0.5, 0.5],
        }
    }

    /// Colliding shapes of a cloth at a time \[s\].
    pub(super) fn colliders(&self, cloth: usize, time: f32) -> Vec<Shape> {
        let grown = |shape| match shape {
            Shape::Sphere(Sphere { center, radius }) => {
                Sphere { center, radius: radius + BALL_MARGIN }.into()
            }
            other => other,
        };
        let solids = self.solids(cloth, time).into_iter().map(grown);
        solids.chain(self.floor().map(Shape::from)).collect()
    }
}

/// One of four tapered capsules that swing against a cloth from behind, with a different phase for
/// each cloth.
fn moving_capsule(capsule: usize, cloth: usize, time: f32) -> Capsule {
    // Different phases keep cloths and capsules out of step.
    let phase = 0.37 * cloth as f32 + 1.3 * capsule as f32;
    let y = -0.01 + 0.01 * (2.0 * time + phase).sin();
    let (x, z) = ([-0.25, 0.25][capsule % 2], [-0.4, -0.75][capsule / 2]);
    let end = |offset: f32, radius| Sphere { center: [x + offset, y, z + offset], radius };
    Capsule { ends: [end(-0.06, 0.07), end(0.06, 0.05)] }
}
