//! Bending energies of two triangles at an edge.

use std::ops::Range;

use poplin_layout::{
    BEND_FACE_ANGLE, BEND_ISOMETRIC, BEND_WORDS, ImplicitConstants, MIN_HEIGHT_SQUARE,
    MIN_HINGE_SQUARE, MIN_NORMAL_SQUARE, PI, TAU,
};

use super::storage::{Source, Storage};
use crate::ClothMemory;
use crate::lanes::{LaneMask as _, MAX_LANES, Real, max};
use crate::math::atan2_portable;
use crate::particles::{Block, blocks};
use crate::vector::Vec3;

/// Edge that two triangles share, and the sides from its first end to the third and fourth
/// particle.
#[derive(Clone, Copy)]
pub(crate) struct Hinge<V: Real> {
    pub(crate) edge: Vec3<V>,
    pub(crate) side_2: Vec3<V>,
    pub(crate) side_3: Vec3<V>,
}

/// Normals and squared lengths of the two triangles at an edge.
#[derive(Clone, Copy)]
pub(crate) struct Fold<V: Real> {
    /// Set if both triangles have a height.
    pub(crate) is_usable: V::Mask,
    /// Normals of the third and the fourth particle's triangle \[m^2\].
    pub(crate) normal_2: Vec3<V>,
    pub(crate) normal_3: Vec3<V>,
    /// Squared length of the edge \[m^2\].
    pub(crate) edge_square: V,
    /// Squared lengths of the normals \[m^4\].
    pub(crate) squares: [V; 2],
}

impl<V: Real> Hinge<V> {
    /// Differences of the rows of the four particles of each bend.
    #[inline(always)]
    fn between(
        simd: V::Token,
        memory: &ClothMemory<'_>,
        storage: &impl Storage<V>,
        source: Source,
        ends: &[[u32; MAX_LANES]; 4],
    ) -> Self {
        let first = Vec3::xyz(storage.gathered(simd, memory, source, &ends[0]));
        Self {
            edge: Vec3::xyz(storage.gathered(simd, memory, source, &ends[1])) - first,
            side_2: Vec3::xyz(storage.gathered(simd, memory, source, &ends[2])) - first,
            side_3: Vec3::xyz(storage.gathered(simd, memory, source, &ends[3])) - first,
        }
    }

    /// Sum of the cotangent weights times the particles, relative to the first: `c_1 edge - side_2
    /// / H_2 - side_3 / H_3`.
    #[inline(always)]
    fn curvature(self, weight: V, [height_2, height_3]: [V; 2]) -> Vec3<V> {
        let ahead = self.edge * weight - self.side_2 / height_2;
        ahead - self.side_3 / height_3
    }

