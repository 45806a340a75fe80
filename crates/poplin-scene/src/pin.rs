//! Rules that select vertices, for example to pin them.

use std::fmt;
use std::str::FromStr;

use poplin_model::Mesh;
use schemars::JsonSchema;
use serde::Deserialize;

use super::PinError;
use poplin_io::MeshFile;

/// Tolerance of boundaries as a fraction of the mesh's extent, for rounding in mesh files.
const BOUNDARY_TOLERANCE: f32 = 1e-5;

/// Side of the mesh's bounding box.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Largest y.
    #[default]
    Top,
    /// Smallest y.
    Bottom,
    /// Smallest x.
    Left,
    /// Largest x.
    Right,
    /// Largest z.
    Front,
    /// Smallest z.
    Back,
}

/// Two sides that meet: `top` or `bottom` (upright) or `front` or `back` (lying), with `left` or
/// `right`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Corner {
    /// Top, bottom, front or back.
    pub row: Side,
    /// Left or right.
    pub column: Side,
}

/// Selection of vertices of a mesh, before it is transformed. Its text form is that of scene files
/// and of the command line.
#[derive(Debug, Clone, PartialEq)]
pub enum PinRule {
    /// `top:3%`: vertices within this part of the bounding box from a side, in percent, `0..=100`.
    /// The sign may be left out.
    Side(Side, f32),
    /// `corner:top-left`: the vertex nearest to a corner of the bounding box seen from the front
    /// (or from above).
    Corner(Corner),
    /// `box:x0,y0,z0,x1,y1,z1`: vertices inside a box \[m\].
    Box([f64; 3], [f64; 3]),
    /// `indices:0,5,7-12`: ranges of vertex indices from 0, first and last.
    Indices(Vec<[u32; 2]>),
    /// `all`: every vertex.
    All,
    /// `none`: no vertex.
    None,
}

impl Side {
    const ALL: [(Self, &str); 6] = [
        (Self::Top, "top"),
        (Self::Bottom, "bottom"),
        (Self::Left, "left"),
        (Self::Right, "right"),
        (Self::Front, "front"),
        (Self::Back, "back"),
    ];

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, name)| *name == text).map(|(side, _)| side)
    }

    fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(side, _)| *side == self).map_or("", |(_, name)| name)
    }

    /// Axis of the side, and true if the side is the upper end of that axis.
    fn axis(self) -> (usize, bool) {
        match self {
            Self::Left => (0, false),
            Self::Right => (0, true),
            Self::Bottom => (1, false),
            Self::Top => (1, true),
            Self::Back => (2, false),
            Self::Front => (2, true),
        }
    }

    /// Distance of each of `vertices` from this side of their bounding box, as a fraction of the
    /// box.
    pub(super) fn fractions(self, vertices: &[u32], positions: &[[f32; 3]]) -> Vec<(u32, f32)> {
        let picked: Vec<_> = vertices.iter().map(|&vertex| positions[vertex as usize]).collect();
        let bounds = bounds(&picked);
        let fraction = |&vertex: &u32| (vertex, self.fraction(positions[vertex as usize], bounds));
        vertices.iter().map(fraction).collect()
    }

    /// Distance of a position from this side, as a fraction of the box; 0 if the box is flat.
    fn fraction(self, position: [f32; 3], [low, high]: [[f32; 3]; 2]) -> f32 {
        let (axis, is_upper) = self.axis();
        let extent = high[axis] - low[axis];
        let distance =
            if is_upper { high[axis] - position[axis] } else { position[axis] - low[axis] };
        if extent > 0.0 { distance / extent } else { 0.0 }
    }
}

impl PinRule {
    /// Selects vertices by their positions \[m\], shape `[vertex_count]`; returns rising indices.
    ///
    /// # Errors
    /// [`PinError::SelectsNothing`] if there are none (except for `none`),
    /// [`PinError::IndexOutOfRange`] for an index past the end.
    pub fn select(&self, positions: &[[f32; 3]]) -> Result<Vec<u32>, PinError> {
        self.select_near(positions, [0.0; 3])
    }

