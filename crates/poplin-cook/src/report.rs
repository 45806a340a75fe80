//! Statistics of a cook.

use std::fmt;

use poplin_model::{Fabric, PhaseKind};

use crate::FiberLengths;
use crate::fibers::Fibers;

/// Fraction of the stretch edges that enter [`CookReport::stretch_fiber_length`], the quality
/// measure of a cook.
const JUDGED_FRACTION: f64 = 0.95;

/// Statistics of one phase of the cooked fabric.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseReport {
    /// Kind of its edges.
    pub kind: PhaseKind,
    /// Number of edges.
    pub edge_count: usize,
    /// Number of fibers.
    pub fiber_count: usize,
    /// Number of sets (colours), each of which needs a barrier per iteration.
    pub set_count: usize,
    /// Distribution of fiber lengths.
    pub lengths: FiberLengths,
    /// Imbalance: fraction of their time that lanes wait, `0..1`, if every fiber of a set has its
    /// own lane and an edge takes one step. A set takes as many steps as its longest fiber has
    /// edges, so that this is `1 - edges / sum(fibers * longest)` over the sets.
    pub idle_fraction: f64,
}

impl PhaseReport {
    /// Computes the statistics of a phase from its fibers and its sets of fiber indices.
    pub(crate) fn new(kind: PhaseKind, fibers: &Fibers, sets: &[Vec<u32>]) -> Self {
        let edge_count_of = |fiber: u32| fibers.vertices(fiber as usize).len() - 1;
        let mut lengths = FiberLengths::default();
        let mut lane_steps = 0;
        for set in sets {
            set.iter().for_each(|&fiber| lengths.add(edge_count_of(fiber)));
            lane_steps +=
                set.len() * set.iter().map(|&fiber| edge_count_of(fiber)).max().unwrap_or(0);
        }
        let (edge_count, fiber_count, set_count) =
            (lengths.edge_count(), lengths.fiber_count(), sets.len());
        let idle_fraction = 1.0 - edge_count as f64 / lane_steps.max(1) as f64;
        Self { kind, edge_count, fiber_count, set_count, lengths, idle_fraction }
    }
}

/// Statistics of cooking a mesh.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CookReport {
    /// Number of mesh vertices.
    pub vertex_count: usize,
    /// Vertices welded to another vertex at the same position.
    pub welded_vertex_count: usize,
    /// Vertices used by no remaining face.
    pub dropped_vertex_count: usize,
    /// Number of mesh faces.
    pub face_count: usize,
    /// Faces dropped because of a repeated corner or zero area.
    pub degenerate_face_count: usize,
    /// Faces dropped because an earlier face has the same corners.
    pub duplicate_face_count: usize,
    /// Number of particles of the fabric.
    pub particle_count: usize,
    /// Number of pinned particles.
    pub pinned_count: usize,
    /// Number of pins on dropped vertices.
    pub dropped_pin_count: usize,
    /// Number of connected components of the surface.
    pub component_count: usize,
    /// Edges with one face: boundaries, hems, and seams that were not welded.
    pub boundary_edge_count: usize,
    /// Edges with three or more faces.
    pub non_manifold_edge_count: usize,
    /// Area of the surface [m^2].
    pub area: f64,
    /// Mass of the surface, including pinned particles \[kg\].
    pub mass: f64,
    /// Stretch edges that the fabric should contain: sides of faces, without diagonals of quads and
    /// edges between pins.
    pub stretch_edge_count: usize,
    /// Stretch edges found in exactly one fiber of the vertical and horizontal phases; all of them
    /// in a correct fabric.
    pub covered_stretch_edge_count: usize,
    /// Phases in solving order.
    pub phases: Vec<PhaseReport>,
    /// Number of edges of the longest fiber.
    pub longest_fiber: usize,
    /// Number of fibers of the largest set, which bounds the lanes that can work at once.
    pub widest_set: usize,
    /// Number of islands: connected groups of pinned particles.
    pub island_count: usize,
    /// Number of tethers per particle.
    pub tethers_per_particle: usize,
    /// Number of additional collision points on triangles.
    pub virtual_particle_count: usize,
    /// Number of dihedral-angle constraints.
    pub bend_count: usize,
    /// Number of sets of bends, each of which needs a barrier per iteration.
    pub bend_set_count: usize,
    /// Number of yarns.
    pub yarn_count: usize,
    /// Number of sets of yarns, each of which needs a barrier per iteration.
    pub yarn_set_count: usize,
}

impl CookReport {
    /// Number of edges of all phases.
    pub fn edge_count(&self) -> usize {
        self.phases.iter().map(|phase| phase.edge_count).sum()
    }

