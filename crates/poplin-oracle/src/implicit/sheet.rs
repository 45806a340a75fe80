//! Elements of grids and of triangle meshes.

use super::hinge::Hinge;
use super::law::{Element, Law};
use super::{FaceAngle, Isometric, PlaneProjection, Spring, StretchShear, Trispring};
use crate::vector::{cross, length, minus};
use std::collections::BTreeMap;

/// Diagonal that splits the cells of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Diagonals {
    /// Diagonal from the first corner of every cell.
    Forward,
    /// Diagonal between the other two corners.
    Backward,
    /// Both in turn, as on a chessboard.
    Alternating,
}

/// Grid of particles, row after row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GridSheet {
    /// Number of particles in a row.
    pub columns: usize,
    /// Number of rows.
    pub rows: usize,
    /// Distance between neighbours in a row and between rows \[m\].
    pub spacing: [f64; 2],
    /// Diagonal that splits the cells.
    pub diagonals: Diagonals,
}

impl GridSheet {
    /// Creates a square of 1 m with `side` particles along each edge.
    pub fn square(side: usize) -> Self {
        let spacing = [1.0 / (side - 1) as f64; 2];
        Self { columns: side, rows: side, spacing, diagonals: Diagonals::Alternating }
    }

    /// Number of particles.
    pub fn particle_count(&self) -> usize {
        self.columns * self.rows
    }

    /// Rest coordinates \[m\].
    pub fn coordinates(&self) -> Vec<[f64; 2]> {
        let at = |i: usize| {
            let (column, row) = (i % self.columns, i / self.columns);
            [column as f64 * self.spacing[0], row as f64 * self.spacing[1]]
        };
        (0..self.particle_count()).map(at).collect()
    }

    /// Positions in the plane of x and y \[m\].
    pub fn positions(&self) -> Vec<[f64; 3]> {
        self.coordinates().into_iter().map(|[u, v]| [u, v, 0.0]).collect()
    }

    /// Triangles, counterclockwise in the plane of coordinates.
    pub fn triangles(&self) -> Vec<[usize; 3]> {
        let mut triangles = Vec::new();
        for row in 0..self.rows - 1 {
            for column in 0..self.columns - 1 {
                let a = row * self.columns + column;
                let (b, c, d) = (a + 1, a + self.columns + 1, a + self.columns);
                let is_forward = match self.diagonals {
                    Diagonals::Forward => true,
                    Diagonals::Backward => false,
                    Diagonals::Alternating => (row + column) % 2 == 0,
                };
                if is_forward {
                    triangles.extend([[a, b, c], [a, c, d]]);
                } else {
                    triangles.extend([[a, b, d], [b, c, d]]);
                }
            }
        }
        triangles
    }

    /// Springs along both threads and both diagonals: `K width / L` along threads, with half a
    /// width at the border, and `G LD^2 / (2 dx dy)` along diagonals. Springs without stiffness are
    /// left out.
    pub fn springs(&self, stretch: [f64; 2], shear: f64, compression: f64) -> Vec<Element> {
        let [dx, dy] = self.spacing;
        let width = |index: usize, count: usize, spacing: f64| {
            if index == 0 || index == count - 1 { 0.5 * spacing } else { spacing }
        };
        let mut springs = Vec::new();
        let mut push = |a: usize, b: usize, stiffness: f64, rest_length: f64| {
            if stiffness > 0.0 {
                let law = Law::Spring(Spring { stiffness, rest_length, compression });
                springs.push(Element { particles: [a, b, b, b], law });
            }
        };
        for a in 0..self.particle_count() {
            let (column, row) = (a % self.columns, a / self.columns);
            let (has_right, has_next) = (column + 1 < self.columns, row + 1 < self.rows);
            if has_right {
                push(a, a + 1, stretch[0] * width(row, self.rows, dy) / dx, dx);
            }
            if has_next {
                let stiffness = stretch[1] * width(column, self.columns, dx) / dy;
                push(a, a + self.columns, stiffness, dy);
            }
            if has_right && has_next {
                let square = dx * dx + dy * dy;
                let stiffness = shear * square / (2.0 * dx * dy);
                push(a, a + self.columns + 1, stiffness, square.sqrt());
                push(a + 1, a + self.columns, stiffness, square.sqrt());
            }
        }
        springs
    }

    /// Two-ring springs: across every particle along both threads.
    pub fn bend_springs(&self, stiffness: f64) -> Vec<Element> {
        let mut springs = Vec::new();
        let mut push = |a: usize, b: usize, rest_length: f64| {
            let law = Law::Spring(Spring { stiffness, rest_length, compression: 1.0 });
            springs.push(Element { particles: [a, b, b, b], law });
        };
        for a in 0..self.particle_count() {
            if a % self.columns + 2 < self.columns {
                push(a, a + 2, 2.0 * self.spacing[0]);
            }
            if a / self.columns + 2 < self.rows {
                push(a, a + 2 * self.columns, 2.0 * self.spacing[1]);
            }
        }
        springs
    }

