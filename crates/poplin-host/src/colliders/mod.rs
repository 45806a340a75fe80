//! The host side of what a cloth collides with: arrays, lists and trees as the kernel reads them.

mod tree;

use bytemuck::{Zeroable, cast_slice};
use poplin_layout::{
    BODY_ROWS, BOX_ROWS, CAPSULE_ROWS, CHUNK_ROWS, ColliderParameters, FrameSteps, NEARBY_ROWS,
    SPHERE_ROWS, chunk_count, groups_by_member,
};
use poplin_model::{ClothConfig, Colliders, ModelError, Parallelepiped, RigidBody};

use crate::InterpolatedArray;
use tree::{Bounds, Tree, bounds_of};

/// A way that no particle's clearance outlasts \[m\].
const JUMP: f32 = 1e30;

/// Rows that do not change from frame to frame, floats as their bits, and whether they were uploaded.
#[derive(Debug, Clone, Default)]
struct Rows {
    rows: Vec<[u32; 4]>,
    is_changed: bool,
}

impl Rows {
    fn set(&mut self, rows: Vec<[u32; 4]>) {
        self.is_changed |= rows != self.rows;
        self.rows = rows;
    }
}

/// Parts of the inputs of a cloth that colliders take, in their order in memory.
#[derive(Debug, Clone, Copy)]
enum Part {
    Spheres,
    Planes,
    Boxes,
    Vertices,
    Capsules,
    Triangles,
    SphereTree,
    CapsuleTree,
    TriangleTree,
    Numbers,
    Bodies,
}

const PART_COUNT: usize = Part::Bodies as usize + 1;

/// Where the lists of numbers begin, in numbers.
#[derive(Debug, Clone, Copy, Default)]
struct Lists {
    free_spheres: [u32; 2],
    free_capsules: [u32; 2],
    free_convexes: [u32; 2],
    free_boxes: [u32; 2],
    sphere_capsules: u32,
    convex_planes: u32,
}

/// What a cloth collides with, as last set, and everything derived from it.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostColliders {
    colliders: Colliders,
    spheres: InterpolatedArray,
    planes: InterpolatedArray,
    boxes: InterpolatedArray,
    vertices: InterpolatedArray,
    capsule_rows: Rows,
    triangle_rows: Rows,
    sphere_tree_rows: Rows,
    capsule_tree_rows: Rows,
    triangle_tree_rows: Rows,
    number_rows: Rows,
    body_rows: Rows,
    sphere_tree: Tree,
    capsule_tree: Tree,
    triangle_tree: Tree,
    free: Lists,
    free_spheres: Vec<u32>,
    free_capsules: Vec<u32>,
    is_mesh_closed: bool,
    has_new_mesh: bool,
    needs_lists: bool,
    needs_shape_trees: bool,
    needs_triangle_tree: bool,
    needs_refit: bool,
    /// Rows that each part may take before the inputs must be laid out anew.
    capacities: [u32; PART_COUNT],
}

fn pad([x, y, z]: [f32; 3]) -> [f32; 4] {
    [x, y, z, 0.0]
}

fn bits(row: [f32; 4]) -> [u32; 4] {
    row.map(f32::to_bits)
}

impl HostColliders {
    pub(crate) fn new(colliders: &Colliders) -> Self {
        let mut own = Self::default();
        own.replace(colliders);
        own
    }

    /// The colliders as last set.
    pub(crate) fn colliders(&self) -> &Colliders {
        &self.colliders
    }

    /// Takes over validated colliders; arrays of unchanged length become targets. True if anything changed.
    pub(crate) fn replace(&mut self, new: &Colliders) -> bool {
        let mut is_changed = self.set_spheres(&new.spheres)
            | self.set_planes(&new.planes)
            | self.set_boxes(&new.boxes);
        is_changed |= self.set_capsules(&new.capsules) | self.set_convexes(&new.convexes);
        is_changed |= self.set_mesh(&new.mesh_vertices, &new.mesh_triangles);
        is_changed | self.set_bodies(&new.bodies)
    }

    pub(crate) fn set_spheres(&mut self, spheres: &[[f32; 4]]) -> bool {
        self.needs_lists |= spheres.len() != self.colliders.spheres.len();
        let is_changed = self.spheres.set(spheres);
        self.needs_shape_trees |= is_changed;
        self.colliders.spheres = spheres.to_vec();
        is_changed
    }