    /// Selects vertices by positions relative to `origin` \[m\].
    fn select_near(&self, positions: &[[f32; 3]], origin: [f64; 3]) -> Result<Vec<u32>, PinError> {
        let bounds = bounds(positions);
        let filter = |keep: &dyn Fn([f32; 3]) -> bool| -> Vec<u32> {
            (0..)
                .zip(positions)
                .filter(|(_, position)| keep(**position))
                .map(|(index, _)| index)
                .collect()
        };
        let selected = match self {
            Self::Side(side, percent) => {
                // At 0 % the tolerance still selects the boundary itself.
                let limit = percent / 100.0 + BOUNDARY_TOLERANCE;
                filter(&|position| side.fraction(position, bounds) <= limit)
            }
            Self::Corner(Corner { row, column }) => {
                let distance = |position| {
                    // Distance in fractions of the box, so that wide meshes have the same corners.
                    row.fraction(position, bounds).hypot(column.fraction(position, bounds))
                };
                let nearest = (0..)
                    .zip(positions)
                    .min_by(|(_, a), (_, b)| distance(**a).total_cmp(&distance(**b)));
                nearest.map(|(index, _)| index).into_iter().collect()
            }
            Self::Box(low, high) => {
                let [low, high] =
                    // Subtracted in double precision: f32 has no digits for a box far from the
                    // origin.
                    [low, high].map(|corner| [0, 1, 2].map(|k| (corner[k] - origin[k]) as f32));
                filter(&|position| {
                    (0..3).all(|axis| position[axis] >= low[axis] && position[axis] <= high[axis])
                })
            }
            Self::Indices(ranges) => self.select_indices(ranges, positions.len())?,
            Self::All => filter(&|_| true),
            Self::None => return Ok(Vec::new()),
        };
        if selected.is_empty() {
            let [low, high] = if positions.is_empty() { [[0.0; 3]; 2] } else { bounds };
            let [low, high] = [low, high]
                .map(|corner| [0, 1, 2].map(|k| (f64::from(corner[k]) + origin[k]) as f32));
            return Err(PinError::SelectsNothing {
                rule: self.to_string(),
                vertex_count: positions.len(),
                low,
                high,
            });
        }
        Ok(selected)
    }

    /// Selects vertices of a mesh; returns rising indices. Vertices without a face do not count for
    /// the mesh's extent, and only `indices` and `all` select them.
    ///
    /// # Errors
    /// Same as [`PinRule::select`].
    pub fn select_in(&self, mesh: &Mesh) -> Result<Vec<u32>, PinError> {
        self.select_in_near(mesh, [0.0; 3])
    }

    /// Selects vertices of a mesh from a file, which may be far from the origin.
    ///
    /// # Errors
    /// Same as [`PinRule::select`].
    pub fn select_in_file(&self, file: &MeshFile) -> Result<Vec<u32>, PinError> {
        self.select_in_near(&file.mesh, file.origin)
    }

    fn select_in_near(&self, mesh: &Mesh, origin: [f64; 3]) -> Result<Vec<u32>, PinError> {
        // NaN positions fail all comparisons, so vertices without a face are in no box or side.
        let mut positions = vec![[f32::NAN; 3]; mesh.positions.len()];
        for &corner in mesh.quads.as_flattened().iter().chain(mesh.triangles.as_flattened()) {
            positions[corner as usize] = mesh.positions[corner as usize];
        }
        self.select_near(&positions, origin)
    }

    fn select_indices(
        &self,
        ranges: &[[u32; 2]],
        vertex_count: usize,
    ) -> Result<Vec<u32>, PinError> {
        // Checked before anything is collected: a range may name four billion vertices.
        for &[first, last] in ranges {
            let index = first.max(last);
            if index as usize >= vertex_count {
                return Err(PinError::IndexOutOfRange {
                    rule: self.to_string(),
                    index,
                    vertex_count,
                });
            }
        }
        let mut is_selected = vec![false; vertex_count];
        ranges
            .iter()
            .for_each(|&[first, last]| is_selected[first as usize..=last as usize].fill(true));
        Ok((0..)
            .zip(is_selected)
            .filter(|(_, is_selected)| *is_selected)
            .map(|(index, _)| index)
            .collect())
    }
}

