//! Energy gradients of triangles, springs and bends, with an element or a particle per lane.

use crate::ClothMemory;
use crate::math::ARCTAN;
use crate::stage::implicit::{spring_end, spring_list, spring_rest, spring_stiffness};
use poplin_layout::{
    BEND_FACE_ANGLE, BEND_ISOMETRIC, BEND_WORDS, ImplicitConstants, MIN_EDGE_SQUARE,
    MIN_HEIGHT_SQUARE, MIN_HINGE_SQUARE, MIN_NORMAL_SQUARE, PI, STRETCH_THREADS, TAU,
};

use crate::lanes::{LaneMask as _, MAX_LANES, Real, gather, max, min};
use crate::particles::Block;
use crate::vector::Vec3;

/// Corner particles of a block of triangles.
#[inline(always)]
pub(super) fn corners_of<V: Real>(
    memory: &ClothMemory<'_>,
    begin: u32,
    block: &Block<V>,
) -> [[u32; MAX_LANES]; 3] {
    let mut corners = [[0; MAX_LANES]; 3];
    let first = (begin + 3 * block.index(0)) as usize;
    let particles = &memory.fabric_pool[first..][..3 * block.len()];
    for lane in 0..V::LEN {
        let triangle = &particles[3 * lane.min(block.len() - 1)..][..3];
        for k in 0..3 {
            corners[k][lane] = triangle[k];
        }
    }
    corners
}

/// Rest shapes of a block of triangles: corner weights of the derivatives by u and v, and area.
#[inline(always)]
pub(super) fn shapes_of<V: Real>(
    simd: V::Token,
    memory: &ClothMemory<'_>,
    block: &Block<V>,
) -> [V; 5] {
    let fabric = &memory.cloth.fabric;
    let begin = (fabric.element_begin + block.index(0)) as usize;
    let numbers: &[f32] = bytemuck::cast_slice(memory.fabric_pool);
    let mut shapes = [V::splat(simd, 0.0); 5];
    for (k, shape) in shapes.iter_mut().enumerate() {
        let first = begin + k * fabric.triangle_count as usize;
        // The last block reads beyond its end: lanes without a triangle are not used.
        if let Some(all) = numbers.get(first..first + V::LEN) {
            *shape = V::from_slice(simd, all);
        } else {
            let mut padded = [0.0; MAX_LANES];
            for (slot, number) in padded.iter_mut().zip(&numbers[first..][..block.len()]) {
                *slot = *number;
            }
            *shape = V::from_slice(simd, &padded[..V::LEN]);
        }
    }
    shapes
}

/// Edges of triangles from their first corners: `last_p`, `last_q` one step ago and their changes
/// `p`, `q` since \[m\].
pub(super) struct Edges<V: Real> {
    pub(super) last_p: Vec3<V>,
    pub(super) last_q: Vec3<V>,
    pub(super) p: Vec3<V>,
    pub(super) q: Vec3<V>,
}