    /// Normals of both triangles.
    #[inline(always)]
    pub(crate) fn fold(self, simd: V::Token) -> Fold<V> {
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

/// Tests whether triangles have a usable height over an edge, from squared lengths of the edge and
/// a side and of the normal.
#[inline(always)]
fn has_height<V: Real>(simd: V::Token, hinge: V, side: V, normal: V) -> V::Mask {
    V::splat(simd, MIN_NORMAL_SQUARE).simd_lt(normal)
        & (V::splat(simd, MIN_HEIGHT_SQUARE) * hinge * max(hinge, side)).simd_lt(normal)
}

impl<V: Real> Fold<V> {
    /// Gradients of the dihedral angle of a hinge at its last three particles times the reach over
    /// the length of the edge; see [`balanced`] for that at the first.
    ///
    /// d angle / dx_2 = -|e| n_2 / |n_2|^2, and likewise for x_3; the ends of the edge balance
    /// both.
    #[inline(always)]
    pub(crate) fn angle_gradients(&self, hinge: Hinge<V>, reach: V) -> [Vec3<V>; 3] {
        let Hinge { edge, side_2, side_3 } = hinge;
        let [square_2, square_3] = self.squares;
        let gradient_2 = self.normal_2 * (-reach / square_2);
        let gradient_3 = self.normal_3 * (-reach / square_3);
        let gradient_1 = gradient_2 * -(side_2.dot(edge) / self.edge_square)
            - gradient_3 * (side_3.dot(edge) / self.edge_square);
        [gradient_1, gradient_2, gradient_3]
    }

    /// Dihedral angles minus rest angles \[rad\], in -PI..=PI.
    #[inline(always)]
    pub(crate) fn angle_error(&self, simd: V::Token, edge: Vec3<V>, rest: V) -> V {
        let splat = |value: f32| V::splat(simd, value);
        let unit_2 = self.normal_2 / self.squares[0].sqrt();
        let unit_3 = self.normal_3 / self.squares[1].sqrt();
        let sine = unit_2.cross(unit_3).dot(edge / self.edge_square.sqrt());
        let error = atan2_portable(simd, sine, unit_2.dot(unit_3)) - rest;
        // Wraps the difference of two angles.
        let wrapped = error.simd_le(splat(-PI)).select(error + splat(TAU), error);
        splat(PI).simd_lt(error).select(error - splat(TAU), wrapped)
    }

    /// Depths of the third and fourth particle behind the plane of the other's triangle, over their
    /// rest heights, minus the sine of the rest angle.
    #[inline(always)]
    fn depth_errors(&self, hinge: Hinge<V>, heights: [V; 2], sine: V) -> [V; 2] {
        let depth_2 = hinge.side_2.dot(self.normal_3) / self.squares[1].sqrt();
        let depth_3 = hinge.side_3.dot(self.normal_2) / self.squares[0].sqrt();
        [-depth_2 / heights[0] - sine, -depth_3 / heights[1] - sine]
    }
}

/// Adds the gradients of the energy of bends at their four particles.
#[inline(always)]
pub(crate) fn fold_bend<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    storage: &mut impl Storage<V>,
) {
    let constants = memory.load_implicit();
    storage.clear_gradients(true);
    for block in blocks::<V>(items) {
        let ends = bend_ends(memory, block);
        let last = Hinge::between(simd, memory, storage, Source::Previous, &ends);
        let moved = Hinge::between(simd, memory, storage, Source::Trial, &ends);
        let gradients = bend_gradients(simd, memory, &constants, block, last, moved);
        storage.add_gradients(simd, memory, block, &ends, gradients);
    }
}

/// Particles of bends: both ends of the edge, then the third and fourth particle.
#[inline(always)]
pub(crate) fn bend_ends<V: Real>(
    memory: &ClothMemory<'_>,
    bends: Block<V>,
) -> [[u32; MAX_LANES]; 4] {
    let begin = memory.cloth.fabric.bend_begin;
    let mut ends = [[0; MAX_LANES]; 4];
    for (k, ends) in (0..).zip(&mut ends) {
        for (lane, end) in ends.iter_mut().enumerate().take(V::LEN) {
            *end = memory.fabric(begin + BEND_WORDS * bends.index(lane) + k);
        }
    }
    ends
}

/// Gradients of the energy of bends at their four particles \[N\], from the hinges one step ago and
/// their changes since.
///
/// Face angle: k/2 (angle - rest)^2. Plane projection: k/4 ((d2/H2 - sin rest)^2 + (d3/H3 - sin
/// rest)^2), d the depth of the third and fourth particle behind the plane of the other's triangle,
/// H their rest heights. Isometric: k/2 |sum c_i x_i|^2 with the cotangent weights c of a flat rest
/// shape (Bergou et al. 2006, A Quadratic Bending Model for Inextensible Surfaces). Damping as in
/// `stretch_gradients`.
#[inline(always)]
fn bend_gradients<V: Real>(
    simd: V::Token,
    memory: &ClothMemory<'_>,
    constants: &ImplicitConstants,
    bends: Block<V>,
    last: Hinge<V>,
    moved: Hinge<V>,
) -> [Vec3<V>; 4] {
    let splat = |value: f32| V::splat(simd, value);
    let nothing = Vec3::splat(simd, [0.0; 3]);
    let hinge = Hinge {
        edge: last.edge + moved.edge,
        side_2: last.side_2 + moved.side_2,
        side_3: last.side_3 + moved.side_3,
    };
    let Hinge { edge, side_2, side_3 } = hinge;
    // Words 4 to 9 of a bend: rest angle, stiffness factor, both rest heights, sine of the rest
    // angle, weight of particle 1.
    let mut words = [[0.0; MAX_LANES]; BEND_WORDS as usize - 4];
    for lane in 0..V::LEN {
        let row = (memory.cloth.fabric.bend_begin + BEND_WORDS * bends.index(lane)) as usize;
        let numbers = &memory.fabric_pool[row..][..BEND_WORDS as usize];
        for (slots, &number) in words.iter_mut().zip(&numbers[4..]) {
            slots[lane] = f32::from_bits(number);
        }
    }
    let number = |k: usize| V::from_slice(simd, &words[k - 4][..V::LEN]);
    let stiffness = splat(constants.rigidity) * number(5);
    let (share, has_memory) = (splat(constants.bend_memory), constants.bend_memory > 0.0);
    if constants.bend_model == BEND_ISOMETRIC {
        let (heights, weight) = ([number(6), number(7)], number(9));
        let mut curvature = hinge.curvature(weight, heights);
        if has_memory {
            curvature = curvature - last.curvature(weight, heights) * share;
        }
        // grad_i E = k c_i sum c_j x_j with c_2 = -1/H2, c_3 = -1/H3
        let moment = curvature * stiffness;
        let [height_2, height_3] = heights;
        let (gradient_2, gradient_3) = (-moment / height_2, -moment / height_3);
        return balanced([moment * weight, gradient_2, gradient_3]);
    }
    let fold = hinge.fold(simd);
    let [square_2, square_3] = fold.squares;
    let (gradient_1, gradient_2, gradient_3);
    if constants.bend_model == BEND_FACE_ANGLE {
        let rest = number(4);
        let mut error = fold.angle_error(simd, edge, rest);
        if has_memory {
            let before = last.fold(simd);
            let damped = error - before.angle_error(simd, last.edge, rest) * share;
            error = before.is_usable.select(damped, error);
        }
        let moment = stiffness * error * fold.edge_square.sqrt();
        [gradient_1, gradient_2, gradient_3] = fold.angle_gradients(hinge, moment);
    } else {
        let (heights, sine) = ([number(6), number(7)], number(8));
        let [mut error_2, mut error_3] = fold.depth_errors(hinge, heights, sine);
        if has_memory {
            let before = last.fold(simd);
            let [before_2, before_3] = before.depth_errors(last, heights, sine);
            error_2 = before.is_usable.select(error_2 - before_2 * share, error_2);
            error_3 = before.is_usable.select(error_3 - before_3 * share, error_3);
        }
        // grad d_3 is -m/|m| at the fourth particle and m/|m| times the barycentric weights of its
        // foot at the corners of the other triangle, m = normal_2; and likewise for d_2.
        let half = splat(0.5);
        let force_2 = half * stiffness * error_2 / heights[0];
        let force_3 = half * stiffness * error_3 / heights[1];
        let push_2 = fold.normal_3 * (force_2 / square_3.sqrt());
        let push_3 = fold.normal_2 * (force_3 / square_2.sqrt());
        let at_2 = edge.cross(side_3).dot(fold.normal_2) / square_2;
        let at_3 = -edge.cross(side_2).dot(fold.normal_3) / square_3;
        let foot_3 = side_3.cross(side_2).dot(fold.normal_2) / square_2;
        let foot_2 = -side_2.cross(side_3).dot(fold.normal_3) / square_3;
        gradient_1 = push_3 * foot_3 + push_2 * foot_2;
        gradient_2 = push_3 * at_2 - push_2;
        gradient_3 = push_2 * at_3 - push_3;
    }
    balanced([
        gradient_1.or(fold.is_usable, nothing),
        gradient_2.or(fold.is_usable, nothing),
        gradient_3.or(fold.is_usable, nothing),
    ])
}

/// Adds the gradient of the first particle, which balances the others.
#[inline(always)]
pub(crate) fn balanced<V: Real>([one, two, three]: [Vec3<V>; 3]) -> [Vec3<V>; 4] {
    [-(one + two + three), one, two, three]
}
