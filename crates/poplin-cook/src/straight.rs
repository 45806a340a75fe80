//! Pairing of the edges at a vertex that continue each other.

use glam::DVec3;

/// Largest number of edges at a vertex that are paired; at larger hubs pairing would take quadratic
/// time.
const MAX_PAIRED_EDGES: usize = 64;

/// Largest number of edges at a vertex for which the optimal pairing is searched; beyond it the
/// straightest pairs are taken greedily. Garments have five to eight edges, and the search takes
/// `2^n n` steps.
const MAX_SEARCHED_EDGES: usize = 10;

/// Smallest cost of an unpaired edge. It exceeds all deflections at a vertex together, so that no
/// pair is given up for smaller deflections.
const ALONE: f64 = 1000.0;

/// Pairs the edges at a vertex by straightness.
///
/// Directions are first projected into the tangent plane: a line across the rim of a box or around
/// a thin tube is straight *in the surface*, and so is a thread of the fabric.
#[derive(Debug, Clone)]
pub(crate) struct StraightPairs {
    min_cosine: f64,
    directions: Vec<DVec3>,
    /// Cosine of the deflection, and the positions of the two edges, the smaller first.
    candidates: Vec<(f64, u32, u32)>,
    taken: Vec<bool>,
    /// Dynamic programming table over the subsets of edges at a vertex: cost of the best pairing,
    /// and the partner of its last edge.
    best: Vec<(f64, usize)>,
    pairs: Vec<[u32; 2]>,
}

impl StraightPairs {
    /// Creates a pairing with deflections of at most `max_turn` \[rad\].
    pub(crate) fn new(max_turn: f64) -> Self {
        let (directions, candidates, taken, best, pairs) = Default::default();
        // The margin includes deflections of exactly the limit despite rounding.
        Self { min_cosine: max_turn.cos() - 1e-6, directions, candidates, taken, best, pairs }
    }

    /// Returns pairs of positions in `ends` (the far ends of the edges at `center`), the
    /// straightest first; each end occurs at most once.
    pub(crate) fn find(
        &mut self,
        center: DVec3,
        normal: DVec3,
        ends: impl ExactSizeIterator<Item = DVec3>,
    ) -> &[[u32; 2]] {
        self.find_candidates(center, normal, ends);
        self.take_straightest();
        &self.pairs
    }

    /// True if two edges at `center` with these far ends may be paired.
    pub(crate) fn is_pair(&self, center: DVec3, normal: DVec3, [a, b]: [DVec3; 2]) -> bool {
        self.little_turn(lay_flat(a - center, normal), lay_flat(b - center, normal)).is_some()
    }

    /// Returns the pairing of `ends` with the most pairs within the limit of deflection, and among
    /// these the one with the smallest sum of squared deflections [rad^2] and of the `price` of
    /// every unpaired end, `0..=10` each.
    pub(crate) fn find_most(
        &mut self,
        center: DVec3,
        normal: DVec3,
        ends: impl ExactSizeIterator<Item = DVec3>,
        price: impl Fn(usize) -> f64,
    ) -> &[[u32; 2]] {
        let count = ends.len();
        self.find_candidates(center, normal, ends);
        // Without a choice, or with too many edges for the exponential search, greedy is used.
        if self.is_each_end_in_one_pair() || count > MAX_SEARCHED_EDGES {
            self.take_straightest();
        } else {
            self.take_best(count, price);
        }
        &self.pairs
    }

    fn find_candidates(
        &mut self,
        center: DVec3,
        normal: DVec3,
        ends: impl ExactSizeIterator<Item = DVec3>,
    ) {
        self.pairs.clear();
        self.candidates.clear();
        self.directions.clear();
        if ends.len() > MAX_PAIRED_EDGES {
            return;
        }
        self.directions.extend(ends.map(|end| lay_flat(end - center, normal)));
        for (second, b) in self.directions.iter().enumerate() {
            for (first, a) in self.directions[..second].iter().enumerate() {
                if let Some(cosine) = self.little_turn(*a, *b) {
                    self.candidates.push((cosine, first as u32, second as u32));
                }
            }
        }
    }

    /// Cosine of the deflection between two edges if it is within the limit; directions point away
    /// from the vertex.
    fn little_turn(&self, a: DVec3, b: DVec3) -> Option<f64> {
        Some(-a.dot(b)).filter(|&cosine| cosine >= self.min_cosine)
    }

    /// True if the pairing is unambiguous, as everywhere on a grid.
    fn is_each_end_in_one_pair(&mut self) -> bool {
        self.taken.clear();
        self.taken.resize(self.directions.len(), false);
        let mut take = |end: u32| !std::mem::replace(&mut self.taken[end as usize], true);
        self.candidates.iter().all(|&(_, first, second)| take(first) && take(second))
    }

    fn take_straightest(&mut self) {
        self.candidates
            .sort_unstable_by(|x, y| y.0.total_cmp(&x.0).then((x.1, x.2).cmp(&(y.1, y.2))));
        self.taken.clear();
        self.taken.resize(self.directions.len(), false);
        for &(_, first, second) in &self.candidates {
            if !self.taken[first as usize] && !self.taken[second as usize] {
                (self.taken[first as usize], self.taken[second as usize]) = (true, true);
                self.pairs.push([first, second]);
            }
        }
    }