/// Stretch and shear gradients of triangles at their corners \[N\].
///
/// With `wu`, `wv` the derivatives of position by the rest coordinates u and v, and `A` the area:
/// threads have the energy `A/2 (Ku (|wu| - 1)^2 + Kv (|wv| - 1)^2 + G (wu . wv)^2)` (Baraff,
/// Witkin, "Large Steps in Cloth Simulation", 1998), trisprings `A (mu |E|^2 + lambda/2 tr(E)^2)`
/// with Green's strain `E` (Delingette, "Triangular Springs for Modeling Nonlinear Membranes",
/// 2008). Damping resists changes since the last step: the rest shape is blended with the previous
/// shape by `stretch_memory`.
#[inline(always)]
pub(super) fn stretch_gradients<V: Real>(
    simd: V::Token,
    constants: &ImplicitConstants,
    edges: Edges<V>,
    [u_second, u_third, v_second, v_third, area]: [V; 5],
) -> [Vec3<V>; 3] {
    let splat = |value: f32| V::splat(simd, value);
    let Edges { last_p, last_q, p, q } = edges;
    let (p, q) = (last_p.add(p), last_q.add(q));
    // wu = dx/du, wv = dx/dv; the first corner is the origin and has no term.
    let wu = p.mul(u_second).add(q.mul(u_third));
    let wv = p.mul(v_second).add(q.mul(v_third));
    let (stiffness_u, stiffness_v) = (splat(constants.stiffness_u), splat(constants.stiffness_v));
    let has_memory = constants.stretch_memory > 0.0;
    let memory = splat(constants.stretch_memory);
    let nothing = Vec3::splat(simd, [0.0; 3]);
    let (mut last_u, mut last_v) = (nothing, nothing);
    if has_memory {
        last_u = last_p.mul(u_second).add(last_q.mul(u_third));
        last_v = last_p.mul(v_second).add(last_q.mul(v_third));
    }
    let last_shear = last_u.dot(last_v) * memory;
    // pu = (dE/dwu) / A, pv = (dE/dwv) / A
    let (pu, pv);
    if constants.stretch_model == STRETCH_THREADS {
        // Damping blends each rest value with that of one step ago.
        let shear = splat(constants.shear_stiffness) * (wu.dot(wv) - last_shear);
        let share = splat(constants.rest_fraction);
        let (mut rest_u, mut rest_v) = (share, share);
        if has_memory {
            rest_u = share + last_u.dot(last_u).sqrt() * memory;
            rest_v = share + last_v.dot(last_v).sqrt() * memory;
        }
        pu = wu.mul(stiffness_u * slack(simd, wu, rest_u)).add(wv.mul(shear));
        pv = wv.mul(stiffness_v * slack(simd, wv, rest_v)).add(wu.mul(shear));
    } else {
        let (mut strain_u, mut strain_v) = (excess_square(simd, wu), excess_square(simd, wv));
        if has_memory {
            strain_u -= excess_square(simd, last_u) * memory;
            strain_v -= excess_square(simd, last_v) * memory;
        }
        // lambda = stiffness_u, mu = stiffness_v
        let pressure = stiffness_u * splat(0.5) * (strain_u + strain_v);
        let shear = stiffness_v * (wu.dot(wv) - last_shear);
        pu = wu.mul(stiffness_v * strain_u + pressure).add(wv.mul(shear));
        pv = wv.mul(stiffness_v * strain_v + pressure).add(wu.mul(shear));
    }
    // dE/dx_i = A (u_i pu + v_i pv); forces of a triangle add up to 0.
    let second = pu.mul(u_second * area).add(pv.mul(v_second * area));
    let third = pu.mul(u_third * area).add(pv.mul(v_third * area));
    [second.add(third).neg(), second, third]
}

/// Relative elongation: `1 - rest / |w|`, 0 for a `w` without length.
#[inline(always)]
pub(super) fn slack<V: Real>(simd: V::Token, w: Vec3<V>, rest: V) -> V {
    let square = w.dot(w);
    let slack = V::splat(simd, 1.0) - rest / square.sqrt();
    V::splat(simd, MIN_EDGE_SQUARE).simd_lt(square).select(slack, V::splat(simd, 0.0))
}

/// Twice the Green strain along `d`: `-1 + |d|^2`.
#[inline(always)]
fn excess_square<V: Real>(simd: V::Token, d: Vec3<V>) -> V {
    V::splat(simd, -1.0) + d.x * d.x + d.y * d.y + d.z * d.z
}

/// Spring gradients of the particles from `first` on \[N\], one particle per lane. A spring of
/// length `l` has the energy `k/2 (l - L)^2`.
#[inline(always)]
pub(super) fn spring_gradients<V: Real>(
    simd: V::Token,
    memory: &ClothMemory<'_>,
    constants: &ImplicitConstants,
    (first, len): (u32, usize),
    of_bends: bool,
) -> Vec3<V> {
    let splat = |value: f32| V::splat(simd, value);
    let (share, rest_fraction) = if of_bends {
        (constants.bend_memory, constants.bend_rest_fraction)
    } else {
        (constants.stretch_memory, constants.rest_fraction)
    };
    let list = spring_list(memory, of_bends);
    let begin_of = |lane: usize| memory.fabric(list + first + lane.min(len - 1) as u32);
    let (mut begins, mut counts, mut longest) = ([0; MAX_LANES], [0; MAX_LANES], 0);
    for lane in 0..len {
        let end = memory.fabric(list + first + lane as u32 + 1);
        begins[lane] = begin_of(lane);
        counts[lane] = end - begins[lane];
        longest = longest.max(counts[lane]);
    }
    let words = list + memory.cloth.particle_count + 1;
    let own = |lane: usize| first + lane.min(len - 1) as u32;
    let start: Vec3<V> = Vec3::xyz(gather(simd, |lane| memory.load_previous(own(lane))));
    let moved: Vec3<V> = Vec3::xyz(gather(simd, |lane| memory.load_current(own(lane))));
    let zero = splat(0.0);
    let nothing = Vec3::splat(simd, [0.0; 3]);
    let mut sum = nothing;
    for k in 0..longest {
        // Lanes without a spring k get one of zero length to themselves.
        let (mut others, mut rests, mut stiffnesses) =
            ([0; MAX_LANES], [0.0; MAX_LANES], [0.0; MAX_LANES]);
        for lane in 0..V::LEN {
            others[lane] = own(lane);
            if k < counts[lane] {
                let spring = words + 2 * (begins[lane] + k);
                others[lane] = spring_end(memory, spring, own(lane));
                rests[lane] = spring_rest(memory, spring);
                stiffnesses[lane] = spring_stiffness(memory, constants, spring);
            }
        }
        let last = Vec3::xyz(gather(simd, |lane| memory.load_previous(others[lane]))).sub(start);
        let now = Vec3::xyz(gather(simd, |lane| memory.load_current(others[lane])));
        let edge = last.add(now.sub(moved));
        let mut rest = V::from_slice(simd, &rests[..V::LEN]) * splat(rest_fraction);
        if share > 0.0 {
            rest += last.dot(last).sqrt() * splat(share);
        }
        // grad E = -k (1 - L/l) edge, less stiff in compression except for bending.
        let mut pull = slack(simd, edge, rest) * V::from_slice(simd, &stiffnesses[..V::LEN]);
        if !of_bends {
            pull = pull.simd_lt(zero).select(pull * splat(constants.compression), pull);
        }
        sum = sum.sub(edge.mul(pull));
    }
    sum
}