fn bounds(positions: &[[f32; 3]]) -> [[f32; 3]; 2] {
    positions.iter().fold([[f32::INFINITY; 3], [f32::NEG_INFINITY; 3]], |[low, high], position| {
        [
            [0, 1, 2].map(|axis| low[axis].min(position[axis])),
            [0, 1, 2].map(|axis| high[axis].max(position[axis])),
        ]
    })
}

impl FromStr for PinRule {
    type Err = PinError;

    fn from_str(text: &str) -> Result<Self, PinError> {
        let fault = |reason| PinError::Parse { text: text.to_owned(), reason };
        let (kind, rest) = match text.trim().split_once(':') {
            Some((kind, rest)) => (kind.trim(), rest.trim()),
            None => (text.trim(), ""),
        };
        match kind {
            "all" if rest.is_empty() => Ok(Self::All),
            "none" if rest.is_empty() => Ok(Self::None),
            "box" => parse_box(rest).map_err(fault),
            "indices" => parse_indices(rest).map_err(fault),
            "corner" => parse_corner(rest).map_err(fault),
            _ => match Side::parse(kind) {
                Some(side) => {
                    parse_percent(rest).map(|percent| Self::Side(side, percent)).map_err(fault)
                }
                None => Err(fault("no such rule")),
            },
        }
    }
}

fn parse_percent(text: &str) -> Result<f32, &'static str> {
    let percentage: f32 = text
        .strip_suffix('%')
        .unwrap_or(text)
        .trim()
        .parse()
        .map_err(|_| "a side needs a percentage")?;
    if (0.0..=100.0).contains(&percentage) {
        Ok(percentage)
    } else {
        Err("the percentage must lie in 0..=100")
    }
}

fn parse_box(text: &str) -> Result<PinRule, &'static str> {
    let mut numbers = [0.0_f64; 6];
    let mut words = text.split(',');
    for number in &mut numbers {
        let word = words.next().ok_or("a box needs six numbers")?;
        *number = word.trim().parse().map_err(|_| "a box needs six numbers")?;
    }
    if words.next().is_some() {
        return Err("a box needs six numbers");
    }
    if numbers.iter().any(|number| !number.is_finite()) {
        return Err("the coordinates of a box must be finite");
    }
    let [x0, y0, z0, x1, y1, z1] = numbers;
    if x0 > x1 || y0 > y1 || z0 > z1 {
        return Err("the first corner of a box must be below the second on every axis");
    }
    Ok(PinRule::Box([x0, y0, z0], [x1, y1, z1]))
}

fn parse_indices(text: &str) -> Result<PinRule, &'static str> {
    let index = |word: &str| {
        word.trim()
            .parse::<u32>()
            .map_err(|_| "indices are whole numbers from 0, or ranges like 7-12")
    };
    let range = |word: &str| {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        let range = [index(first)?, index(last)?];
        if range[0] <= range[1] { Ok(range) } else { Err("a range of indices must rise") }
    };
    text.split(',').map(range).collect::<Result<_, _>>().map(PinRule::Indices)
}

fn parse_corner(text: &str) -> Result<PinRule, &'static str> {
    let reason = "a corner is top, bottom, front or back, then left or right, like `top-left`";
    let (row, column) = text.split_once('-').ok_or(reason)?;
    match (Side::parse(row.trim()), Side::parse(column.trim())) {
        // The first side is on the y or z axis, the second on x.
        (Some(row), Some(column)) if row.axis().0 != 0 && column.axis().0 == 0 => {
            Ok(PinRule::Corner(Corner { row, column }))
        }
        _ => Err(reason),
    }
}