    /// Finds the best pairing of all edges from the best pairings of all subsets: the last edge of
    /// a subset is unpaired or paired with one of the others, and the rest is a smaller subset.
    /// Ties prefer the unpaired edge, then the first partner.
    fn take_best(&mut self, count: usize, price: impl Fn(usize) -> f64) {
        // Candidates now hold squared deflections instead of cosines.
        for (cosine, _, _) in &mut self.candidates {
            *cosine = cosine.clamp(-1.0, 1.0).acos().powi(2);
        }
        self.best.clear();
        self.best.push((0.0, 0));
        for last in 0..count {
            let alone = ALONE + price(last);
            // Subsets in ascending order: `best[subset]` with highest bit `last` is appended at its
            // index.
            for others in 0..1 << last {
                let mut choice = (self.best[others].0 + alone, last);
                for &(turn_squared, first, second) in &self.candidates {
                    let bit = 1 << first;
                    if second as usize == last && others & bit != 0 {
                        let cost = self.best[others ^ bit].0 + turn_squared;
                        if cost < choice.0 {
                            choice = (cost, first as usize);
                        }
                    }
                }
                self.best.push(choice);
            }
        }
        // Backtrack from the full set; a subset is a bit mask.
        let mut left = self.best.len() - 1;
        while left != 0 {
            let last = left.ilog2() as usize;
            let partner = self.best[left].1;
            left ^= 1 << last;
            if partner != last {
                left ^= 1 << partner;
                self.pairs.push([partner as u32, last as u32]);
            }
        }
    }
}

/// Projects a direction into the tangent plane; unchanged if it is normal to the plane.
fn lay_flat(direction: DVec3, normal: DVec3) -> DVec3 {
    let direction = direction.normalize_or_zero();
    let flat = direction - normal * normal.dot(direction);
    if flat.length() > 0.1 { flat.normalize() } else { direction }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_opposite_edges_but_not_bent_ones() {
        let ends = [
            DVec3::X,
            DVec3::Z,
            DVec3::NEG_X,
            DVec3::new(0.5, 0.0, -1.0),
            DVec3::new(1.0, 0.0, -1.2),
        ];
        let mut straight = StraightPairs::new(0.7);
        assert_eq!(straight.find(DVec3::ZERO, DVec3::Y, ends.into_iter()), [[0, 2], [1, 3]]);
        assert_eq!(StraightPairs::new(0.1).find(DVec3::ZERO, DVec3::Y, ends.into_iter()), [[0, 2]]);
    }

    /// Unit vectors at the given angles in a plane \[degrees\].
    fn at(angles: &[i32]) -> Vec<DVec3> {
        let direction = |angle: &i32| f64::from(*angle).to_radians().sin_cos();
        angles.iter().map(direction).map(|(sin, cos)| DVec3::new(cos, sin, 0.0)).collect()
    }

    fn most(angles: &[i32], prices: &[f64]) -> Vec<[u32; 2]> {
        let price = |k: usize| prices.get(k).copied().unwrap_or(0.0);
        let mut pairs = StraightPairs::new(0.8)
            .find_most(DVec3::ZERO, DVec3::Z, at(angles).into_iter(), price)
            .to_vec();
        pairs.sort_unstable();
        pairs
    }

    #[test]
    fn two_bent_pairs_beat_one_straight_pair_and_two_unpaired() {
        // 0 and 180 are straight, but 40 and 140 have no other partner: they deflect by 80.
        let angles = [0, 180, 220, 320];
        let greedy =
            StraightPairs::new(0.8).find(DVec3::ZERO, DVec3::Z, at(&angles).into_iter()).to_vec();
        assert_eq!(greedy, [[0, 1]]);
        assert_eq!(most(&angles, &[]), [[0, 2], [1, 3]]);
    }

    #[test]
    fn ties_prefer_straight_pairs_and_pair_expensive_ends() {
        assert_eq!(most(&[0, 60, 120, 185, 245, 300], &[]), [[0, 3], [1, 4], [2, 5]]);
        // 0 could be paired with 165 or 195.
        assert_eq!(most(&[0, 165, 195], &[0.0, 0.3, 0.0]), [[0, 1]]);
        assert_eq!(most(&[0, 165, 195], &[0.0, 0.0, 0.3]), [[0, 2]]);
    }

    #[test]
    fn finds_as_many_pairs_as_brute_force() {
        fn most_by_trying(left: &[usize], fits: &dyn Fn(usize, usize) -> bool) -> usize {
            let Some((&first, others)) = left.split_first() else { return 0 };
            let without =
                |k: usize| others.iter().copied().filter(|&other| other != k).collect::<Vec<_>>();
            let with = others
                .iter()
                .filter(|&&k| fits(first, k))
                .map(|&k| 1 + most_by_trying(&without(k), fits));
            with.max().unwrap_or(0).max(most_by_trying(others, fits))
        }
        let mut rng = poplin_geometry::Rng::new(1);
        for _ in 0..300 {
            let angles: Vec<_> = (0..2 + rng.below(7)).map(|_| rng.below(360) as i32).collect();
            let ends = at(&angles);
            let fits = |a: usize, b: usize| -ends[a].dot(ends[b]) >= 0.8_f64.cos() - 1e-6;
            let all: Vec<usize> = (0..angles.len()).collect();
            assert_eq!(most(&angles, &[]).len(), most_by_trying(&all, &fits), "{angles:?}");
        }
    }

    #[test]
    fn line_across_a_rim_is_straight_in_the_surface() {
        let ends = [DVec3::X, DVec3::NEG_Y];
        let normal = DVec3::new(1.0, 1.0, 0.0).normalize();
        assert!(
            StraightPairs::new(0.5).find(DVec3::ZERO, DVec3::ZERO, ends.into_iter()).is_empty()
        );
        let ends = [DVec3::NEG_X, DVec3::NEG_Y];
        assert_eq!(StraightPairs::new(0.5).find(DVec3::ZERO, normal, ends.into_iter()), [[0, 1]]);
    }
}
