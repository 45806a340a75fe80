//! Yarns: evenly spaced lines along warp, weft and both diagonals, across the triangles.

use std::collections::{HashMap, VecDeque};
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_4};

use glam::{DVec2, DVec3};
use poplin_model::{Fabric, FirstFitSets, PhaseKind, Yarn, YarnPoint};

/// Distance of neighbour yarns over the side of an equilateral triangle of the mean area: two or
/// three yarns of each course cross a triangle.
const SPACING: f64 = 0.4;

/// Smallest distance of the points of a yarn over that side.
const POINT_DISTANCE: f64 = 0.25;

/// A yarn begins only beyond this distance from others in its first triangle, over the spacing.
const FREE_DISTANCE: f64 = 0.7;

/// A yarn ends where it comes closer than this to another, over the spacing.
const MIN_DISTANCE: f64 = 0.5;

/// Distance of a point from the ends of its edge, as a fraction of the edge: a yarn passes beside
/// vertices.
const MIN_WEIGHT: f64 = 0.02;

/// Factor on the shares that guarantees stability of one yarn, a margin for several in turn.
const SHARE_MARGIN: f64 = 1.6;

/// Largest turn of a yarn from one triangle to the next, measured in the surface \[rad\].
const MAX_TURN: f64 = FRAC_PI_4;

/// Triangle without neighbour.
const NONE: u32 = u32::MAX;

/// Courses in the coordinates (u, v) of triangles, u along the weft, in the order of solving.
const COURSES: [(PhaseKind, DVec2); 4] = [
    (PhaseKind::Shearing, DVec2::new(FRAC_1_SQRT_2, FRAC_1_SQRT_2)),
    (PhaseKind::Shearing, DVec2::new(FRAC_1_SQRT_2, -FRAC_1_SQRT_2)),
    (PhaseKind::Horizontal, DVec2::X),
    (PhaseKind::Vertical, DVec2::Y),
];

/// Crossing of an edge: its ends and the position between them.
type Crossing = ([u32; 2], f64);

/// Triangles in their own plane coordinates.
struct Net<'a> {
    triangles: &'a [[u32; 3]],
    /// Corners of each triangle in (u, v); `None` without area.
    corners: Vec<Option<[DVec2; 3]>>,
    /// Neighbour across each side, from corner k to corner k + 1.
    neighbours: Vec<[u32; 3]>,
}

/// A point that moves across triangles.
#[derive(Clone, Copy)]
struct Walker {
    triangle: u32,
    /// Side through which it came, if any.
    entered: Option<usize>,
    point: DVec2,
    /// Direction over the axis of its course: 1 or -1.
    sign: f64,
}

/// Point at which a walker leaves its triangle.
struct Exit {
    side: usize,
    weight: f64,
    point: DVec2,
}

impl<'a> Net<'a> {
    fn new(triangles: &'a [[u32; 3]], shapes: &[[f32; 4]]) -> Self {
        let corners = shapes.iter().map(|shape| {
            let [u1, v1, u2, v2] = shape.map(f64::from);
            (u1 * v2 - u2 * v1 > 0.0).then(|| [DVec2::ZERO, DVec2::new(u1, v1), DVec2::new(u2, v2)])
        });
        let mut sides: HashMap<[u32; 2], Vec<(u32, usize)>> = HashMap::new();
        for (triangle, &[a, b, c]) in (0..).zip(triangles) {
            for (side, [a, b]) in [[a, b], [b, c], [c, a]].into_iter().enumerate() {
                sides.entry([a.min(b), a.max(b)]).or_default().push((triangle, side));
            }
        }
        let mut neighbours = vec![[NONE; 3]; triangles.len()];
        // An edge of three or more triangles is a border.
        for pair in sides.values() {
            if let &[(first, side), (second, other)] = &pair[..] {
                neighbours[first as usize][side] = second;
                neighbours[second as usize][other] = first;
            }
        }
        Self { triangles, corners: corners.collect(), neighbours }
    }

    /// Mean area of the triangles [m^2].
    fn mean_area(&self) -> f64 {
        let areas = self.corners.iter().flatten().map(|[_, b, c]| 0.5 * b.perp_dot(*c));
        areas.sum::<f64>() / self.triangles.len().max(1) as f64
    }

    /// Follows a walker to the border of its triangle.
    fn exit(&self, walker: Walker, axis: DVec2) -> Option<Exit> {
        let corners = self.corners[walker.triangle as usize]?;
        // Positive on the left of the course.
        let left = corners.map(|corner| (axis * walker.sign).perp_dot(corner - walker.point));
        let side = match walker.entered {
            Some(side) if left[(side + 2) % 3] >= 0.0 => (side + 1) % 3,
            Some(side) => (side + 2) % 3,
            None => (0..3).find(|&side| left[side] <= 0.0 && left[(side + 1) % 3] >= 0.0)?,
        };
        let [a, b] = [left[side], left[(side + 1) % 3]];
        let weight = if a < b { (-a / (b - a)).clamp(MIN_WEIGHT, 1.0 - MIN_WEIGHT) } else { 0.5 };
        let point = corners[side].lerp(corners[(side + 1) % 3], weight);
        Some(Exit { side, weight, point })
    }