    pub(crate) fn set_spheres_start_target(
        &mut self,
        start: &[[f32; 4]],
        target: &[[f32; 4]],
    ) -> bool {
        self.needs_lists |= target.len() != self.colliders.spheres.len();
        let is_changed = self.spheres.set_both(start, target);
        self.needs_shape_trees |= is_changed;
        self.colliders.spheres = target.to_vec();
        is_changed
    }

    pub(crate) fn set_capsules(&mut self, capsules: &[[u32; 2]]) -> bool {
        let is_changed = self.colliders.capsules != capsules;
        if is_changed {
            self.capsule_rows.set(capsules.iter().map(|&[a, b]| [a, b, 0, 0]).collect());
            self.colliders.capsules = capsules.to_vec();
            self.needs_lists = true;
        }
        is_changed
    }

    pub(crate) fn set_planes(&mut self, planes: &[[f32; 4]]) -> bool {
        self.colliders.planes = planes.to_vec();
        self.planes.set(planes)
    }

    pub(crate) fn set_convexes(&mut self, convexes: &[Vec<u32>]) -> bool {
        let is_changed = self.colliders.convexes != convexes;
        if is_changed {
            self.colliders.convexes = convexes.to_vec();
            self.needs_lists = true;
        }
        is_changed
    }

    pub(crate) fn set_boxes(&mut self, boxes: &[Parallelepiped]) -> bool {
        self.needs_lists |= boxes.len() != self.colliders.boxes.len();
        self.colliders.boxes = boxes.to_vec();
        let rows: Vec<_> = boxes.iter().flat_map(|shape| shape.rows().map(pad)).collect();
        self.boxes.set(&rows)
    }

    pub(crate) fn set_mesh(&mut self, vertices: &[[f32; 3]], triangles: &[[u32; 3]]) -> bool {
        let has_new_triangles = self.colliders.mesh_triangles != triangles;
        if has_new_triangles {
            self.colliders.mesh_triangles = triangles.to_vec();
            self.triangle_rows.set(triangles.iter().map(|&[a, b, c]| [a, b, c, 0]).collect());
            self.is_mesh_closed = is_closed(triangles);
            self.needs_triangle_tree = true;
            self.has_new_mesh = true;
        }
        has_new_triangles | self.set_mesh_vertices(vertices)
    }

    pub(crate) fn set_mesh_vertices(&mut self, vertices: &[[f32; 3]]) -> bool {
        let rows: Vec<_> = vertices.iter().copied().map(pad).collect();
        self.has_new_mesh |= rows.len() != self.vertices.start().len();
        let is_changed = self.vertices.set(&rows);
        self.needs_refit |= is_changed;
        self.colliders.mesh_vertices = vertices.to_vec();
        is_changed
    }

    /// Bodies are compared as a whole: a body that moves keeps the cloth awake.
    pub(crate) fn set_bodies(&mut self, bodies: &[RigidBody]) -> bool {
        let is_changed = self.colliders.bodies != bodies;
        if is_changed {
            self.colliders.bodies = bodies.to_vec();
            self.needs_lists = true;
        }
        is_changed
    }

    /// Checks a copy with `change` made, before it is. Meshes are large and are checked by their own setters.
    pub(crate) fn check(&self, change: impl FnOnce(&mut Colliders)) -> Result<(), ModelError> {
        let mut copy = self.colliders.clone_without_mesh();
        change(&mut copy);
        copy.validate()
    }

    pub(crate) fn has_bodies(&self) -> bool {
        !self.colliders.bodies.is_empty()
    }

    pub(crate) fn body_count(&self) -> u32 {
        self.colliders.bodies.len() as u32
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.colliders.is_empty()
    }

    pub(crate) fn has_free_convexes(&self) -> bool {
        self.free.free_convexes[1] > 0
    }

    pub(crate) fn has_free_boxes(&self) -> bool {
        self.free.free_boxes[1] > 0
    }

    pub(crate) fn has_free_mesh(&self) -> bool {
        let is_owned = self.colliders.bodies.iter().any(|body| body.has_mesh);
        !self.colliders.mesh_triangles.is_empty() && !is_owned
    }