    /// Masses \[kg\] for a density [kg/m^2]: each cell divided among its four corners.
    pub fn masses(&self, density: f64) -> Vec<f64> {
        let quarter = 0.25 * density * self.spacing[0] * self.spacing[1];
        let cells =
            |index: usize, count: usize| (1 + usize::from(0 < index && index < count - 1)) as f64;
        (0..self.particle_count())
            .map(|i| {
                quarter * cells(i % self.columns, self.columns) * cells(i / self.columns, self.rows)
            })
            .collect()
    }

    /// Particles of each row, and of each column.
    pub fn fibers(&self) -> [Vec<Vec<usize>>; 2] {
        let at = |row: usize, column: usize| row * self.columns + column;
        [
            (0..self.rows)
                .map(|row| (0..self.columns).map(|column| at(row, column)).collect())
                .collect(),
            (0..self.columns)
                .map(|column| (0..self.rows).map(|row| at(row, column)).collect())
                .collect(),
        ]
    }
}

/// Masses \[kg\] for a density [kg/m^2]: each triangle divided among its corners.
pub fn triangle_masses(rest: &[[f64; 3]], triangles: &[[usize; 3]], density: f64) -> Vec<f64> {
    let mut masses = vec![0.0; rest.len()];
    for triangle in triangles {
        let [a, b, c] = triangle.map(|i| rest[i]);
        let third = density * length(cross(minus(b, a), minus(c, a))) / 6.0;
        triangle.iter().for_each(|&i| masses[i] += third);
    }
    masses
}

/// Creates a stretch/shear element for each triangle, with threads along the rest coordinates.
pub fn stretch_shear(
    coordinates: &[[f64; 2]],
    triangles: &[[usize; 3]],
    stretch: [f64; 2],
    shear: f64,
) -> Vec<Element> {
    of_triangles(coordinates, triangles, |corners| {
        Law::StretchShear(StretchShear::new(corners, stretch, shear))
    })
}

/// Creates a trispring for each triangle.
pub fn trisprings(
    rest: &[[f64; 3]],
    triangles: &[[usize; 3]],
    stretch: f64,
    poisson_ratio: f64,
) -> Vec<Element> {
    of_triangles(rest, triangles, |corners| {
        Law::Trispring(Trispring::new(corners, stretch, poisson_ratio))
    })
}

/// Creates an element for each triangle from its corners at rest.
fn of_triangles<P: Copy>(
    rest: &[P],
    triangles: &[[usize; 3]],
    law: impl Fn([P; 3]) -> Law,
) -> Vec<Element> {
    let element = |&[a, b, c]: &[usize; 3]| Element {
        particles: [a, b, c, c],
        law: law([a, b, c].map(|i| rest[i])),
    };
    triangles.iter().map(element).collect()
}

/// Bending energy of two triangles that is calibrated in N m.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BendModel {
    /// [`FaceAngle`].
    FaceAngle,
    /// [`PlaneProjection`].
    PlaneProjection,
    /// [`Isometric`].
    Isometric,
}

impl BendModel {
    /// All bend models.
    pub const ALL: [Self; 3] = [Self::FaceAngle, Self::PlaneProjection, Self::Isometric];
}

/// Creates a bend at each edge of two triangles for a bending rigidity \[N m\]; flat at rest.
///
/// `k = B |e| / H` with H the mean height of the triangles over the edge: the energy of a cylinder
/// whose axis is along edges is `B kappa^2 / 2`.
pub fn bends(
    rest: &[[f64; 3]],
    triangles: &[[usize; 3]],
    rigidity: f64,
    model: BendModel,
) -> Vec<Element> {
    let mut open: BTreeMap<[usize; 2], usize> = BTreeMap::new();
    let mut bends = Vec::new();
    for triangle in triangles {
        for k in 0..3 {
            let [a, b, c] = [0, 1, 2].map(|i| triangle[(k + i) % 3]);
            let Some(d) = open.remove(&[b, a]) else {
                open.insert([a, b], c);
                continue;
            };
            let particles = [a, b, c, d];
            let x = particles.map(|i| rest[i]);
            let Some(hinge) = Hinge::new(x) else { continue };
            let [h2, h3] = hinge.heights();
            let stiffness = rigidity * length(minus(x[1], x[0])) / (0.5 * (h2 + h3));
            let law = match model {
                BendModel::FaceAngle => {
                    Some(Law::FaceAngle(FaceAngle { stiffness, rest_angle: 0.0 }))
                }
                BendModel::PlaneProjection => {
                    PlaneProjection::new(x, stiffness, 0.0).map(Law::PlaneProjection)
                }
                BendModel::Isometric => Isometric::new(x, stiffness).map(Law::Isometric),
            };
            bends.extend(law.map(|law| Element { particles, law }));
        }
    }
    bends
}