    /// Number of edges of one kind.
    pub fn edge_count_of(&self, kind: PhaseKind) -> usize {
        self.phases.iter().filter(|phase| phase.kind == kind).map(|phase| phase.edge_count).sum()
    }

    /// Number of fibers of all phases.
    pub fn fiber_count(&self) -> usize {
        self.phases.iter().map(|phase| phase.fiber_count).sum()
    }

    /// Number of sets of all phases: barriers of one iteration.
    pub fn set_count(&self) -> usize {
        self.phases.iter().map(|phase| phase.set_count).sum()
    }

    /// Adds the statistics of the finished fabric. `stretch` lists the stretch edges that it should
    /// contain, in ascending order.
    pub(crate) fn read_fabric(&mut self, stretch: &[[u32; 2]], fabric: &Fabric) {
        self.widest_set = fabric.widest_set();
        self.longest_fiber =
            self.phases.iter().map(|phase| phase.lengths.longest()).max().unwrap_or(0);
        let kinds = fabric.edge_kinds();
        let mut times_found = vec![0u32; stretch.len()];
        for (_, [a, b]) in fabric.edges().filter(|&(edge, _)| kinds[edge].is_stretch()) {
            if let Ok(index) = stretch.binary_search(&[a.min(b), a.max(b)]) {
                times_found[index] += 1;
            }
        }
        self.stretch_edge_count = stretch.len();
        self.covered_stretch_edge_count = times_found.iter().filter(|&&times| times == 1).count();
    }

    /// Distribution of the lengths of vertical and horizontal fibers.
    pub fn stretch_lengths(&self) -> FiberLengths {
        let stretch = self.phases.iter().filter(|phase| phase.kind.is_stretch());
        stretch.fold(FiberLengths::default(), |sum, phase| sum.merged(&phase.lengths))
    }

    /// Fraction of the stretch edges that are in exactly one fiber, `0..=1`.
    pub fn stretch_coverage(&self) -> f64 {
        match self.stretch_edge_count {
            0 => 1.0,
            count => self.covered_stretch_edge_count as f64 / count as f64,
        }
    }

    /// Mean edge count of the longest vertical and horizontal fibers that together contain 95 % of
    /// the stretch edges ([`FiberLengths::mean_of_longest`]).
    pub fn stretch_fiber_length(&self) -> f64 {
        self.stretch_lengths().mean_of_longest(JUDGED_FRACTION)
    }

    /// Mean edge count of fibers; 0 without fibers.
    pub fn mean_fiber_length(&self) -> f64 {
        self.edge_count() as f64 / self.fiber_count().max(1) as f64
    }
}

impl fmt::Display for CookReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |name: &str, value: String, note: String| {
            let note = if note.is_empty() { note } else { format!("  {note}") };
            writeln!(f, "{name:<12}{value:>12}{note}")
        };
        row(
            "vertices",
            self.vertex_count.to_string(),
            dropped(&[
                (self.welded_vertex_count, "welded to another"),
                (self.dropped_vertex_count, "unused"),
            ]),
        )?;
        row(
            "faces",
            self.face_count.to_string(),
            dropped(&[
                (self.degenerate_face_count, "degenerate, dropped"),
                (self.duplicate_face_count, "repeated, dropped"),
            ]),
        )?;
        let pins =
            [(self.pinned_count, "pinned"), (self.dropped_pin_count, "pins on unused vertices")];
        row("particles", self.particle_count.to_string(), dropped(&pins))?;
        let rims = [
            (self.boundary_edge_count, "rim edges"),
            (self.non_manifold_edge_count, "edges of 3 or more faces"),
        ];
        row("parts", self.component_count.to_string(), dropped(&rims))?;
        row("area", format!("{:.4}", self.area), "m^2".into())?;
        row("mass", format!("{:.4}", self.mass), "kg".into())?;
        let islands = format!(
            "per particle, to {} island{} of pins",
            self.island_count,
            if self.island_count == 1 { "" } else { "s" }
        );
        row("tethers", self.tethers_per_particle.to_string(), islands)?;
        if self.virtual_particle_count > 0 {
            row(
                "virtual",
                self.virtual_particle_count.to_string(),
                "collision points on triangles".into(),
            )?;
        }
        if self.bend_count > 0 {
            row(
                "bends",
                self.bend_count.to_string(),
                format!("angles between triangles, in {} sets", self.bend_set_count),
            )?;
        }
        if self.yarn_count > 0 {
            row(
                "yarns",
                self.yarn_count.to_string(),
                format!("across triangles, in {} sets", self.yarn_set_count),
            )?;
        }
        self.write_phases(f)?;
        self.write_stretch(f)?;
        writeln!(f, "{:<12}{:>12}  edges in one fiber", "longest", self.longest_fiber)?;
        write!(
            f,
            "{:<12}{:>12}  fibers: lanes that can work at once",
            "widest set", self.widest_set
        )
    }
}

