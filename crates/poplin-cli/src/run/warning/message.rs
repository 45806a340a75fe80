//! Texts of the warnings: the problem, its position and limit, and a remedy.

use std::fmt;

use poplin_measure::depth::Depth;
use poplin_model::{ContactMode, ContactPartner, Trouble};

use super::Warning;
use super::motion::MAX_SPEED;
use super::stretch::{MAX_STRETCH, Overstretch};
use crate::output::{counted, grouped, short_length};

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StartsInside { cloth, depth, depenetration_speed_m_per_s: speed } => {
                let Depth { free_particles, particles_inside, deepest_m } = depth;
                let inside = grouped(*particles_inside);
                let all = counted(*free_particles, "free particle");
                let exit = match speed {
                    Some(speed) => format!(
                        "contact pushes them out at {speed} m/s (`contact.depenetration_speed`), some \
                         possibly on the wrong side"
                    ),
                    None => {
                        "triangle contact pushes them out through the nearest face, some possibly \
                             on the wrong side or not at all"
                            .into()
                    }
                };
                write!(
                    f,
                    "cloth `{cloth}` starts inside a collider: {inside} of {all}, up to {:.1} mm deep; \
                     {exit}; move the cloth or the collider",
                    1e3 * deepest_m
                )
            }
            Self::Overstretched { cloth, stretch } => {
                let Overstretch { first_frame, edges_at_end, most_edges, frame, copy, .. } =
                    stretch;
                let [a, b] = stretch.particles;
                let [x, y, z] = stretch.position_m;
                let copy = if *copy > 0 { format!(" of copy {copy}") } else { String::new() };
                write!(
                    f,
                    "cloth `{cloth}` is stretched beyond what cloth survives, from frame {first_frame}: \
                     up to {} longer by more than {:.0} % ({} at the end), the longest by {:.0} % in frame \
                     {frame}, between particles {a} and {b}{copy} near ({x:.3}, {y:.3}, {z:.3}) m; check \
                     for a collider that it starts inside or is caught behind and for pins that pull it \
                     apart, or raise the frequency",
                    counted(*most_edges, "edge"),
                    100.0 * MAX_STRETCH,
                    grouped(*edges_at_end),
                    100.0 * stretch.longest_strain,
                )
            }
            Self::Stretchy { cloth, p99_strain, frequency_hz } => write!(
                f,
                "cloth `{cloth}` is as stretchy as a knit: 99 % of its edges are within {:.1} % at the end; \
                 raise the iterations per second above {:.0} (--solver-frequency, or --substeps with xpbd \
                 and implicit)",
                100.0 * p99_strain,
                frequency_hz
            ),
            Self::IdlePoints { cloth } => write!(
                f,
                "the virtual particles of cloth `{cloth}` have no effect: they collide only with spheres \
                 and capsules, and it has none; where edges of boxes and meshes show through, use finer \
                 cloth, or capsules as rounded edges"
            ),
            Self::Squashed { cloth, p99_strain, shortest_strain } => write!(
                f,
                "cloth `{cloth}` is compressed: 99 % of its edges are within {:.0} % at the end, the \
                 shortest by {:.0} %; check for pins, tethers or colliders that leave it no room",
                100.0 * p99_strain,
                100.0 * shortest_strain
            ),
            Self::IdleWind { cloth } => write!(
                f,
                "wind has no effect on cloth `{cloth}`: `drag` and `lift` in `air` are 0; set one of them"
            ),
            Self::IdleMaterial { cloth, material } => write!(
                f,
                "cloth `{cloth}` uses only density, friction and thickness of {material}: for its stretch \
                 and bending, use the solver xpbd or implicit"
            ),
            Self::IdleContact => write!(
                f,
                "triangle contact has no effect: no cloth has a `thickness` (--thickness), so only \
                 particles collide with colliders; set one"
            ),
            Self::BodyAmongTriangles { collider, bodies } => write!(
                f,
                "{} only with particles of cloth, at half its thickness: parts between particles may pass \
                 through, and their crossings are not counted; use finer cloth if a body is thin or sharp, \
                 more iterations if it is fast",
                match bodies {
                    1 => format!("collider `{collider}`, a rigid body, collides"),
                    bodies =>
                        format!("{bodies} rigid bodies, the first collider `{collider}`, collide"),
                }
            ),
            Self::AllPinned { cloth, particles } => write!(
                f,
                "all {} of cloth `{cloth}` are pinned: it moves only with its pins; if a pin rule should \
                 select an edge, check along which axis the mesh extends",
                counted(*particles, "particle")
            ),
            Self::OddSize { cloth, size_m } => write!(
                f,
                "cloth `{cloth}` is {} across; if its file is not in metres, set `transform.scale` \
                 (--scale): 0.001 for millimetres",
                short_length(*size_m)
            ),
            Self::Thick { cloth, contact, thickness_m, mean_edge_m } => write!(
                f,
                "cloth `{cloth}` is {} thick, with a mean edge of {}: {}",
                short_length(*thickness_m),
                short_length(*mean_edge_m),
                match contact {
                    ContactMode::Particles =>
                        "particles keep that distance where they can, and frames take long; set a \
                         thickness near the edge length",
                    ContactMode::Triangles =>
                        "triangle contact also tests neighbours along the cloth, frames take long, and \
                         short edges stretch; set a thickness of at most a third of the edges, or use a \
                         coarser mesh",
                }
            ),
            Self::Coincident { cloth, copies } => write!(
                f,
                "the {copies} copies of cloth `{cloth}` start at the same position and push each other \
                 apart; set `spacing`"
            ),
            Self::Coarse { cloth, farthest_m, resolution_m, mean_edge_m } => write!(
                f,
                "cloth `{cloth}` is {farthest_m:.0} m from the origin: positions are rounded to multiples \
                 of {} there, with a mean edge of {}; move it near the origin",
                short_length(*resolution_m),
                short_length(*mean_edge_m)
            ),
            Self::CoarseCollider { collider, nearest_m, resolution_m, mean_edge_m } => write!(
                f,
                "collider `{collider}` is {nearest_m:.0} m from the origin of positions: they are rounded \
                 to multiples of {} there, with a mean cloth edge of {}; move cloth and collider closer \
                 together",
                short_length(*resolution_m),
                short_length(*mean_edge_m)
            ),
            Self::LostFaces { cloth, faces, all_faces, welded_vertices } => write!(
                f,
                "cloth `{cloth}` has {} of {} dropped: without area, with a repeated corner, or with the \
                 corners of another face; {} welded (`fabric.weld`); `poplin cook` counts them",
                grouped(*faces),
                counted(*all_faces, "face"),
                match welded_vertices {
                    1 => "1 vertex is".into(),
                    count => format!("{} vertices are", grouped(*count)),
                }
            ),
            Self::TwistedFaces { what, faces, first_line } => write!(
                f,
                "{what} has {} in its file that cannot be triangulated without a flipped triangle{}: its \
                 sides cross, or it is concave with more than 1024 corners; triangulate the mesh first",
                counted(*faces, "face"),
                in_line(*first_line)
            ),
            Self::NoSpeed { cloth } => write!(
                f,
                "cloth `{cloth}` cannot move: its `max_speed` is 0 m/s; remove it for no limit"
            ),
            Self::Fast { what, speed_m_per_s, frame } => write!(
                f,
                "{what} moves at {speed_m_per_s:.0} m/s in frame {frame}, more than {MAX_SPEED} m/s; check \
                 the times and units of its keys"
            ),
            Self::LongStep { cloth, step_s, fall_m, mean_edge_m } => write!(
                f,
                "cloth `{cloth}` has a step of {:.1} ms, in which gravity moves it by {:.1} mm, more than \
                 its mean edge of {:.1} mm; raise the frequency or the frame rate",
                1e3 * step_s,
                1e3 * fall_m,
                1e3 * mean_edge_m
            ),
            Self::SoftBends { cloth, step_s, longest_step_s, substeps } => write!(
                f,
                "cloth `{cloth}` bends more easily than its rigidity states: its mesh needs a step of at \
                 most {:.2} ms, and has {:.2} ms; use {substeps} substeps, a coarser mesh or a lower \
                 rigidity",
                1e3 * longest_step_s,
                1e3 * step_s
            ),
            Self::Unconverged { cloth, steps, unconverged, max_iterations, max_halvings } => {
                let (halved, more) = match max_halvings {
                    0 => (String::new(), "halving of such steps (--max-halvings 6), "),
                    count => (format!(", halved up to {}", counted(*count as usize, "time")), ""),
                };
                write!(
                    f,
                    "cloth `{cloth}` is softer than its stiffness states: {} of its {} steps do not \
                     converge in {max_iterations} iterations{halved}; use {more}more substeps \
                     (--substeps), more iterations (--max-iterations), a coarser mesh or a lower stiffness",
                    grouped(*unconverged as usize),
                    grouped(*steps as usize),
                )
            }
            Self::Held { cloth, steps, held } => write!(
                f,
                "cloth `{cloth}` does not move in {} of its {} steps, in which its solver finds no finite \
                 solution; check for pins and colliders that jump, and for masses or stiffnesses that \
                 differ by many orders of magnitude",
                grouped(*held as usize),
                grouped(*steps as usize),
            ),
            Self::Crossed {
                cloth,
                copy,
                crossings_at_start,
                crossings_at_end,
                is_on_gpu,
                trouble,
            } => {
                let (frames, position) = when_and_where(trouble);
                let cloth = cloth_or_copy(cloth, *copy);
                let most = counted(trouble.most_pairs as usize, "edge-triangle crossing");
                let is_from_start = *crossings_at_start > 0;
                let what = if is_from_start { "starts intersecting" } else { "intersects" };
                let cure = match (is_on_gpu, is_from_start) {
                    (true, _) => "a GPU does not untangle, use --backend cpu",
                    (false, true) => "move the layers apart",
                    _ => "check for pins and colliders that leave it no room, or slow them",
                };
                let with = match trouble.partner {
                    ContactPartner::Itself => "itself",
                    ContactPartner::OtherCloth => "other cloth",
                    ContactPartner::Collider => "a collider",
                };
                let end = match crossings_at_end {
                    // On a GPU crossings are counted only in frames that are read back.
                    0 if *is_on_gpu => String::from("none at the end"),
                    0 => format!("none since frame {}", trouble.last_frame + 1),
                    count => format!("{} remain at the end: {cure}", grouped(*count as usize)),
                };
                write!(
                    f,
                    "{cloth} {what}, mostly with {with}: up to {most} {frames}, {position}; {end}"
                )
            }
            Self::Forced { cloth, copy, trouble } => {
                let (frames, position) = when_and_where(trouble);
                write!(
                    f,
                    "a sphere, capsule or plane passes through {}: up to {} in one iteration {frames}, \
                     {position}; move it and the pins apart, or slow them",
                    cloth_or_copy(cloth, *copy),
                    counted(trouble.most_pairs as usize, "pair"),
                )
            }
            Self::Hurried { cloth, copy, trouble } => {
                let (frames, position) = when_and_where(trouble);
                let what = match trouble.partner {
                    ContactPartner::Itself => "its own pins move",
                    ContactPartner::OtherCloth => "pins of other cloth move",
                    ContactPartner::Collider => "a collider moves",
                };
                write!(
                    f,
                    "{what} too fast for {} {frames}, {position}: at many thicknesses per \
                     iteration, contact may miss it; slow the motion, or raise the frequency",
                    cloth_or_copy(cloth, *copy),
                )
            }
            Self::Unlisted { cloth, copy, trouble } => {
                let (frames, position) = when_and_where(trouble);
                write!(
                    f,
                    "too many contact pairs ({} or more) near {} {frames}, {position}: their list is full, \
                     and parts that may touch do not move in those iterations; use a smaller thickness, \
                     longer edges or, on a GPU, --backend cpu",
                    counted(trouble.most_pairs as usize, "pair"),
                    cloth_or_copy(cloth, *copy),
                )
            }
            Self::OtherFrequency { cloth, asked_hz, frequency_hz } => write!(
                f,
                "cloth `{cloth}` is solved {frequency_hz:.0} times per second instead of {asked_hz:.0}, \
                 because a frame has whole iterations, so its stiffness differs; set a multiple of the \
                 frame rate"
            ),
        }
    }
}

/// Describes the frames of a trouble and its position.
fn when_and_where(trouble: &Trouble) -> (String, String) {
    let Trouble { first_frame, last_frame, position_m: [x, y, z], .. } = trouble;
    let frames = if first_frame == last_frame {
        format!("in frame {first_frame}")
    } else {
        format!("in frames {first_frame} to {last_frame}")
    };
    (frames, format!("near ({x:.3}, {y:.3}, {z:.3}) m"))
}

/// Names a cloth, or one of its copies.
fn cloth_or_copy(cloth: &str, copy: usize) -> String {
    if copy > 0 { format!("copy {copy} of cloth `{cloth}`") } else { format!("cloth `{cloth}`") }
}

/// Names the line of the first face in a mesh file; empty if the file has no lines.
pub(crate) fn in_line(first_line: usize) -> String {
    match first_line {
        0 => String::new(),
        line => format!(", the first in line {line}"),
    }
}