    pub(crate) fn has_free_shapes(&self) -> bool {
        self.free.free_spheres[1] + self.free.free_capsules[1] > 0
    }

    /// Brings lists and trees up to date. Call before anything is asked for a frame.
    pub(crate) fn update(&mut self) {
        if std::mem::take(&mut self.needs_lists) {
            self.make_lists();
            self.needs_shape_trees = true;
        }
        if std::mem::take(&mut self.needs_shape_trees) {
            self.make_shape_trees();
        }
        let needs_tree = std::mem::take(&mut self.needs_triangle_tree);
        if std::mem::take(&mut self.needs_refit) || needs_tree {
            let bounds = self.triangle_bounds();
            if needs_tree {
                self.triangle_tree = Tree::new(&bounds);
            } else {
                self.triangle_tree.refit(&bounds);
            }
            self.triangle_tree.rows(&mut self.triangle_tree_rows.rows);
            self.triangle_tree_rows.is_changed = true;
        }
    }

    fn make_lists(&mut self) {
        let Colliders { spheres, capsules, convexes, boxes, bodies, .. } = &self.colliders;
        let mut numbers: Vec<u32> = Vec::new();
        let mut append = |list: &mut dyn Iterator<Item = u32>| {
            let begin = numbers.len() as u32;
            numbers.extend(list);
            [begin, numbers.len() as u32 - begin]
        };
        let owned = |count: usize, of: &dyn Fn(&RigidBody) -> Vec<u32>| {
            let mut owned = vec![false; count];
            bodies.iter().flat_map(of).for_each(|shape| owned[shape as usize] = true);
            owned
        };
        let spheres_of = |body: &RigidBody| {
            let ends = body.capsules.iter().flat_map(|&capsule| capsules[capsule as usize]);
            let mut all: Vec<u32> = body.spheres.iter().copied().chain(ends).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        let free = |owned: Vec<bool>| -> Vec<u32> {
            (0..owned.len() as u32).filter(|&shape| !owned[shape as usize]).collect()
        };
        self.free_spheres = free(owned(spheres.len(), &spheres_of));
        self.free_capsules = free(owned(capsules.len(), &|body| body.capsules.clone()));
        let plane_begin = convexes.iter().scan(0, |sum, convex| {
            *sum += convex.len() as u32;
            Some(*sum)
        });
        self.free = Lists {
            free_spheres: append(&mut self.free_spheres.iter().copied()),
            free_capsules: append(&mut self.free_capsules.iter().copied()),
            free_convexes: append(
                &mut free(owned(convexes.len(), &|body| body.convexes.clone())).into_iter(),
            ),
            free_boxes: append(
                &mut free(owned(boxes.len(), &|body| body.boxes.clone())).into_iter(),
            ),
            sphere_capsules: append(&mut groups_by_member(spheres.len(), capsules).into_iter())[0],
            convex_planes: append(
                &mut std::iter::once(0)
                    .chain(plane_begin)
                    .chain(convexes.iter().flatten().copied()),
            )[0],
        };
        let mut rows = Vec::with_capacity(8 * bodies.len());
        for body in bodies {
            let mut list = |list: &[u32]| append(&mut list.iter().copied());
            let [sphere, capsule] = [list(&spheres_of(body)), list(&body.capsules)];
            let [convex, shape] = [list(&body.convexes), list(&body.boxes)];
            let with = |[x, y, z]: [f32; 3], w: f32| [x, y, z, w];
            rows.extend(
                [
                    with(body.center, body.inverse_mass),
                    with(body.velocity, body.restitution),
                    with(body.angular_velocity, f32::from(u8::from(body.has_mesh))),
                ]
                .map(bits),
            );
            rows.extend(body.inverse_inertia.map(pad).map(bits));
            rows.push([sphere[0], sphere[1], capsule[0], capsule[1]]);
            rows.push([convex[0], convex[1], shape[0], shape[1]]);
        }
        numbers.resize(numbers.len().next_multiple_of(4), 0);
        self.number_rows.set(numbers.as_chunks::<4>().0.to_vec());
        self.body_rows.set(rows);
    }

    fn make_shape_trees(&mut self) {
        let halves = [self.spheres.start(), self.spheres.target()];
        let of_sphere = |sphere: u32| {
            halves.map(|half| half[sphere as usize]).map(|[x, y, z, r]| ([x, y, z], r))
        };
        let of_spheres =
            |list: &[u32]| bounds_of(list.iter().flat_map(|&sphere| of_sphere(sphere)));
        let tree =
            |bounds: &mut dyn Iterator<Item = Bounds>| Tree::new(&bounds.collect::<Vec<_>>());
        self.sphere_tree = tree(&mut self.free_spheres.iter().map(|&sphere| of_spheres(&[sphere])));
        let ends = |capsule: &u32| of_spheres(&self.colliders.capsules[*capsule as usize]);
        self.capsule_tree = tree(&mut self.free_capsules.iter().map(ends));
        for (tree, rows) in [
            (&self.sphere_tree, &mut self.sphere_tree_rows),
            (&self.capsule_tree, &mut self.capsule_tree_rows),
        ] {
            tree.rows(&mut rows.rows);
            rows.is_changed = true;
        }
    }

    /// The bounds of every triangle over the next frame.
    fn triangle_bounds(&self) -> Vec<Bounds> {
        let halves = [self.vertices.start(), self.vertices.target()];
        let place = |vertex: u32| {
            halves.map(|half| half[vertex as usize]).map(|[x, y, z, _]| ([x, y, z], 0.0))
        };
        self.colliders
            .mesh_triangles
            .iter()
            .map(|corners| bounds_of(corners.iter().flat_map(|&vertex| place(vertex))))
            .collect()
    }

    fn lens(&self) -> [u32; PART_COUNT] {
        let halves = |array: &InterpolatedArray| 2 * array.start().len();
        let lens = [
            halves(&self.spheres),
            halves(&self.planes),
            halves(&self.boxes),
            halves(&self.vertices),
            self.capsule_rows.rows.len(),
            self.triangle_rows.rows.len(),
            self.sphere_tree_rows.rows.len(),
            self.capsule_tree_rows.rows.len(),
            self.triangle_tree_rows.rows.len(),
            self.number_rows.rows.len(),
            self.body_rows.rows.len(),
        ];
        lens.map(|len| len as u32)
    }

    /// Vec4 of input that are needed; more than before means that everything is laid out anew.
    pub(crate) fn input_len(&mut self) -> u32 {
        let lens = self.lens();
        if lens.iter().zip(&self.capacities).any(|(len, capacity)| len > capacity) {
            // A part that has grown once will grow again: room is left, so that the pool is not filled with old parts.
            let room = |len: u32, capacity: u32| {
                if len <= capacity { capacity } else { len.max(2 * capacity) }
            };
            self.capacities = std::array::from_fn(|part| room(lens[part], self.capacities[part]));
            self.mark_all();
        }
        self.capacities.iter().sum()
    }

    /// Lets the next upload be of everything.
    pub(crate) fn mark_all(&mut self) {
        for array in [&mut self.spheres, &mut self.planes, &mut self.boxes, &mut self.vertices] {
            array.mark_all();
        }
        for rows in self.static_rows() {
            rows.is_changed = true;
        }
    }

    /// The parts after the interpolated arrays, in order.
    fn static_rows(&mut self) -> [&mut Rows; PART_COUNT - 4] {
        [
            &mut self.capsule_rows,
            &mut self.triangle_rows,
            &mut self.sphere_tree_rows,
            &mut self.capsule_tree_rows,
            &mut self.triangle_tree_rows,
            &mut self.number_rows,
            &mut self.body_rows,
        ]
    }

    fn begins(&self) -> [u32; PART_COUNT] {
        let mut sum = 0;
        self.capacities.map(|capacity| {
            sum += capacity;
            sum - capacity
        })
    }

    /// Gives every part that changed, with its offset in the colliders' inputs \[vec4\].
    pub(crate) fn take_changed(&mut self, mut give: impl FnMut(u32, &[[u32; 4]])) {
        let begins = self.begins();
        let arrays = [&mut self.spheres, &mut self.planes, &mut self.boxes, &mut self.vertices];
        for (array, begin) in arrays.into_iter().zip(begins) {
            array.take_changed(|offset, rows| give(begin + offset, cast_slice(rows)));
        }
        for (rows, begin) in self.static_rows().into_iter().zip(&begins[Part::Capsules as usize..])
        {
            if std::mem::take(&mut rows.is_changed) && !rows.rows.is_empty() {
                give(*begin, &rows.rows);
            }
        }
    }

    /// Vec4 of scratch that the colliders of a cloth need.
    pub(crate) fn scratch_len(&self, particle_count: u32) -> u32 {
        self.prepared_len() + self.nearest_len(particle_count) + self.impulse_len(particle_count)
    }

    fn prepared_len(&self) -> u32 {
        let Colliders { spheres, capsules, planes, boxes, .. } = &self.colliders;
        SPHERE_ROWS * spheres.len() as u32
            + CAPSULE_ROWS * capsules.len() as u32
            + planes.len() as u32
            + BOX_ROWS * boxes.len() as u32
    }

    fn nearest_len(&self, particle_count: u32) -> u32 {
        if self.colliders.mesh_triangles.is_empty() { 0 } else { NEARBY_ROWS * particle_count }
    }

    fn impulse_len(&self, particle_count: u32) -> u32 {
        self.body_count() * (BODY_ROWS + CHUNK_ROWS * chunk_count(particle_count))
    }

    /// Where the bodies' rows stand in the colliders' scratch.
    pub(crate) fn impulse_begin(&self, particle_count: u32) -> u32 {
        self.prepared_len() + self.nearest_len(particle_count)
    }

    /// Loop trips of one particle in one iteration: planes and boxes are all tried, trees walked as far as they usually are.
    pub(crate) fn trips_per_particle(&self) -> u64 {
        let of_tree = |count: u32| u64::from(count).min(192);
        let Colliders { planes, boxes, convexes, .. } = &self.colliders;
        let one_by_one = planes.len() + boxes.len() + convexes.iter().map(Vec::len).sum::<usize>();
        one_by_one as u64
            + of_tree(self.triangle_tree.node_count())
            + of_tree(self.sphere_tree.node_count())
            + of_tree(self.capsule_tree.node_count())
    }

    /// The constants of the next frame. `input_begin` is the colliders' part of `input_pool`, `scratch_begin` that of the
    /// cloth's scratch.
    pub(crate) fn frame(
        &self,
        config: &ClothConfig,
        steps: Option<&FrameSteps>,
        particle_count: u32,
        input_begin: u32,
        scratch_begin: u32,
    ) -> ColliderParameters {
        if self.is_empty() {
            return Zeroable::zeroed();
        }
        let begins = self.begins().map(|begin| input_begin + begin);
        let begin = |part: Part| begins[part as usize];
        let halves =
            |array: &InterpolatedArray, part: Part| array.offsets().map(|half| begin(part) + half);
        let [sphere_start, sphere_target] = halves(&self.spheres, Part::Spheres);
        let [plane_start, plane_target] = halves(&self.planes, Part::Planes);
        let [box_start, box_target] = halves(&self.boxes, Part::Boxes);
        let [vertex_start, vertex_target] = halves(&self.vertices, Part::Vertices);
        let Colliders { spheres, capsules, planes, convexes, boxes, mesh_triangles, .. } =
            &self.colliders;
        let prepared_begin = scratch_begin;
        let nearest_begin = prepared_begin + self.prepared_len();
        ColliderParameters {
            sphere_count: spheres.len() as u32,
            sphere_start,
            sphere_target,
            capsule_count: capsules.len() as u32,
            capsule_begin: begin(Part::Capsules),
            plane_count: planes.len() as u32,
            plane_start,
            plane_target,
            box_count: boxes.len() as u32,
            box_start,
            box_target,
            vertex_start,
            vertex_target,
            triangle_begin: begin(Part::Triangles),
            triangle_count: mesh_triangles.len() as u32,
            triangle_tree_begin: begin(Part::TriangleTree),
            triangle_tree_count: self.triangle_tree.node_count(),
            is_mesh_closed: u32::from(self.is_mesh_closed),
            sphere_tree_begin: begin(Part::SphereTree),
            sphere_tree_count: self.sphere_tree.node_count(),
            capsule_tree_begin: begin(Part::CapsuleTree),
            capsule_tree_count: self.capsule_tree.node_count(),
            number_begin: begin(Part::Numbers),
            free_sphere_begin: self.free.free_spheres[0],
            free_capsule_begin: self.free.free_capsules[0],
            free_convex_begin: self.free.free_convexes[0],
            free_convex_count: self.free.free_convexes[1],
            free_box_begin: self.free.free_boxes[0],
            free_box_count: self.free.free_boxes[1],
            sphere_capsule_begin: self.free.sphere_capsules,
            convex_plane_begin: self.free.convex_planes,
            convex_count: convexes.len() as u32,
            body_begin: begin(Part::Bodies),
            body_count: self.body_count(),
            prepared_begin,
            nearest_begin,
            impulse_begin: nearest_begin + self.nearest_len(particle_count),
            friction: config.friction,
            friction_slop: config.friction_slop,
            friction_holds: u32::from(config.friction_holds),
            mass_scale: config.collision_mass_scale,
            continuous_reach: 1.0 + config.continuous_reach,
            mesh_step: self.mesh_step(steps),
            step: steps.map_or(0.0, |steps| steps.step),
            iteration_fraction: steps.map_or(0.0, |steps| 1.0 / steps.iteration_count as f32),
        }
    }

    /// The farthest way of a mesh vertex in one iteration of the next frame; huge in the frame after the mesh was replaced.
    fn mesh_step(&self, steps: Option<&FrameSteps>) -> f32 {
        if self.has_new_mesh {
            return JUMP;
        }
        let (start, target) = (self.vertices.start(), self.vertices.target());
        let square =
            |(a, b): (&[f32; 4], &[f32; 4])| (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f32>();
        let farthest = if self.vertices.has_target() {
            start.iter().zip(target).map(square).fold(0.0, f32::max)
        } else {
            0.0
        };
        // A little more than computed, for rounding.
        1.001 * farthest.sqrt() / steps.map_or(1.0, |steps| steps.iteration_count as f32)
    }

    /// After the frame targets are starts.
    pub(crate) fn end_frame(&mut self, is_simulated: bool) {
        self.has_new_mesh &= !is_simulated;
        for array in [&mut self.spheres, &mut self.planes, &mut self.boxes, &mut self.vertices] {
            array.end_frame();
        }
    }
}

/// Whether every edge of the triangles is met by exactly one other triangle, in the opposite direction.
fn is_closed(triangles: &[[u32; 3]]) -> bool {
    let edges = triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
    let mut forward: Vec<_> = edges.collect();
    let mut backward: Vec<_> = forward.iter().map(|&[a, b]| [b, a]).collect();
    forward.sort_unstable();
    backward.sort_unstable();
    !forward.is_empty() && forward == backward && forward.windows(2).all(|pair| pair[0] != pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_meshes_are_told_from_open_ones() {
        let tetrahedron = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]];
        assert!(is_closed(&tetrahedron));
        assert!(!is_closed(&tetrahedron[1..]));
        assert!(!is_closed(&[[0, 1, 2], [0, 2, 1], [0, 1, 2], [0, 2, 1]]));
        assert!(!is_closed(&[]));
    }

    #[test]
    fn shapes_of_bodies_are_not_free() {
        let mut host = HostColliders::new(&Colliders {
            spheres: vec![[0.0, 0.0, 0.0, 1.0]; 4],
            capsules: vec![[0, 1], [2, 3]],
            bodies: vec![RigidBody { capsules: vec![1], ..Default::default() }],
            ..Default::default()
        });
        host.update();
        assert_eq!((&host.free_spheres, &host.free_capsules), (&vec![0, 1], &vec![0]));
    }

    #[test]
    fn a_part_that_outgrows_its_room_uploads_everything_anew() {
        let mut host = HostColliders::new(&Colliders {
            spheres: vec![[0.0, 0.0, 0.0, 1.0]; 2],
            ..Default::default()
        });
        host.update();
        let first = host.input_len();
        let mut uploaded = 0;
        host.take_changed(|_, rows| uploaded += rows.len());
        assert!(uploaded >= 3, "two spheres and the numbers");
        host.set_boxes(&[Parallelepiped::default()]);
        host.update();
        assert!(host.input_len() >= first + 8);
        let mut again = 0;
        host.take_changed(|_, rows| again += rows.len());
        assert!(again >= uploaded + 4, "{again}");
    }
}
