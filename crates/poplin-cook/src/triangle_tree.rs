//! Triangles in a tree of boxes: which one is nearest to a point.

use glam::DVec3;

/// Most triangles of a leaf.
const LEAF_SIZE: usize = 4;

/// Relative difference of squared distances that counts as none: the point where edges meet, found from each of them.
const TIE: f64 = 1e-9;

/// A bounding volume hierarchy over the triangles that have an area.
#[derive(Debug)]
pub struct TriangleTree {
    /// Depth first: the first child of a node follows it.
    nodes: Vec<Node>,
    triangles: Vec<Triangle>,
}

#[derive(Debug)]
struct Node {
    low: DVec3,
    high: DVec3,
    /// Triangles below the node.
    begin: usize,
    end: usize,
    /// The second child; 0 for a leaf.
    second: usize,
}

#[derive(Debug, Clone, Copy)]
struct Triangle {
    /// Its position among all that the tree was made of.
    index: u32,
    corners: [DVec3; 3],
    /// Of unit length.
    normal: DVec3,
}

/// The triangle nearest to a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NearestTriangle {
    /// Its position among all that the tree was made of.
    pub triangle: u32,
    /// The point of it \[m\].
    pub point: DVec3,
    /// Squared distance to that \[m^2\].
    pub square: f64,
}

/// The best triangle so far.
struct Nearest {
    square: f64,
    /// Height of the point above the triangle's plane \[m\].
    height: f64,
}

impl TriangleTree {
    /// The tree of these triangles, corners \[m\]; those without area are left out.
    pub fn new(triangles: impl IntoIterator<Item = [DVec3; 3]>) -> Self {
        let usable = (0..).zip(triangles).filter_map(|(index, corners)| {
            let [a, b, c] = corners;
            let normal = (b - a).cross(c - a).try_normalize()?;
            Some(Triangle { index, corners, normal })
        });
        let mut tree = Self { nodes: Vec::new(), triangles: usable.collect() };
        if !tree.triangles.is_empty() {
            tree.build(0, tree.triangles.len());
        }
        tree
    }

    fn build(&mut self, begin: usize, end: usize) {
        let range = &mut self.triangles[begin..end];
        let all = range.iter().flat_map(|triangle| triangle.corners);
        let [low, high] = all
            .fold([DVec3::INFINITY, DVec3::NEG_INFINITY], |[low, high], corner| {
                [low.min(corner), high.max(corner)]
            });
        let node = self.nodes.len();
        self.nodes.push(Node { low, high, begin, end, second: 0 });
        if end - begin <= LEAF_SIZE {
            return;
        }
        let axis = (high - low).max_position();
        let middle = (end - begin) / 2;
        range.select_nth_unstable_by(middle, |a, b| a.center()[axis].total_cmp(&b.center()[axis]));
        self.build(begin, begin + middle);
        self.nodes[node].second = self.nodes.len();
        self.build(begin + middle, end);
    }

    /// Distance of a point behind the triangle nearest to it \[m\], negative in front of it; `None` without triangles.
    ///
    /// Where an edge or a corner is nearest, several triangles are equally near. Of these the one whose plane is furthest
    /// from the point decides the side: the planes of the others may be met far outside their triangles.
    pub fn depth(&self, point: DVec3) -> Option<f64> {
        let mut nearest = Nearest { square: f64::INFINITY, height: 0.0 };
        self.search(point, |triangle| {
            nearest.consider(triangle, point);
            nearest.square * (1.0 + TIE)
        });
        let is_found = nearest.square.is_finite();
        is_found.then(|| {
            if nearest.height < 0.0 { nearest.square.sqrt() } else { -nearest.square.sqrt() }
        })
    }

    /// The nearest of those triangles whose normal of unit length is accepted, the first of several equally near; `None` if there is
    /// none.
    pub fn nearest(
        &self,
        point: DVec3,
        accepts: impl Fn(DVec3) -> bool,
    ) -> Option<NearestTriangle> {
        let mut nearest: Option<NearestTriangle> = None;
        self.search(point, |triangle| {
            if accepts(triangle.normal) {
                let foot = triangle.nearest_to(point);
                let found = NearestTriangle {
                    triangle: triangle.index,
                    point: foot,
                    square: point.distance_squared(foot),
                };
                let is_better = nearest.is_none_or(|best| {
                    found.square < best.square * (1.0 - TIE)
                        || found.square <= best.square * (1.0 + TIE)
                            && found.triangle < best.triangle
                });
                if is_better && found.square.is_finite() {
                    nearest = Some(found);
                }
            }
            nearest.map_or(f64::INFINITY, |best| best.square * (1.0 + TIE))
        });
        nearest
    }

    /// Shows `consider` the triangles of every leaf that is no further than the squared distance that it returned last.
    fn search(&self, point: DVec3, mut consider: impl FnMut(&Triangle) -> f64) {
        let mut limit = f64::INFINITY;
        let mut stack = Vec::with_capacity(64);
        stack.extend((!self.nodes.is_empty()).then_some(0));
        while let Some(index) = stack.pop() {
            let node: &Node = &self.nodes[index];
            if node.square_distance(point) > limit {
                continue;
            }
            if node.second == 0 {
                for triangle in &self.triangles[node.begin..node.end] {
                    limit = consider(triangle);
                }
            } else {
                // The nearer child last: it is taken first.
                let mut children = [node.second, index + 1];
                if self.nodes[children[0]].square_distance(point)
                    < self.nodes[children[1]].square_distance(point)
                {
                    children.reverse();
                }
                stack.extend(children);
            }
        }
    }
}

