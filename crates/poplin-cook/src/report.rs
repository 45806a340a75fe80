//! What cooking did, in numbers.

use std::fmt;

use poplin_model::PhaseKind;

/// One phase of the cooked fabric, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhaseReport {
    /// What its edges are.
    pub kind: PhaseKind,
    /// Its edges.
    pub edge_count: usize,
    /// Its fibers.
    pub fiber_count: usize,
    /// Its sets (colours): a step needs a barrier for each.
    pub set_count: usize,
}

/// What cooking did to a mesh.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CookReport {
    /// Vertices of the mesh.
    pub vertex_count: usize,
    /// Vertices that were welded to another one in the same place.
    pub welded_vertex_count: usize,
    /// Vertices that no remaining face uses.
    pub dropped_vertex_count: usize,
    /// Faces of the mesh.
    pub face_count: usize,
    /// Faces dropped because a corner is repeated or they have no area.
    pub degenerate_face_count: usize,
    /// Faces dropped because an earlier one has the same corners.
    pub duplicate_face_count: usize,
    /// Particles of the fabric.
    pub particle_count: usize,
    /// Pinned particles.
    pub pinned_count: usize,
    /// Pins that fell on dropped vertices.
    pub dropped_pin_count: usize,
    /// Connected parts of the surface.
    pub component_count: usize,
    /// Edges of one face: rims, hems, and seams that were not welded.
    pub boundary_edge_count: usize,
    /// Edges of three or more faces.
    pub non_manifold_edge_count: usize,
    /// Area of the surface [m^2].
    pub area: f64,
    /// Mass of the surface, pinned particles included \[kg\].
    pub mass: f64,
    /// Phases in solving order.
    pub phases: Vec<PhaseReport>,
    /// Edges of the longest fiber.
    pub longest_fiber: usize,
    /// Fibers of the widest set: how many threads can work at once.
    pub widest_set: usize,
    /// Islands: connected groups of pinned particles.
    pub island_count: usize,
    /// Tethers of every particle.
    pub tethers_per_particle: usize,
    /// Points of triangles that collide too.
    pub virtual_particle_count: usize,
    /// Angles between triangles.
    pub bend_count: usize,
    /// Their sets: a step with bending needs a barrier for each.
    pub bend_set_count: usize,
}

impl CookReport {
    /// Edges of all phases.
    pub fn edge_count(&self) -> usize {
        self.phases.iter().map(|phase| phase.edge_count).sum()
    }

    /// Edges of one kind.
    pub fn edge_count_of(&self, kind: PhaseKind) -> usize {
        self.phases.iter().filter(|phase| phase.kind == kind).map(|phase| phase.edge_count).sum()
    }

    /// Fibers of all phases.
    pub fn fiber_count(&self) -> usize {
        self.phases.iter().map(|phase| phase.fiber_count).sum()
    }

    /// Sets of all phases: barriers of one iteration.
    pub fn set_count(&self) -> usize {
        self.phases.iter().map(|phase| phase.set_count).sum()
    }

    /// Mean edges of a fiber; 0 without fibers.
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
            dropped(&[(self.welded_vertex_count, "welded to another"), (self.dropped_vertex_count, "unused")]),
        )?;
        row(
            "faces",
            self.face_count.to_string(),
            dropped(&[(self.degenerate_face_count, "degenerate, dropped"), (self.duplicate_face_count, "repeated, dropped")]),
        )?;
        let pins = [(self.pinned_count, "pinned"), (self.dropped_pin_count, "pins on unused vertices")];
        row("particles", self.particle_count.to_string(), dropped(&pins))?;
        let rims = [(self.boundary_edge_count, "rim edges"), (self.non_manifold_edge_count, "edges of 3 or more faces")];
        row("parts", self.component_count.to_string(), dropped(&rims))?;
        row("area", format!("{:.4}", self.area), "m^2".into())?;
        row("mass", format!("{:.4}", self.mass), "kg".into())?;
        let islands =
            format!("per particle, to {} island{} of pins", self.island_count, if self.island_count == 1 { "" } else { "s" });
        row("tethers", self.tethers_per_particle.to_string(), islands)?;
        if self.virtual_particle_count > 0 {
            row("virtual", self.virtual_particle_count.to_string(), "points of triangles that collide too".into())?;
        }
        if self.bend_count > 0 {
            row("bends", self.bend_count.to_string(), format!("angles between triangles, in {} sets", self.bend_set_count))?;
        }
        writeln!(f, "{:<12}{:>12}{:>12}{:>12}", "phase", "edges", "fibers", "sets")?;
        for phase in &self.phases {
            let PhaseReport { kind, edge_count, fiber_count, set_count } = phase;
            writeln!(f, "  {:<10}{edge_count:>12}{fiber_count:>12}{set_count:>12}", kind.name())?;
        }
        writeln!(f, "  {:<10}{:>12}{:>12}{:>12}", "all", self.edge_count(), self.fiber_count(), self.set_count())?;
        let (mean, longest) = (self.mean_fiber_length(), self.longest_fiber);
        writeln!(f, "{:<12}{mean:>12.1}  edges on average, {longest} in the longest", "fiber length")?;
        write!(f, "{:<12}{:>12}  fibers: threads that can work at once", "widest set", self.widest_set)
    }
}

/// The counts that are not 0, with their names.
fn dropped(counts: &[(usize, &str)]) -> String {
    let parts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}")).collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_tells_what_happened_and_leaves_out_what_did_not() {
        let phase = PhaseReport { kind: PhaseKind::Vertical, edge_count: 30, fiber_count: 10, set_count: 2 };
        let report = CookReport { vertex_count: 42, welded_vertex_count: 7, phases: vec![phase], ..CookReport::default() };
        let table = report.to_string();
        assert!(table.contains("vertices              42  7 welded to another\n"), "{table}");
        assert!(table.contains("  vertical            30          10           2\n"), "{table}");
        assert!(table.contains("fiber length         3.0  edges on average"), "{table}");
        assert!(!table.contains("degenerate") && !table.contains("3 or more"), "{table}");
    }
}
