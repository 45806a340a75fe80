//! Yarns in the pool of fabrics, and their compliance and damping.

use poplin_model::{Fabric, PhaseKind, Solver};

use crate::gpu_struct::gpu_struct;
use crate::{StepScale, YARN_POINT_WORDS, YARN_SHEAR, YARN_WARP, YARN_WEFT, YARN_WORDS};

gpu_struct! {
    /// Compliance and damping of yarns; their list is in `FabricOffsets`.
    pub struct YarnParameters {
        /// Compliance of yarns along the warp: 1 over membrane stiffness and squared iteration step
        /// [m/(N s^2)].
        pub warp_compliance: f32,
        /// Compliance of yarns along the weft.
        pub weft_compliance: f32,
        /// Compliance of yarns at 45 degrees to both.
        pub shear_compliance: f32,
        /// Damping time of yarns at 45 degrees over the iteration step.
        pub shear_damping: f32,
    }
}

/// Smallest stiffness of a yarn [N/m]: its compliance stays finite in `f32`.
const MIN_STIFFNESS: f64 = 1e-6;

/// Computes the parameters of a frame; zero for a solver without a membrane.
pub(crate) fn yarn_parameters(solver: &Solver, scale: &StepScale) -> YarnParameters {
    let Some(membrane) = solver.as_xpbd().and_then(|xpbd| xpbd.membrane) else {
        return bytemuck::Zeroable::zeroed();
    };
    let [warp, weft] = membrane.beside_shear();
    // Two families of diagonal yarns lengthen by half the shear angle g: with 2 G each, their
    // energy is 2 (2 G) (g/2)^2 / 2 = G g^2 / 2.
    let shear = 2.0 * f64::from(membrane.shear);
    let [warp_compliance, weft_compliance, shear_compliance] =
        [warp, weft, shear].map(|stiffness| scale.per_step(1.0 / stiffness.max(MIN_STIFFNESS), 2));
    let shear_damping = scale.per_step(membrane.shear_damping.into(), 1);
    YarnParameters { warp_compliance, weft_compliance, shear_compliance, shear_damping }
}

/// First row of scratch of each yarn, two for each of its points, and the number of rows of the
/// largest set.
pub(crate) fn yarn_rows(fabric: &Fabric) -> (Vec<u32>, u32) {
    let (mut rows, mut begin, mut most) = (Vec::new(), 0, 0);
    for &end in &fabric.yarn_set_ends {
        let mut next = 0;
        for yarn in begin..end as usize {
            rows.push(next);
            next += 2 * fabric.points_of_yarn(yarn).len() as u32;
        }
        most = most.max(next);
        begin = end as usize;
    }
    (rows, most)
}

/// Words of each yarn.
pub(crate) fn yarn_words(fabric: &Fabric) -> Vec<[u32; YARN_WORDS as usize]> {
    let (rows, _) = yarn_rows(fabric);
    let words = |(yarn, &row): (usize, &u32)| {
        let points = fabric.points_of_yarn(yarn);
        let kind = match fabric.yarns[yarn].kind {
            PhaseKind::Vertical => YARN_WARP,
            PhaseKind::Horizontal => YARN_WEFT,
            PhaseKind::Shearing | PhaseKind::Bending => YARN_SHEAR,
        };
        [points.start as u32, points.end as u32, row, kind]
    };
    rows.iter().enumerate().map(words).collect()
}

/// Words of each point of the yarns.
pub(crate) fn yarn_point_words(fabric: &Fabric) -> Vec<[u32; YARN_POINT_WORDS as usize]> {
    let words = |yarn: usize| {
        let breadth = fabric.yarns[yarn].breadth;
        fabric.yarn_points[fabric.points_of_yarn(yarn)].iter().map(move |point| {
            let ([a, b], [first, second]) = (point.particles, point.shares);
            let length = point.rest_length;
            let [weight, first, second, length, ratio] =
                [point.weight, first, second, length, length / breadth].map(f32::to_bits);
            [a, b, weight, first, second, length, ratio]
        })
    };
    (0..fabric.yarns.len()).flat_map(words).collect()
}