    /// Ends of a side of a triangle.
    fn ends(&self, triangle: u32, side: usize) -> [u32; 2] {
        let corners = self.triangles[triangle as usize];
        [corners[side], corners[(side + 1) % 3]]
    }

    /// Moves a walker into the next triangle; `None` at a border or where the course turns.
    fn enter(&self, walker: Walker, exit: &Exit, axis: DVec2) -> Option<Walker> {
        let triangle = self.neighbours[walker.triangle as usize][exit.side];
        let from = self.corners[walker.triangle as usize]?;
        let to = self.corners.get(triangle as usize).copied().flatten()?;
        let [a, b] = self.ends(walker.triangle, exit.side);
        let entered = (0..3).find(|&side| {
            let [c, d] = self.ends(triangle, side);
            [c, d] == [a, b] || [d, c] == [a, b]
        })?;
        let is_same = self.ends(triangle, entered) == [a, b];
        let (start, end) = (to[entered], to[(entered + 1) % 3]);
        let weight = if is_same { exit.weight } else { 1.0 - exit.weight };
        // Into the triangle, which lies on the left of its sides.
        let sign = if (end - start).perp_dot(axis) >= 0.0 { 1.0 } else { -1.0 };
        // Angle between the edge, from a to b, and the course, in either triangle.
        let before = (from[(exit.side + 1) % 3] - from[exit.side]).angle_to(axis * walker.sign);
        let edge = if is_same { end - start } else { start - end };
        let after = edge.angle_to(axis * sign);
        let turn = (before.abs() - after.abs()).abs();
        let point = start.lerp(end, weight);
        (turn <= MAX_TURN).then_some(Walker { triangle, entered: Some(entered), point, sign })
    }
}

/// Yarns of one course.
struct Course<'a> {
    net: &'a Net<'a>,
    axis: DVec2,
    spacing: f64,
    /// Offsets of the yarns in each triangle, across their course.
    offsets: Vec<Vec<f64>>,
    /// Middles of yarns in triangles beside which others may run, and the side: 1 or -1.
    open: VecDeque<(Walker, f64)>,
    lines: Vec<Vec<Crossing>>,
}

impl Course<'_> {
    /// Draws lines over all triangles, each at the spacing beside an earlier one if possible.
    fn draw(&mut self) {
        for triangle in 0..self.net.triangles.len() as u32 {
            let around = self.net.neighbours[triangle as usize].into_iter().chain([triangle]);
            let mut around = around.filter(|&triangle| triangle != NONE);
            let is_bare = around.all(|triangle| self.offsets[triangle as usize].is_empty());
            let Some(corners) = self.net.corners[triangle as usize].filter(|_| is_bare) else {
                continue;
            };
            let point = (corners[0] + corners[1] + corners[2]) / 3.0;
            self.draw_line(Walker { triangle, entered: None, point, sign: 1.0 });
            while let Some((walker, side)) = self.open.pop_front() {
                if let Some(beside) = self.beside(walker, side)
                    && self.is_free(beside, FREE_DISTANCE)
                {
                    self.draw_line(beside);
                }
            }
        }
    }

    /// Walks by the spacing across the course, or a little less to the border.
    fn beside(&self, walker: Walker, side: f64) -> Option<Walker> {
        let across = self.axis.perp();
        let mut walker = Walker { sign: side, ..walker };
        let mut left = self.spacing;
        loop {
            let exit = self.net.exit(walker, across)?;
            let distance = exit.point.distance(walker.point);
            if distance >= left {
                walker.point = walker.point.lerp(exit.point, left / distance);
                return Some(Walker { entered: None, ..walker });
            }
            left -= distance;
            walker = match self.net.enter(walker, &exit, across) {
                Some(next) => next,
                // A line along the border, if that is nearly as far.
                None if left <= (1.0 - FREE_DISTANCE) * self.spacing => {
                    let point = walker.point.lerp(exit.point, 0.9);
                    return Some(Walker { entered: None, point, ..walker });
                }
                None => return None,
            };
        }
    }

    /// Tests whether no line in the triangle is nearer than a fraction of the spacing.
    fn is_free(&self, walker: Walker, fraction: f64) -> bool {
        let offset = self.axis.perp_dot(walker.point);
        let others = &self.offsets[walker.triangle as usize];
        others.iter().all(|other| (offset - other).abs() >= fraction * self.spacing)
    }

    /// Draws a line in both directions from a point.
    fn draw_line(&mut self, start: Walker) {
        let forward = self.follow(start, true);
        let mut line = self.follow(Walker { sign: -start.sign, ..start }, false);
        line.reverse();
        line.extend(forward);
        if line.len() > 1 {
            self.lines.push(line);
        }
    }

    /// Follows the course to its end; the first triangle is only counted if `is_first`.
    fn follow(&mut self, mut walker: Walker, mut is_counted: bool) -> Vec<Crossing> {
        let mut line = Vec::new();
        while let Some(exit) = self.net.exit(walker, self.axis) {
            if is_counted {
                let middle = walker.point.midpoint(exit.point);
                self.offsets[walker.triangle as usize].push(self.axis.perp_dot(middle));
                let middle = Walker { entered: None, point: middle, ..walker };
                self.open.extend([(middle, 1.0), (middle, -1.0)]);
            }
            is_counted = true;
            line.push((self.net.ends(walker.triangle, exit.side), exit.weight));
            match self.net.enter(walker, &exit, self.axis) {
                Some(next) if self.is_free(next, MIN_DISTANCE) => walker = next,
                _ => break,
            }
        }
        line
    }
}

