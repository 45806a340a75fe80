//! Triangle contact on the GPU over whole frames: equal to the mirror whatever an application
//! changes between frames; without crossings where products are fused; with reports of what fails.

mod crossings;
mod scenario;
mod troubles;

use poplin::cook::{CookOptions, cook};
use poplin_cpu::ReferenceEngine;
use poplin_gpu::{EngineOptions, Headless};
use poplin_host::{ClothId, Engine, ParticleMotion, State};
use poplin_measure::entanglement::EntanglementCounter;
use poplin_model::{
    Capsule, ClothContactSolver, ClothDesc, Collider, ContactMode, ContactReport, Mesh,
    Parallelepiped, Particle, Plane, Shape, Sphere, TriangleMesh, Trouble,
};
use poplin_testkit::adapter::{Rounding, devices};
use poplin_testkit::compare::same_bits;

/// Thickness of every cloth \[m\].
const THICKNESS: f32 = 0.02;
/// Frame of four solver iterations at [`sheet`]'s 240 Hz.
const FRAME: f32 = 1.0 / 60.0;

/// Returns a level sheet around a point; `is_pinned` pins one corner.
fn sheet(center: [f32; 3], columns: u32, is_pinned: bool) -> ClothDesc {
    let width = 0.05 * columns as f32;
    let mut mesh = Mesh::grid(columns, columns, width, width);
    for [x, y, z] in &mut mesh.positions {
        (*x, *y, *z) = (*x - 0.5 * width + center[0], center[1], *z - 0.5 * width + center[2]);
    }
    let mut cloth = cook(&mesh, &CookOptions::default()).unwrap().into_cloth();
    for (index, particle) in cloth.particles.iter_mut().enumerate() {
        particle.inverse_mass = if is_pinned && index == 0 { 0.0 } else { 100.0 };
    }
    cloth.config.thickness = THICKNESS;
    cloth.config.contact.friction = 0.4;
    cloth.config.solver.as_pbd_mut().unwrap().frequency = 240.0;
    cloth
}

/// Returns colliders of every shape, below the sheets.
fn colliders() -> Vec<Collider> {
    let ball = |x: f32, radius: f32| Sphere { center: [x, 0.1, 0.0], radius };
    let tip = TriangleMesh {
        vertices: vec![[-0.1, 0.0, -0.1], [0.1, 0.0, -0.1], [0.0, 0.0, 0.12], [0.0, 0.16, 0.0]]
            .into(),
        triangles: vec![[0, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]].into(),
    };
    let ends = [ball(-0.15, 0.03), ball(-0.05, 0.05)];
    let half = Parallelepiped {
        corner: [0.07, 0.0, 0.05],
        edges: [[0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1]],
    };
    vec![
        Shape::from(Plane { normal: [0.0, 1.0, 0.0], offset: 0.0 }).into(),
        Shape::from(ball(0.05, 0.08)).into(),
        Shape::from(Capsule { ends }).into(),
        Shape::from(half).into(),
        Shape::from(tip).into(),
    ]
}

/// Returns the settings of triangle contact in these tests.
fn settings() -> ClothContactSolver {
    ClothContactSolver {
        contact: ContactMode::Triangles,
        iterations: 3,
        every: 2,
        max_rounds: 4,
        ..ClothContactSolver::default()
    }
}

/// One scene on the mirror and on a device.
struct Twins {
    mirror: ReferenceEngine,
    gpu: Headless,
    rounding: Rounding,
    cloths: Vec<ClothId>,
    /// Part of the scenario, for messages.
    what: &'static str,
}

/// Evaluates an expression with each engine, asserts equal results and returns them.
macro_rules! both {
    ($twins:expr, |$engine:ident| $body:expr) => {{
        let twins: &mut Twins = $twins;
        let of_mirror = {
            let $engine = &mut twins.mirror;
            $body
        };
        let of_gpu = {
            let $engine = &mut twins.gpu;
            $body
        };
        assert_eq!(of_mirror, of_gpu, "{}", twins.what);
        of_mirror
    }};
}
use both;