/// Normals and squared lengths of the two triangles at a shared edge.
#[derive(Clone, Copy)]
struct Fold<V: Real> {
    is_usable: V::Mask,
    normal_2: Vec3<V>,
    normal_3: Vec3<V>,
    edge_square: V,
    squares: [V; 2],
}

/// Shared edge of two triangles and the sides from its first end to both opposite particles.
#[derive(Clone, Copy)]
struct Hinge<V: Real> {
    edge: Vec3<V>,
    side_2: Vec3<V>,
    side_3: Vec3<V>,
}

impl<V: Real> Hinge<V> {
    /// Differences of the rows of the four particles of each bend.
    #[inline(always)]
    fn between(simd: V::Token, rows: &[[f32; 4]], ends: &[[u32; MAX_LANES]; 4]) -> Self {
        let first = Vec3::xyz(V::gathered(simd, rows, &ends[0]));
        Self {
            edge: Vec3::xyz(V::gathered(simd, rows, &ends[1])).sub(first),
            side_2: Vec3::xyz(V::gathered(simd, rows, &ends[2])).sub(first),
            side_3: Vec3::xyz(V::gathered(simd, rows, &ends[3])).sub(first),
        }
    }

    /// Weighted sum of the four particles (cotangent weights, relative to the first): `c_1 edge -
    /// side_2 / H_2 - side_3 / H_3`.
    #[inline(always)]
    fn curvature(self, weight: V, [height_2, height_3]: [V; 2]) -> Vec3<V> {
        let ahead = self.edge.mul(weight).sub(self.side_2.div(height_2));
        ahead.sub(self.side_3.div(height_3))
    }

    #[inline(always)]
    fn fold(self, simd: V::Token) -> Fold<V> {
        let Self { edge, side_2, side_3 } = self;
        let normal_2 = edge.cross(side_2);
        let normal_3 = side_3.cross(edge);
        let edge_square = edge.dot(edge);
        let squares = [normal_2.dot(normal_2), normal_3.dot(normal_3)];
        let is_usable = V::splat(simd, MIN_HINGE_SQUARE).simd_lt(edge_square)
            & has_height(simd, edge_square, side_2.dot(side_2), squares[0])
            & has_height(simd, edge_square, side_3.dot(side_3), squares[1]);
        Fold { is_usable, normal_2, normal_3, edge_square, squares }
    }
}

/// Tests whether the triangle on an edge has a usable height.
#[inline(always)]
fn has_height<V: Real>(simd: V::Token, hinge: V, side: V, normal: V) -> V::Mask {
    V::splat(simd, MIN_NORMAL_SQUARE).simd_lt(normal)
        & (V::splat(simd, MIN_HEIGHT_SQUARE) * hinge * max(hinge, side)).simd_lt(normal)
}