/// Replaces the yarns of a fabric with triangle shapes by new ones over all its triangles.
///
/// A yarn keeps its course, in the plane of each triangle, from border to border, and passes from a
/// triangle to the next where it leaves it; it is straight on flat cloth. Neighbours are
/// [`SPACING`] apart. All yarns of a course represent the same breadth, the area of the cloth over
/// their total length, so that a uniform strain is a uniform tension. Yarns of pinned particles
/// alone are skipped.
pub(crate) fn weave(fabric: &mut Fabric, positions: &[DVec3], inverse_masses: &[f32]) {
    let net = Net::new(&fabric.triangles, &fabric.triangle_shapes);
    let side = (4.0 / 3f64.sqrt() * net.mean_area()).sqrt();
    let area = net.mean_area() * fabric.triangles.len() as f64;
    let (mut yarns, mut points, mut set_ends) = (Vec::new(), Vec::new(), Vec::new());
    for (kind, axis) in COURSES {
        let offsets = vec![Vec::new(); fabric.triangles.len()];
        let (spacing, open, lines) = (SPACING * side, VecDeque::new(), Vec::new());
        let mut course = Course { net: &net, axis, spacing, offsets, open, lines };
        course.draw();
        let is_free = |end: u32| inverse_masses[end as usize] > 0.0;
        let mut strands: Vec<_> = course
            .lines
            .iter()
            .filter(|line| line.iter().any(|(ends, _)| ends.iter().any(|&end| is_free(end))))
            .filter_map(|line| strand(line, positions, POINT_DISTANCE * side))
            .collect();
        let length: f64 = strands.iter().flatten().map(|point| f64::from(point.rest_length)).sum();
        let sets = FirstFitSets::group(positions.len(), 0..strands.len(), |&index| {
            let particles = strands[index].iter().flat_map(|point| point.particles);
            particles.filter(|&end| is_free(end))
        });
        for set in sets {
            for index in set {
                points.append(&mut strands[index]);
                let breadth = (area / length) as f32;
                yarns.push(Yarn { kind, point_end: points.len() as u32, breadth });
            }
            set_ends.push(yarns.len() as u32);
        }
    }
    (fabric.yarns, fabric.yarn_points, fabric.yarn_set_ends) = (yarns, points, set_ends);
}

/// Points of a line at least `distance` apart; `None` if it is shorter.
fn strand(line: &[Crossing], positions: &[DVec3], distance: f64) -> Option<Vec<YarnPoint>> {
    let place =
        |&([a, b], weight): &Crossing| positions[a as usize].lerp(positions[b as usize], weight);
    let last = line.last()?;
    let mut kept: Vec<&Crossing> = vec![line.first()?];
    for crossing in &line[1..] {
        if place(kept[kept.len() - 1]).distance(place(crossing)) >= distance {
            kept.push(crossing);
        }
    }
    // The end of the line takes the place of its last point.
    if kept.len() > 1 {
        kept.pop();
    }
    kept.push(last);
    if place(kept[0]).distance(place(last)) < distance && kept.len() == 2 {
        return None;
    }
    // Sum of the weights of each particle in all points.
    let mut sums: HashMap<u32, f64> = HashMap::new();
    for &&([a, b], weight) in &kept {
        *sums.entry(a).or_default() += 1.0 - weight;
        *sums.entry(b).or_default() += weight;
    }
    let lengths = kept.windows(2).map(|pair| place(pair[0]).distance(place(pair[1])));
    let points = kept.iter().zip(lengths.chain([0.0])).map(|(&&([a, b], weight), length)| {
        let shares = [(a, 1.0 - weight), (b, weight)]
            .map(|(end, weight)| (SHARE_MARGIN * weight * sums[&end]) as f32);
        let (weight, rest_length) = (weight as f32, length as f32);
        YarnPoint { particles: [a, b], weight, shares, rest_length }
    });
    Some(points.collect())
}
