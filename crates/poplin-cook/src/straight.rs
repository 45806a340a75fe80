//! Which two edges at a vertex continue each other.

use glam::DVec3;

/// Edges at a vertex beyond which nothing runs straight on: a hub, where pairing would cost the square of their number.
const MAX_PAIRED_EDGES: usize = 64;

/// Pairs edges at a vertex by how straight they continue each other.
///
/// Directions are laid into the tangent plane first: a line across the rim of a box or around a thin tube is straight
/// *in the surface*, which is what a thread of the fabric follows.
#[derive(Debug, Clone)]
pub(crate) struct StraightPairs {
    min_cosine: f64,
    directions: Vec<DVec3>,
    candidates: Vec<(f64, u32, u32)>,
    taken: Vec<bool>,
    pairs: Vec<[u32; 2]>,
}

impl StraightPairs {
    /// Pairs edges that turn by at most `max_turn` \[rad\].
    pub(crate) fn new(max_turn: f64) -> Self {
        let (directions, candidates, taken, pairs) = Default::default();
        // The margin keeps turns of exactly the limit in, whatever the rounding.
        Self { min_cosine: max_turn.cos() - 1e-6, directions, candidates, taken, pairs }
    }

    /// Pairs of positions in `ends` (the far ends of the edges at `center`), the straightest first; each end at most once.
    pub(crate) fn find(&mut self, center: DVec3, normal: DVec3, ends: impl ExactSizeIterator<Item = DVec3>) -> &[[u32; 2]] {
        self.pairs.clear();
        if ends.len() > MAX_PAIRED_EDGES {
            return &self.pairs;
        }
        self.directions.clear();
        self.directions.extend(ends.map(|end| lay_flat(end - center, normal)));
        self.candidates.clear();
        for (second, b) in self.directions.iter().enumerate() {
            for (first, a) in self.directions[..second].iter().enumerate() {
                let cosine = -a.dot(*b);
                if cosine >= self.min_cosine {
                    self.candidates.push((cosine, first as u32, second as u32));
                }
            }
        }
        self.candidates.sort_unstable_by(|x, y| y.0.total_cmp(&x.0).then((x.1, x.2).cmp(&(y.1, y.2))));
        self.taken.clear();
        self.taken.resize(self.directions.len(), false);
        for &(_, first, second) in &self.candidates {
            if !self.taken[first as usize] && !self.taken[second as usize] {
                (self.taken[first as usize], self.taken[second as usize]) = (true, true);
                self.pairs.push([first, second]);
            }
        }
        &self.pairs
    }
}

/// The direction within the tangent plane, or as it is where it stands on the plane.
fn lay_flat(direction: DVec3, normal: DVec3) -> DVec3 {
    let direction = direction.normalize_or_zero();
    let flat = direction - normal * normal.dot(direction);
    if flat.length() > 0.1 { flat.normalize() } else { direction }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opposite_edges_pair_up_and_bent_ones_do_not() {
        let ends = [DVec3::X, DVec3::Z, DVec3::NEG_X, DVec3::new(0.5, 0.0, -1.0), DVec3::new(1.0, 0.0, -1.2)];
        let mut straight = StraightPairs::new(0.7);
        assert_eq!(straight.find(DVec3::ZERO, DVec3::Y, ends.into_iter()), [[0, 2], [1, 3]]);
        assert_eq!(StraightPairs::new(0.1).find(DVec3::ZERO, DVec3::Y, ends.into_iter()), [[0, 2]]);
    }

    #[test]
    fn a_line_across_a_rim_is_straight_in_the_surface() {
        let ends = [DVec3::X, DVec3::NEG_Y];
        let normal = DVec3::new(1.0, 1.0, 0.0).normalize();
        assert!(StraightPairs::new(0.5).find(DVec3::ZERO, DVec3::ZERO, ends.into_iter()).is_empty());
        let ends = [DVec3::NEG_X, DVec3::NEG_Y];
        assert_eq!(StraightPairs::new(0.5).find(DVec3::ZERO, normal, ends.into_iter()), [[0, 1]]);
    }
}