impl Node {
    fn square_distance(&self, point: DVec3) -> f64 {
        point.distance_squared(point.clamp(self.low, self.high))
    }
}

impl Triangle {
    fn center(&self) -> DVec3 {
        self.corners.iter().sum::<DVec3>() / 3.0
    }

    /// The point of the triangle nearest to `p` (Ericson, "Real-Time Collision Detection", 2005, 5.1.5).
    fn nearest_to(&self, p: DVec3) -> DVec3 {
        let [a, b, c] = self.corners;
        let (ab, ac) = (b - a, c - a);
        let [ap, bp, cp] = [a, b, c].map(|corner| p - corner);
        let (d1, d2) = (ab.dot(ap), ac.dot(ap));
        if d1 <= 0.0 && d2 <= 0.0 {
            return a;
        }
        let (d3, d4) = (ab.dot(bp), ac.dot(bp));
        if d3 >= 0.0 && d4 <= d3 {
            return b;
        }
        let of_c = d1 * d4 - d3 * d2;
        if of_c <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
            return a + ab * (d1 / (d1 - d3));
        }
        let (d5, d6) = (ab.dot(cp), ac.dot(cp));
        if d6 >= 0.0 && d5 <= d6 {
            return c;
        }
        let of_b = d5 * d2 - d1 * d6;
        if of_b <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
            return a + ac * (d2 / (d2 - d6));
        }
        let of_a = d3 * d6 - d5 * d4;
        if of_a <= 0.0 && d4 >= d3 && d5 >= d6 {
            return b + (c - b) * ((d4 - d3) / ((d4 - d3) + (d5 - d6)));
        }
        let sum = of_a + of_b + of_c;
        a + ab * (of_b / sum) + ac * (of_c / sum)
    }
}

impl Nearest {
    fn consider(&mut self, triangle: &Triangle, point: DVec3) {
        let square = point.distance_squared(triangle.nearest_to(point));
        if square > self.square * (1.0 + TIE) {
            return;
        }
        let height = triangle.normal.dot(point - triangle.corners[0]);
        let is_tie = square >= self.square * (1.0 - TIE);
        if !is_tie || height.abs() > self.height.abs() {
            self.height = height;
        }
        self.square = self.square.min(square);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers in -1..1 (Vigna's splitmix64).
    struct Rng(u64);

    impl Rng {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }

        fn point(&mut self, size: f64) -> DVec3 {
            DVec3::from_array(std::array::from_fn(|_| size * self.next()))
        }
    }

    /// An octahedron whose front is outside.
    fn octahedron() -> TriangleTree {
        let signs = [1.0, -1.0];
        let faces = signs.into_iter().flat_map(|x| {
            signs.into_iter().flat_map(move |y| signs.into_iter().map(move |z| [x, y, z]))
        });
        TriangleTree::new(faces.map(|[x, y, z]| {
            let [a, b, c] = [DVec3::X * x, DVec3::Y * y, DVec3::Z * z];
            if x * y * z > 0.0 { [a, b, c] } else { [a, c, b] }
        }))
    }

    #[test]
    fn the_depth_in_an_octahedron_is_that_to_its_nearest_side() {
        let (tree, mut rng) = (octahedron(), Rng(5));
        for _ in 0..2000 {
            let point = rng.point(1.0);
            let sum = point.abs().element_sum();
            let depth = tree.depth(point).unwrap();
            assert_eq!(depth > 0.0, sum < 1.0, "{point}");
            if sum < 1.0 {
                assert!((depth - (1.0 - sum) / 3.0_f64.sqrt()).abs() < 1e-12, "{point}: {depth}");
            }
        }
    }

    #[test]
    fn edges_and_corners_tell_the_side() {
        let tree = octahedron();
        for point in
            [DVec3::new(1.5, 0.0, 0.0), DVec3::new(0.6, 0.6, 0.0), DVec3::new(0.0, -1.1, 0.05)]
        {
            assert!(tree.depth(point).unwrap() < 0.0, "{point} is outside");
        }
        assert!(tree.depth(DVec3::ZERO).unwrap() > 0.5);
    }

    #[test]
    fn the_tree_finds_what_a_search_of_all_finds() {
        let mut rng = Rng(11);
        let mut position = |size: f64| rng.point(size);
        let triangles: Vec<_> = (0..300)
            .map(|_| (position(1.0), [position(0.1), position(0.1), position(0.1)]))
            .collect();
        let triangles: Vec<[DVec3; 3]> =
            triangles.into_iter().map(|(at, corners)| corners.map(|corner| at + corner)).collect();
        let tree = TriangleTree::new(triangles.iter().copied());
        for _ in 0..500 {
            let point = position(1.5);
            let mut nearest = Nearest { square: f64::INFINITY, height: 0.0 };
            tree.triangles.iter().for_each(|triangle| nearest.consider(triangle, point));
            assert!((tree.depth(point).unwrap().abs() - nearest.square.sqrt()).abs() < 1e-12);
        }
    }

    #[test]
    fn without_area_there_is_no_side() {
        assert_eq!(TriangleTree::new([[DVec3::ONE; 3]]).depth(DVec3::ZERO), None);
        assert_eq!(octahedron().depth(DVec3::NAN), None);
    }
}
