//! Scene definition, and common parts of scenes.

use poplin::cook::{CookOptions, cook};
use poplin::model::{
    ClothDesc, Collider, Implicit, Mesh, Parallelepiped, Pose, Shape, Solver, Sphere,
};
use poplin_picture::View;

/// Solver iterations per second of PBD [1/s].
const FREQUENCY: f32 = 600.0;
/// XPBD substeps per frame: the same frequency.
const SUBSTEPS: f32 = 10.0;
/// Steps per frame of the implicit solver.
const IMPLICIT_STEPS: f32 = 4.0;

/// Variant of a scene by its resolution.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    /// Name of the variant.
    pub(crate) name: &'static str,
    /// Factor on the column and row counts.
    columns: f32,
    /// Factor on the solver step.
    step: f32,
}

impl Kind {
    /// All variants: as defined, with half the particles, and with steps twice as long.
    pub(crate) const ALL: [Self; 3] = [
        Self { name: "full", columns: 1.0, step: 1.0 },
        Self { name: "half", columns: std::f32::consts::FRAC_1_SQRT_2, step: 1.0 },
        Self { name: "steps", columns: 1.0, step: 2.0 },
    ];

    /// Scaled number of columns or rows.
    pub(crate) fn count(self, full: u32) -> u32 {
        (full as f32 * self.columns).round() as u32
    }

    /// Tests whether the variant has the full number of particles.
    pub(crate) fn is_full(self) -> bool {
        self.columns == 1.0
    }
}

/// Positions of pinned particles of the first cloth at a time \[s\].
pub(crate) type Pins = Box<dyn Fn(f32) -> Vec<(u32, [f32; 3])>>;
/// Poses of the first colliders at a time \[s\].
pub(crate) type Poses = Box<dyn Fn(f32) -> Vec<Pose>>;
/// Remark of a scene on its positions \[m\] at a time \[s\]; the last one is kept.
pub(crate) type Watch = Box<dyn FnMut(f32, &[[f32; 3]]) -> Option<String>>;

/// Cloths and colliders, with their scripted motion.
pub(crate) struct Scene {
    /// Cloths of the scene, all of one thickness.
    pub(crate) cloths: Vec<ClothDesc>,
    /// Colliders of the scene.
    pub(crate) colliders: Vec<Collider>,
    /// Duration \[s\].
    pub(crate) seconds: f32,
    /// Initial velocity of each cloth [m/s]; 0 for cloths beyond the end of the list.
    pub(crate) velocities: Vec<[f32; 3]>,
    /// Motion of pins.
    pub(crate) pins: Option<Pins>,
    /// Motion of colliders.
    pub(crate) poses: Option<Poses>,
    /// Remark of the scene.
    pub(crate) watch: Option<Watch>,
    /// View of the picture.
    pub(crate) view: View,
    /// Time of the picture \[s\]; at the latest the end.
    pub(crate) shown: f32,
}

impl Scene {
    /// Creates a scene without scripted motion.
    pub(crate) fn new(cloths: Vec<ClothDesc>, colliders: Vec<Collider>, seconds: f32) -> Self {
        Self {
            cloths,
            colliders,
            seconds,
            velocities: Vec::new(),
            pins: None,
            poses: None,
            watch: None,
            view: View::THREE_QUARTER,
            shown: seconds,
        }
    }

    /// Sets the view by its angles \[degrees\].
    pub(crate) fn seen_from(self, azimuth: f64, elevation: f64) -> Self {
        Self { view: View { azimuth, elevation }, ..self }
    }
}

/// Creates a sheet around the origin in the x-z plane, of 0.2 kg/m^2.
pub(crate) fn sheet(kind: Kind, [columns, rows]: [u32; 2], [width, depth]: [f32; 2]) -> ClothDesc {
    pinned_sheet(kind, [columns, rows].map(|it| kind.count(it)), [width, depth], &[])
}

/// Creates such a sheet with exactly these column and row counts, and with pins.
pub(crate) fn pinned_sheet(
    kind: Kind,
    counts: [u32; 2],
    size: [f32; 2],
    pins: &[u32],
) -> ClothDesc {
    let [columns, rows] = counts;
    let mut mesh = Mesh::grid(columns, rows, size[0], size[1]);
    for [x, _, z] in &mut mesh.positions {
        (*x, *z) = (*x - 0.5 * size[0], *z - 0.5 * size[1]);
    }
    let mass = 0.2 * size[0] * size[1] / (columns * rows) as f32;
    let options = CookOptions { bends: true, pins: pins.to_vec(), ..CookOptions::default() };
    of_mesh(kind, &mesh, mass, options)
}

/// Creates a cloth from a mesh with this mass per vertex \[kg\], 5 mm thick, with a friction
/// coefficient of 0.3.
pub(crate) fn of_mesh(kind: Kind, mesh: &Mesh, mass: f32, options: CookOptions) -> ClothDesc {
    let options = CookOptions { masses: Some(vec![mass; mesh.positions.len()]), ..options };
    let mut cloth = cook(mesh, &options).expect("the mesh cooks").into_cloth();
    set(&mut cloth, 0.005, 0.3);
    if let Solver::Pbd(pbd) = &mut cloth.config.solver {
        pbd.frequency = FREQUENCY / kind.step;
    }
    cloth
}

/// Sets thickness \[m\] and friction.
pub(crate) fn set(cloth: &mut ClothDesc, thickness: f32, friction: f32) {
    cloth.config.thickness = thickness;
    cloth.config.contact.friction = friction;
}

/// Solver other than PBD.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Other {
    /// [`Solver::Xpbd`].
    Xpbd,
    /// [`Solver::Implicit`].
    Implicit,
}

impl Other {
    /// Sets the solver of a cloth.
    pub(crate) fn solve(self, kind: Kind, cloth: &mut ClothDesc) {
        cloth.config.solver = match self {
            Self::Xpbd => Solver::xpbd((SUBSTEPS / kind.step) as u32),
            Self::Implicit => Implicit {
                substeps: (IMPLICIT_STEPS / kind.step) as u32,
                bending_rigidity: 1e-5,
                ..Implicit::default()
            }
            .into(),
        };
    }
}

/// Maps the position of each particle of a cloth.
pub(crate) fn each(mut cloth: ClothDesc, f: impl Fn([f32; 3]) -> [f32; 3]) -> ClothDesc {
    for particle in &mut cloth.particles {
        particle.position = f(particle.position);
    }
    cloth
}

/// Translates a cloth.
pub(crate) fn moved(cloth: ClothDesc, by: [f32; 3]) -> ClothDesc {
    each(cloth, |p| std::array::from_fn(|k| p[k] + by[k]))
}

/// Rotates a cloth into the x-y plane.
pub(crate) fn upright(cloth: ClothDesc) -> ClothDesc {
    each(cloth, |[x, y, z]| [x, z, y])
}

/// Creates a ball.
pub(crate) fn ball(center: [f32; 3], radius: f32) -> Collider {
    Shape::from(Sphere { center, radius }).into()
}

/// Creates a box with these half extents.
pub(crate) fn cuboid(half: [f32; 3]) -> Collider {
    Shape::from(Parallelepiped::cuboid(half)).into()
}

/// Distance of two points \[m\].
pub(crate) fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f32>().sqrt()
}

/// Smoothstep: from 0 to 1 as time goes from 0 to 1.
pub(crate) fn smooth(time: f32) -> f32 {
    let time = time.clamp(0.0, 1.0);
    time * time * (3.0 - 2.0 * time)
}