impl CookReport {
    fn write_phases(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<12}{:>12}{:>12}{:>12}{:>12}{:>12}",
            "phase", "edges", "fibers", "mean", "sets", "idle"
        )?;
        for phase in &self.phases {
            let PhaseReport { kind, edge_count, fiber_count, set_count, lengths, idle_fraction } =
                phase;
            let (mean, idle) = (lengths.mean(), format!("{:.0} %", 100.0 * idle_fraction));
            writeln!(
                f,
                "  {:<10}{edge_count:>12}{fiber_count:>12}{mean:>12.1}{set_count:>12}{idle:>12}",
                kind.name()
            )?;
        }
        let (edges, fibers, mean, sets) =
            (self.edge_count(), self.fiber_count(), self.mean_fiber_length(), self.set_count());
        writeln!(f, "  {:<10}{edges:>12}{fibers:>12}{mean:>12.1}{sets:>12}", "all")
    }

    /// Writes the statistics of stretch edges; nothing if there are none.
    fn write_stretch(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.stretch_edge_count == 0 {
            return Ok(());
        }
        let (covered, length) = (100.0 * self.stretch_coverage(), self.stretch_fiber_length());
        writeln!(
            f,
            "{:<12}{covered:>10.1} %  of {} edges in one fiber each",
            "stretch", self.stretch_edge_count
        )?;
        let (lengths, percentage) = (self.stretch_lengths(), 100.0 * JUDGED_FRACTION);
        writeln!(
            f,
            "{:<12}{length:>12.1}  edges on average in the longest fibers that hold {percentage:.0} % of them",
            ""
        )?;
        write!(f, "  {:<10}", "length")?;
        for (index, first) in FiberLengths::BUCKETS.into_iter().enumerate() {
            let name = match FiberLengths::BUCKETS.get(index + 1) {
                Some(next) if next - first == 1 => first.to_string(),
                Some(next) => format!("{first}-{}", next - 1),
                None => format!("{first}+"),
            };
            write!(f, "{name:>8}")?;
        }
        write!(f, "\n  {:<10}", "fibers")?;
        lengths.histogram().iter().try_for_each(|(fibers, _)| write!(f, "{fibers:>8}"))?;
        write!(f, "\n  {:<10}", "edges")?;
        let part = |edges: usize| 100.0 * edges as f64 / lengths.edge_count().max(1) as f64;
        lengths
            .histogram()
            .iter()
            .try_for_each(|&(_, edges)| write!(f, "{:>6.1} %", part(edges)))?;
        writeln!(f)
    }
}

/// Joins the nonzero counts with their names.
fn dropped(counts: &[(usize, &str)]) -> String {
    let parts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_table_omits_counts_of_zero() {
        let mut lengths = FiberLengths::default();
        [8, 8, 8, 2, 2, 1, 1].into_iter().for_each(|length| lengths.add(length));
        let phase = PhaseReport {
            kind: PhaseKind::Vertical,
            edge_count: 30,
            fiber_count: 7,
            set_count: 2,
            lengths,
            idle_fraction: 0.25,
        };
        let phases = vec![phase];
        let (stretch_edge_count, covered_stretch_edge_count) = (32, 30);
        let report = CookReport {
            vertex_count: 42,
            welded_vertex_count: 7,
            stretch_edge_count,
            covered_stretch_edge_count,
            phases,
            ..CookReport::default()
        };
        let table = report.to_string();
        assert!(table.contains("vertices              42  7 welded to another\n"), "{table}");
        assert!(
            table.contains(
                "  vertical            30           7         4.3           2        25 %\n"
            ),
            "{table}"
        );
        assert!(
            table.contains("stretch           93.8 %  of 32 edges in one fiber each\n"),
            "{table}"
        );
        // 8 + 8 + 8 + 2 + 2 + 1 edges are 95 % of 30.
        assert!(
            table.contains("         4.8  edges on average in the longest fibers that hold 95 %"),
            "{table}"
        );
        assert!(
            table
                .contains("  fibers           2       2       0       3       0       0       0\n"),
            "{table}"
        );
        assert!(
            table
                .contains("  edges        6.7 %  13.3 %   0.0 %  80.0 %   0.0 %   0.0 %   0.0 %\n"),
            "{table}"
        );
        assert!(!table.contains("degenerate") && !table.contains("3 or more"), "{table}");
    }
}
