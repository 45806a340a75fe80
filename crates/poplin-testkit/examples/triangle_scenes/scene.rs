//! What a scene is, and what most are made of.

use poplin::cook::{CookOptions, cook};
use poplin::model::{Cloth, Collider, Implicit, Mesh, Parallelepiped, Pose, Shape, Solver, Sphere};
use poplin_io::picture::View;

/// Solver iterations per second of PBD [1/s].
const FREQUENCY: f32 = 600.0;
/// Substeps of a frame of XPBD: as often.
const SUBSTEPS: f32 = 10.0;
/// Steps of a frame of the implicit solver.
const IMPLICIT_STEPS: f32 = 4.0;

/// How fine a scene is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    /// What it is called.
    pub(crate) name: &'static str,
    /// Factor of columns and rows.
    columns: f32,
    /// Factor of the step of the solver.
    step: f32,
}

impl Kind {
    /// As stated, with half the particles, with steps twice as long.
    pub(crate) const ALL: [Self; 3] = [
        Self { name: "full", columns: 1.0, step: 1.0 },
        Self { name: "half", columns: std::f32::consts::FRAC_1_SQRT_2, step: 1.0 },
        Self { name: "steps", columns: 1.0, step: 2.0 },
    ];

    /// Of so many columns or rows, how many there are.
    pub(crate) fn count(self, full: u32) -> u32 {
        (full as f32 * self.columns).round() as u32
    }

    /// Whether there are as many particles as stated.
    pub(crate) fn is_full(self) -> bool {
        self.columns == 1.0
    }
}

/// Where pinned particles of the first cloth are at a time \[s\].
pub(crate) type Pins = Box<dyn Fn(f32) -> Vec<(u32, [f32; 3])>>;
/// Poses of the first colliders at a time \[s\].
pub(crate) type Poses = Box<dyn Fn(f32) -> Vec<Pose>>;
/// What a scene says of its positions \[m\] at a time \[s\]; the last word stays.
pub(crate) type Watch = Box<dyn FnMut(f32, &[[f32; 3]]) -> Option<String>>;

/// Cloths and colliders, and what happens to them.
pub(crate) struct Scene {
    /// Its cloths, of one thickness.
    pub(crate) cloths: Vec<Cloth>,
    /// Its colliders.
    pub(crate) colliders: Vec<Collider>,
    /// How long it takes \[s\].
    pub(crate) seconds: f32,
    /// Velocity of each cloth at the start [m/s]; of those without one it is 0.
    pub(crate) velocities: Vec<[f32; 3]>,
    /// Moves pins.
    pub(crate) pins: Option<Pins>,
    /// Moves colliders.
    pub(crate) poses: Option<Poses>,
    /// Watches.
    pub(crate) watch: Option<Watch>,
    /// Where the picture is drawn from.
    pub(crate) view: View,
    /// When it is drawn \[s\], at the end at the latest.
    pub(crate) shown: f32,
}

impl Scene {
    /// A scene in which nothing but gravity acts.
    pub(crate) fn new(cloths: Vec<Cloth>, colliders: Vec<Collider>, seconds: f32) -> Self {
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

    /// Seen from these angles \[degrees\].
    pub(crate) fn seen_from(self, azimuth: f64, elevation: f64) -> Self {
        Self { view: View { azimuth, elevation }, ..self }
    }
}

/// A sheet around the origin in the plane of x and z, of 0.2 kg/m^2.
pub(crate) fn sheet(kind: Kind, [columns, rows]: [u32; 2], [width, depth]: [f32; 2]) -> Cloth {
    pinned_sheet(kind, [columns, rows].map(|it| kind.count(it)), [width, depth], &[])
}

/// The same of exactly so many columns and rows, with pins.
pub(crate) fn pinned_sheet(kind: Kind, counts: [u32; 2], size: [f32; 2], pins: &[u32]) -> Cloth {
    let [columns, rows] = counts;
    let mut mesh = Mesh::grid(columns, rows, size[0], size[1]);
    for [x, _, z] in &mut mesh.positions {
        (*x, *z) = (*x - 0.5 * size[0], *z - 0.5 * size[1]);
    }
    let mass = 0.2 * size[0] * size[1] / (columns * rows) as f32;
    let options = CookOptions { bends: true, pins: pins.to_vec(), ..CookOptions::default() };
    of_mesh(kind, &mesh, mass, options)
}

/// A cloth of a mesh, each vertex of which has this mass \[kg\], 5 mm thick, with a friction of 0.3.
pub(crate) fn of_mesh(kind: Kind, mesh: &Mesh, mass: f32, options: CookOptions) -> Cloth {
    let options = CookOptions { masses: Some(vec![mass; mesh.positions.len()]), ..options };
    let mut cloth = cook(mesh, &options).expect("the mesh cooks").into_cloth();
    set(&mut cloth, 0.005, 0.3);
    if let Solver::Pbd(pbd) = &mut cloth.config.solver {
        pbd.frequency = FREQUENCY / kind.step;
    }
    cloth
}

/// Sets thickness \[m\] and friction.
pub(crate) fn set(cloth: &mut Cloth, thickness: f32, friction: f32) {
    cloth.config.thickness = thickness;
    cloth.config.contact.friction = friction;
}

/// Another solver of a cloth.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Other {
    /// [`Solver::Xpbd`].
    Xpbd,
    /// [`Solver::Implicit`].
    Implicit,
}

impl Other {
    /// Sets it.
    pub(crate) fn solve(self, kind: Kind, cloth: &mut Cloth) {
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

/// Moves each particle of a cloth.
pub(crate) fn each(mut cloth: Cloth, f: impl Fn([f32; 3]) -> [f32; 3]) -> Cloth {
    for particle in &mut cloth.particles {
        particle.position = f(particle.position);
    }
    cloth
}

/// Moves a cloth.
pub(crate) fn moved(cloth: Cloth, by: [f32; 3]) -> Cloth {
    each(cloth, |p| std::array::from_fn(|k| p[k] + by[k]))
}

/// Puts a cloth into the plane of x and y.
pub(crate) fn upright(cloth: Cloth) -> Cloth {
    each(cloth, |[x, y, z]| [x, z, y])
}

/// A ball.
pub(crate) fn ball(center: [f32; 3], radius: f32) -> Collider {
    Shape::from(Sphere { center, radius }).into()
}

/// A box of these half sides.
pub(crate) fn cuboid(half: [f32; 3]) -> Collider {
    Shape::from(Parallelepiped::cuboid(half)).into()
}

/// Distance of two points \[m\].
pub(crate) fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f32>().sqrt()
}

/// From 0 to 1 without a jerk, as time goes from 0 to 1.
pub(crate) fn smooth(time: f32) -> f32 {
    let time = time.clamp(0.0, 1.0);
    time * time * (3.0 - 2.0 * time)
}