impl fmt::Display for PinRule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Side(side, percent) => write!(out, "{}:{percent}%", side.name()),
            Self::Corner(Corner { row, column }) => {
                write!(out, "corner:{}-{}", row.name(), column.name())
            }
            Self::Box([x0, y0, z0], [x1, y1, z1]) => {
                write!(out, "box:{x0},{y0},{z0},{x1},{y1},{z1}")
            }
            Self::Indices(ranges) => {
                out.write_str("indices:")?;
                for (position, [first, last]) in ranges.iter().enumerate() {
                    let separator = if position == 0 { "" } else { "," };
                    if first == last {
                        write!(out, "{separator}{first}")?
                    } else {
                        write!(out, "{separator}{first}-{last}")?
                    }
                }
                Ok(())
            }
            Self::All => out.write_str("all"),
            Self::None => out.write_str("none"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hanging grid of 5 x 3 vertices, 4 m x 2 m.
    fn positions() -> Vec<[f32; 3]> {
        (0..15).map(|index| [(index % 5) as f32, 0.0 - (index / 5) as f32, 0.0]).collect()
    }

    fn select(rule: &str) -> Result<Vec<u32>, PinError> {
        rule.parse::<PinRule>()?.select(&positions())
    }

    #[test]
    fn every_form_selects_its_vertices() {
        let cases: [(&str, &[u32]); 14] = [
            ("top:0%", &[0, 1, 2, 3, 4]),
            ("top:3", &[0, 1, 2, 3, 4]),
            ("bottom:1%", &[10, 11, 12, 13, 14]),
            ("left:25%", &[0, 1, 5, 6, 10, 11]),
            ("right:1%", &[4, 9, 14]),
            ("corner:top-left", &[0]),
            ("corner:top-right", &[4]),
            ("corner:bottom-left", &[10]),
            ("corner:bottom-right", &[14]),
            ("box:0.5,-1,-1,2.5,0,1", &[1, 2, 6, 7]),
            ("indices:14,0,2-4,3", &[0, 2, 3, 4, 14]),
            (" indices: 1 , 2 - 3 ", &[1, 2, 3]),
            ("none", &[]),
            ("front:1%", &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]),
        ];
        for (rule, expected) in cases {
            assert_eq!(select(rule).unwrap(), expected, "{rule}");
        }
        assert_eq!(select("all").unwrap().len(), 15);
    }

    #[test]
    fn corners_of_a_flat_sheet_are_named_front_and_back() {
        let lying: Vec<[f32; 3]> = positions().iter().map(|p| [p[0], 0.0, -p[1]]).collect();
        let select = |rule: &str| rule.parse::<PinRule>().unwrap().select(&lying).unwrap();
        assert_eq!([select("corner:back-left"), select("corner:front-right")], [[0], [14]]);
    }

    #[test]
    fn malformed_rules_are_rejected_with_the_accepted_forms() {
        let refused = [
            "",
            "top",
            "top:",
            "top:NaN%",
            "top:-1%",
            "top:101",
            "top:inf",
            "middle:3%",
            "box:1,2,3",
            "box:0,0,0,1,1,1,1",
            "box:0,0,0,1,nan,1",
            "box:1,0,0,0,1,1",
            "indices:",
            "indices:1,,2",
            "indices:-1",
            "indices:5-2",
            "indices:99999999999",
            "corner:left",
            "corner:left-top",
            "all:1",
            "none:x",
            "corner:top-front",
        ];
        for text in refused {
            let error = text.parse::<PinRule>().expect_err(text);
            assert!(error.to_string().contains("accepted are `top:3%`"), "{error}");
        }
    }

    #[test]
    fn an_empty_selection_reports_the_extent_of_the_mesh() {
        let error = select("box:8,8,8,9,9,9").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the pin rule `box:8,8,8,9,9,9` selects none of the 15 vertices, which lie in [0.0, -2.0, 0.0] to [4.0, 0.0, 0.0] m"
        );
        assert!(matches!(
            PinRule::All.select(&[]),
            Err(PinError::SelectsNothing { vertex_count: 0, .. })
        ));
    }

    #[test]
    fn an_index_past_the_end_reports_the_vertex_count() {
        assert_eq!(
            select("indices:3,7-4294967295").unwrap_err().to_string(),
            "the pin rule `indices:3,7-4294967295` names vertex 4294967295, but there are only 15 (0 to 14)"
        );
    }

    #[test]
    fn rules_round_trip_through_text() {
        for text in [
            "top:3%",
            "left:0.5%",
            "corner:back-right",
            "box:-1,0,0.5,1,2,3",
            "indices:0,5,7-12",
            "all",
            "none",
        ] {
            assert_eq!(text.parse::<PinRule>().unwrap().to_string(), text);
        }
    }
}