/// Wide form of `crate::math::atan2_portable`.
#[inline(always)]
fn atan2<V: Real>(simd: V::Token, y: V, x: V) -> V {
    let splat = |value: f32| V::splat(simd, value);
    let (across, along) = (y.abs(), x.abs());
    let far = max(along, across);
    // Polynomial of arctan on 0..1, then unfolded to all octants.
    let slope = min(along, across) / far;
    let square = slope * slope;
    let mut series = splat(ARCTAN[0]);
    series = series * square - splat(ARCTAN[1]);
    series = series * square + splat(ARCTAN[2]);
    series = series * square - splat(ARCTAN[3]);
    series = series * square + splat(ARCTAN[4]);
    series = series * square - splat(ARCTAN[5]);
    series = series * square + splat(ARCTAN[6]);
    series = series * square - splat(ARCTAN[7]);
    let cube = square * slope;
    let mut angle = slope + cube * series;
    angle = along.simd_lt(across).select(splat(0.5 * PI) - angle, angle);
    angle = x.simd_lt(splat(0.0)).select(splat(PI) - angle, angle);
    angle = y.simd_lt(splat(0.0)).select(-angle, angle);
    far.simd_eq(splat(0.0)).select(splat(0.0), angle)
}

impl<V: Real> Fold<V> {
    /// Dihedral angle minus its rest value, wrapped to `-PI..PI` \[rad\].
    #[inline(always)]
    fn angle_error(&self, simd: V::Token, edge: Vec3<V>, rest: V) -> V {
        let splat = |value: f32| V::splat(simd, value);
        let unit_2 = self.normal_2.div(self.squares[0].sqrt());
        let unit_3 = self.normal_3.div(self.squares[1].sqrt());
        // angle = atan2((n2 x n3) . e / |e|, n2 . n3) with unit normals.
        let sine = unit_2.cross(unit_3).dot(edge.div(self.edge_square.sqrt()));
        let error = atan2(simd, sine, unit_2.dot(unit_3)) - rest;
        let is_low = error.simd_le(splat(-PI));
        let wrapped = is_low.select(error + splat(TAU), error);
        splat(PI).simd_lt(error).select(error - splat(TAU), wrapped)
    }

    /// Distances of both opposite particles behind the plane of the other triangle, over their rest
    /// heights, minus the sine of the rest angle.
    #[inline(always)]
    fn depth_errors(&self, hinge: Hinge<V>, heights: [V; 2], sine: V) -> [V; 2] {
        // Normals point to the front: a negative dot product is a depth.
        let depth_2 = hinge.side_2.dot(self.normal_3) / self.squares[1].sqrt();
        let depth_3 = hinge.side_3.dot(self.normal_2) / self.squares[0].sqrt();
        [-depth_2 / heights[0] - sine, -depth_3 / heights[1] - sine]
    }
}

/// Particles of a block of bends: both ends of the edge, then both opposite particles.
#[inline(always)]
pub(super) fn bend_ends<V>(memory: &ClothMemory<'_>, block: &Block<V>) -> [[u32; MAX_LANES]; 4] {
    let begin = memory.cloth.fabric.bend_begin;
    let mut ends = [[0; MAX_LANES]; 4];
    for (k, ends) in (0..).zip(&mut ends) {
        for (lane, end) in ends.iter_mut().enumerate() {
            *end = memory.fabric(begin + BEND_WORDS * block.index(lane) + k);
        }
    }
    ends
}