impl Twins {
    fn new(
        gpu: Headless,
        rounding: Rounding,
        cloths: &[ClothDesc],
        colliders: &[Collider],
    ) -> Self {
        let mut mirror = ReferenceEngine::new();
        mirror.set_cloth_contact_solver(settings()).unwrap();
        let mut it = Self { mirror, gpu, rounding, cloths: Vec::new(), what: "" };
        it.gpu.set_cloth_contact_solver(settings()).unwrap();
        for cloth in cloths {
            let id = both!(&mut it, |engine| engine.add(cloth.clone()).unwrap());
            it.cloths.push(id);
        }
        for collider in colliders {
            both!(&mut it, |engine| engine.colliders_mut().add(collider.clone()).unwrap());
        }
        it
    }

    /// Runs some frames on both, then compares them.
    fn run(&mut self, what: &'static str, frames: usize, dt: f32) -> Result<(), String> {
        self.what = what;
        for _ in 0..frames {
            both!(self, |engine| engine.step(dt).unwrap());
        }
        self.compare()
    }

    /// Tests for equal particles and reports, or for no crossing where products may be fused.
    fn compare(&mut self) -> Result<(), String> {
        let what = self.what;
        let [mirror, gpu] = [self.mirror.state().unwrap(), self.gpu.state().unwrap()];
        if self.rounding == Rounding::MayFuse {
            return match self.crossings() {
                0 => Ok(()),
                crossings => Err(format!("{what}: {crossings} crossings")),
            };
        }
        for &id in &self.cloths {
            let rows = [&gpu, &mirror].map(|it| [it.current(id), it.previous(id)].concat());
            same_bits(what, Particle::rows(&rows[0]), Particle::rows(&rows[1]))
                .map_err(|difference| format!("{difference:?}"))?;
            // For a move that is too fast the GPU reports a position of the cloth, the mirror one
            // of the fast object: positions are not compared.
            let [gpu, mirror] = [&gpu, &mirror].map(|it| {
                let report = it.contact_report(id);
                let hurried = report.hurried.map(|it| Trouble { position_m: [0.0; 3], ..it });
                ContactReport { hurried, ..report }
            });
            if gpu != mirror {
                return Err(format!("{what}: {gpu:?} on the GPU, {mirror:?} in the mirror"));
            }
        }
        Ok(())
    }

    /// Returns the reports of a new mirror that starts with these particles of all cloths and the
    /// current colliders: they count what is crossed before its first frame.
    fn start_reports(&self, state: &State) -> Vec<ContactReport> {
        let mut mirror = ReferenceEngine::new();
        mirror.set_cloth_contact_solver(settings()).unwrap();
        let add = |&id: &ClothId| {
            let now = self.gpu.cloth(id).unwrap();
            let new = mirror.add(now.desc().clone()).unwrap();
            mirror.cloth_mut(new).unwrap().teleport_to(now.pose()).unwrap();
            mirror.set_particles(new, state.current(id), ParticleMotion::Rest).unwrap();
            new
        };
        let ids: Vec<_> = self.cloths.iter().map(add).collect();
        for (_, collider) in self.gpu.colliders().iter() {
            mirror.colliders_mut().add(collider.clone()).unwrap();
        }
        mirror.step(FRAME).unwrap();
        let state = mirror.state().unwrap();
        ids.iter().map(|&id| state.contact_report(id)).collect()
    }

    /// Returns the number of crossings of cloth edges and cloth triangles on the device (exact).
    fn crossings(&mut self) -> usize {
        let (mut rows, mut triangles, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        let state = self.gpu.state().unwrap();
        for &id in &self.cloths {
            let base = rows.len() as u32;
            rows.extend(state.current(id).iter().map(|it| it.position));
            let fabric = &self.gpu.cloth(id).unwrap().desc().fabric;
            triangles.extend(fabric.triangles.iter().map(|it| it.map(|corner| base + corner)));
            ends.push(rows.len());
        }
        EntanglementCounter::new(&rows, &triangles, &ends).crossings(&rows)
    }
}

/// Returns the scene on every device.
fn twins(cloths: &[ClothDesc], colliders: &[Collider]) -> impl Iterator<Item = Twins> {
    let options = EngineOptions { frames_per_submit: 4, ..EngineOptions::default() };
    let all: Vec<_> = devices(&options).collect();
    all.into_iter().map(move |(gpu, rounding)| Twins::new(gpu, rounding, cloths, colliders))
}

/// Returns two free sheets close above each other and a smaller pinned one beside them.
fn stack() -> Vec<ClothDesc> {
    vec![
        sheet([0.0, 0.25, 0.0], 6, false),
        sheet([0.01, 0.29, 0.02], 6, false),
        sheet([0.3, 0.3, 0.0], 4, true),
    ]
}
