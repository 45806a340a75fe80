//! Composition of one iteration of the GPU kernel, counted by running the schedule of the
//! reference: `cargo run --release -p poplin-testkit --example kernel_counts [MESH.obj]`.
//!
//! Prints a CSV table for pinned sheets, and for a mesh hung by the highest 3 % of its particles:
//! memory tier, lanes, bytes of workgroup memory, barriers per iteration, and the fraction of a
//! workgroup's lanes that have an item, averaged over the loops of edge-by-edge sets, of rows and
//! pulls of whole fibers, and of their recurrence. Solver settings are those of
//! `ClothDesc::choose_solver`, with WebGPU's default limits and those of a desktop GPU.

#![expect(clippy::print_stdout, reason = "the table is what it is for")]

use poplin_cook::{CookOptions, cook};
use poplin_cpu::contact::ContactMemory;
use poplin_cpu::multilevel::LevelsMemory;
use poplin_cpu::{ClothMemory, ReferenceEngine, Team, Work, Workers};
use poplin_host::{Engine as _, FramePart, HostCloth, TierLimits, choose_lane_count};
use poplin_layout::{Stage, Task, pack_fabric};
use poplin_model::{Chosen, ClothDesc, Mesh};
use poplin_testkit::scenes::hanging_sheet;

/// Number of items of loops, and of lanes available for them.
#[derive(Debug, Clone, Copy, Default)]
struct Lanes([u64; 2]);

impl Lanes {
    fn add(&mut self, items: u32, lanes: u32) {
        self.0[0] += u64::from(items);
        self.0[1] += u64::from(items.next_multiple_of(lanes));
    }

    fn busy(self) -> String {
        let [items, lanes] = self.0;
        if lanes == 0 { String::new() } else { format!("{:.0}", 1e2 * items as f64 / lanes as f64) }
    }
}

/// Workers of one lane that count loops and barriers.
#[derive(Debug, Clone)]
struct Counter {
    team: Team,
    lane_count: u32,
    barriers: u64,
    iterations: u64,
    /// Lanes of edge-by-edge sets, of rows and pulls of whole fibers, and of their recurrence.
    lanes: [Lanes; 3],
}

impl Workers for Counter {
    type Kept = LevelsMemory;
    type Contacts = ContactMemory;

    fn levels(&mut self) -> &mut LevelsMemory {
        self.team.levels()
    }

    fn begin_iteration(&mut self, memory: &mut ClothMemory<'_>, k: u32) {
        self.iterations += 1;
        self.team.begin_iteration(memory, k);
    }

    fn work(&mut self, work: Work, memory: &mut ClothMemory<'_>) {
        let kind = work.tasks().find_map(|task| match task {
            Task::SolveFiber => Some(2),
            _ if task.stage() == Some(Stage::GaussSeidel) => Some(0),
            _ if task.stage() == Some(Stage::SemiImplicit) => Some(1),
            _ => None,
        });
        if let Some(kind) = kind {
            self.lanes[kind].add(work.items().len() as u32, self.lane_count);
        }
        self.team.work(work, memory);
    }

    fn barrier(&mut self, memory: &mut ClothMemory<'_>) {
        self.barriers += 1;
        self.team.barrier(memory);
    }
}

fn count(name: &str, adapter: &str, mut cloth: ClothDesc, limits: TierLimits) {
    cloth.choose_solver(Chosen::ALL).expect("the cloth is valid");
    let host = HostCloth::new(cloth.clone()).expect("the cloth is valid");
    let particle_count = cloth.particle_count() as u32;
    let lane_count = choose_lane_count(host.fiber_width(), particle_count, limits);
    let row_count = pack_fabric(&cloth.fabric, &mut Vec::new()).fiber_row_count;
    let memory = limits.plan(host.memory_needs(host.stages(), row_count), None);
    let (tier, bytes) = (memory.tier, memory.bytes());
    let rows = if memory.row_capacity > 0 { "workgroup" } else { "scratch" };
    let mut counter = Counter {
        team: Team::single(),
        lane_count,
        barriers: 0,
        iterations: 0,
        lanes: [Lanes::default(); 3],
    };
    let (sets, edges) = (cloth.fabric.set_count(), cloth.fabric.edge_count());
    let mut engine = ReferenceEngine::new();
    let id = engine.add(cloth).expect("the cloth is valid");
    engine.begin_frame(1.0 / 60.0).expect("the frame is valid");
    engine.run_part(id, &FramePart::WHOLE, &mut counter).expect("the frame is valid");
    let barriers = counter.barriers as f64 / counter.iterations as f64;
    let [edge_by_edge, whole, recurrence] = counter.lanes.map(Lanes::busy);
    println!(
        "{name},{adapter},{tier:?},{lane_count},{bytes},{rows},{sets},{edges},{barriers:.0},{edge_by_edge},{whole},{recurrence}"
    );
}

fn main() {
    println!(
        "cloth,limits,tier,lanes,workgroup [bytes],rows in,sets,edges,barriers an iteration,lanes busy edge by edge [%],lanes busy in rows and pulls [%],lanes busy in recurrences [%]"
    );
    let mut cloths: Vec<_> =
        [16, 32, 64].map(|side| (format!("{side} x {side}"), hanging_sheet(side, side))).into();
    if let Some(path) = std::env::args().nth(1) {
        let mesh: Mesh = poplin_io::read_obj(&path).expect("the mesh can be read");
        let mut order: Vec<u32> = (0..mesh.positions.len() as u32).collect();
        let height = |&vertex: &u32| -mesh.positions[vertex as usize][1];
        order.sort_by(|a, b| height(a).total_cmp(&height(b)));
        order.truncate(order.len() * 3 / 100);
        let options = CookOptions { pins: order, ..CookOptions::default() };
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        cloths.push((name, cook(&mesh, &options).expect("the mesh cooks").into_cloth()));
    }
    for (name, cloth) in cloths {
        for (adapter, workgroup_bytes, invocations) in
            [("default", 16_384, 256), ("desktop", 49_152, 1024)]
        {
            count(&name, adapter, cloth.clone(), TierLimits { workgroup_bytes, invocations });
        }
    }
}