/// Bending gradients of a block of bends at their four particles \[N\].
///
/// Face angle: `k/2 (angle - rest)^2`. Plane projection:
/// `k/4 ((d2/H2 - sin rest)^2 + (d3/H3 - sin rest)^2)`, with `d` the distance of an opposite
/// particle behind the plane of the other triangle and `H` its rest height. Isometric:
/// `k/2 |sum c_i x_i|^2` with the cotangent weights of a flat rest shape (Bergou et al., "A
/// Quadratic Bending Model for Inextensible Surfaces", 2006). Damping as in [`stretch_gradients`].
#[inline(always)]
pub(super) fn bend_gradients<V: Real>(
    simd: V::Token,
    memory: &ClothMemory<'_>,
    constants: &ImplicitConstants,
    block: &Block<V>,
    ends: &[[u32; MAX_LANES]; 4],
    [starts, trials]: [&[[f32; 4]]; 2],
) -> [Vec3<V>; 4] {
    let splat = |value: f32| V::splat(simd, value);
    let nothing = Vec3::splat(simd, [0.0; 3]);
    let share = splat(constants.bend_memory);
    let last = Hinge::between(simd, starts, ends);
    let moved = Hinge::between(simd, trials, ends);
    let hinge = Hinge {
        edge: last.edge.add(moved.edge),
        side_2: last.side_2.add(moved.side_2),
        side_3: last.side_3.add(moved.side_3),
    };
    let Hinge { edge, side_2, side_3 } = hinge;
    // Words 4 to 9 of a bend: rest angle, stiffness factor, both rest heights, sine of the rest
    // angle, weight of particle 1.
    let mut words = [[0.0; MAX_LANES]; BEND_WORDS as usize - 4];
    for lane in 0..V::LEN {
        let row = (memory.cloth.fabric.bend_begin + BEND_WORDS * block.index(lane)) as usize;
        let numbers = &memory.fabric_pool[row..][..BEND_WORDS as usize];
        for (slots, &number) in words.iter_mut().zip(&numbers[4..]) {
            slots[lane] = f32::from_bits(number);
        }
    }
    let number = |k: usize| V::from_slice(simd, &words[k - 4][..V::LEN]);
    let stiffness = splat(constants.rigidity) * number(5);
    if constants.bend_model == BEND_ISOMETRIC {
        let [height_2, height_3, weight] = [number(6), number(7), number(9)];
        let mut vector = hinge.curvature(weight, [height_2, height_3]);
        if constants.bend_memory > 0.0 {
            let before = last.curvature(weight, [height_2, height_3]);
            vector = vector.sub(before.mul(share));
        }
        // grad_i E = k c_i sum c_j x_j
        let moment = vector.mul(stiffness);
        let gradient_1 = moment.mul(weight);
        let gradient_2 = moment.neg().div(height_2);
        let gradient_3 = moment.neg().div(height_3);
        let gradient_0 = gradient_1.add(gradient_2).add(gradient_3).neg();
        return [gradient_0, gradient_1, gradient_2, gradient_3];
    }
    let fold = hinge.fold(simd);
    let [square_2, square_3] = fold.squares;
    let has_memory = constants.bend_memory > 0.0;
    let (gradient_1, gradient_2, gradient_3);
    if constants.bend_model == BEND_FACE_ANGLE {
        let rest = number(4);
        let mut error = fold.angle_error(simd, edge, rest);
        if has_memory {
            let before = last.fold(simd);
            let damped = error - before.angle_error(simd, last.edge, rest) * share;
            error = before.is_usable.select(damped, error);
        }
        // dE/dangle = k error; grad_2 angle = -|e| n2 / |n2|^2, likewise for particle 3.
        let moment = stiffness * error * fold.edge_square.sqrt();
        gradient_2 = fold.normal_2.mul(-moment / square_2);
        gradient_3 = fold.normal_3.mul(-moment / square_3);
        gradient_1 = gradient_2
            .mul(-(side_2.dot(edge) / fold.edge_square))
            .sub(gradient_3.mul(side_3.dot(edge) / fold.edge_square));
    } else {
        let (heights, sine) = ([number(6), number(7)], number(8));
        let [mut error_2, mut error_3] = fold.depth_errors(hinge, heights, sine);
        if has_memory {
            let before = last.fold(simd);
            let [before_2, before_3] = before.depth_errors(last, heights, sine);
            error_2 = before.is_usable.select(error_2 - before_2 * share, error_2);
            error_3 = before.is_usable.select(error_3 - before_3 * share, error_3);
        }
        let half = splat(0.5);
        // dE/dd = k/2 (d/H - sin rest) / H
        let force_2 = half * stiffness * error_2 / heights[0];
        let force_3 = half * stiffness * error_3 / heights[1];
        let push_2 = fold.normal_3.mul(force_2 / square_3.sqrt());
        let push_3 = fold.normal_2.mul(force_3 / square_2.sqrt());
        // Barycentric coordinates of the foot of particle 3 in triangle 2: `at_2` at particle 2,
        // `foot_3` at particle 1; likewise of particle 2 in triangle 3.
        let at_2 = edge.cross(side_3).dot(fold.normal_2) / square_2;
        let at_3 = -edge.cross(side_2).dot(fold.normal_3) / square_3;
        let foot_3 = side_3.cross(side_2).dot(fold.normal_2) / square_2;
        let foot_2 = -side_2.cross(side_3).dot(fold.normal_3) / square_3;
        gradient_1 = push_3.mul(foot_3).add(push_2.mul(foot_2));
        gradient_2 = push_3.mul(at_2).sub(push_2);
        gradient_3 = push_2.mul(at_3).sub(push_3);
    }
    let [gradient_1, gradient_2, gradient_3] =
        [gradient_1, gradient_2, gradient_3].map(|gradient| gradient.or(fold.is_usable, nothing));
    let gradient_0 = gradient_1.add(gradient_2).add(gradient_3).neg();
    [gradient_0, gradient_1, gradient_2, gradient_3]
}
