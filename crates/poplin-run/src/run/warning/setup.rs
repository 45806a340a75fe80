//! Warnings about the start position, mesh and settings of a cloth, and about colliders.

use std::sync::Arc;

use poplin_io::{MAX_RESOLUTION, TwistedFaces};
use poplin_model::{ContactMode, Shape};
use poplin_scene::BuiltCollider;

use super::{TRIANGLES, Warning, in_line};
use crate::choices::mean_edge;
use crate::job_cloth::{JobCloth, mean_rest_length};
use crate::numbers::{counted, grouped, short_length};

/// Largest fraction of dropped faces that is not reported.
const MAX_LOST_FACES: f32 = 0.01;

/// Sizes of cloth that are not reported \[m\]: a mesh in millimetres, or one in metres scaled by a
/// thousandth, is outside.
const USUAL_SIZES: [f32; 2] = [0.01, 100.0];

/// Masses per area of cloth that are not reported [kg/m^2]: silk chiffon has 0.02, a rubber mat 8.
const USUAL_DENSITIES: [f32; 2] = [1e-3, 20.0];

/// Largest thickness with particle contact that is not reported, in mean edges.
const MAX_THICKNESS: f32 = 5.0;

/// Largest thickness with triangle contact that is not reported, in mean edges: beyond it most
/// contact pairs are neighbours along the cloth.
const MAX_TRIANGLE_THICKNESS: f32 = 1.0;

/// Tests whether virtual particles collide with a collider: a sphere or capsule that is not a rigid
/// body.
fn is_round(collider: &BuiltCollider) -> bool {
    collider.body.is_none() && matches!(collider.shape, Shape::Sphere(_) | Shape::Capsule(_))
}

impl Warning {
    /// Warns of a cloth that starts inside colliders.
    pub(in crate::run) fn of_start(job_cloth: &JobCloth, contact: ContactMode) -> Option<Self> {
        let config = &job_cloth.cloth.config;
        // Rigid bodies collide only with particles.
        let has_triangles = contact == ContactMode::Triangles
            && config.thickness > 0.0
            && job_cloth.colliders().all(|collider| collider.body.is_none());
        let depth = job_cloth.start_depth;
        if !job_cloth.starts_inside() {
            return None;
        }
        let speed = config.contact.depenetration_speed;
        let exit = match has_triangles {
            // Triangle contact untangles them.
            true => String::from(
                "triangle contact pushes them out through the nearest face, some possibly on the \
                 wrong side or not at all",
            ),
            false => format!(
                "contact pushes them out at {speed} m/s (`contact.depenetration_speed`), some \
                 possibly on the wrong side"
            ),
        };
        let text = format!(
            "cloth `{}` starts inside a collider: {} of {}, up to {:.1} mm deep; {exit}; move the \
             cloth or the collider",
            job_cloth.name,
            grouped(depth.particles_inside),
            counted(depth.free_particles, "free particle"),
            1e3 * depth.deepest_m
        );
        let warning = Self::of_cloth("starts_inside", &job_cloth.name, text)
            .beyond(depth.deepest_m as f32, 0.0)
            .details(&depth);
        Some(match has_triangles {
            true => warning,
            false => warning.detail("depenetration_speed_m_per_s", speed),
        })
    }

    /// Warns of a coarse or damaged mesh and of settings that do not fit it.
    pub(in crate::run) fn of_mesh(
        job_cloth: &JobCloth,
        contact: ContactMode,
    ) -> impl Iterator<Item = Self> {
        let name = &job_cloth.name;
        let pose = job_cloth.pose_at(0, 0.0);
        let positions = job_cloth.cloth.particles.iter();
        let positions = positions.flat_map(|particle| pose.apply(particle.position));
        let farthest_m = positions.map(f32::abs).fold(0.0, f32::max);
        let (resolution_m, mean_edge_m) =
            (farthest_m * f32::EPSILON, mean_rest_length(&job_cloth.cloth.fabric));
        // The spacing of f32 values at coordinate x is about x * EPSILON.
        let is_coarse = mean_edge_m > 0.0 && resolution_m > MAX_RESOLUTION * mean_edge_m;
        let coarse = is_coarse.then(|| {
            let text = format!(
                "cloth `{name}` is {farthest_m:.0} m from the origin: positions are rounded to \
                 multiples of {} there, with a mean edge of {}; move it near the origin",
                short_length(resolution_m),
                short_length(mean_edge_m)
            );
            Self::of_cloth("coarse", name, text)
                .beyond(resolution_m, MAX_RESOLUTION * mean_edge_m)
                .detail("farthest_m", farthest_m)
                .detail("resolution_m", resolution_m)
                .detail("mean_edge_m", mean_edge_m)
        });
        let has_points = !job_cloth.cloth.fabric.virtual_particles.is_empty();
        let are_idle =
            has_points && job_cloth.has_colliders() && !job_cloth.colliders().any(is_round);
        let idle = are_idle.then(|| {
            let text = format!(
                "the virtual particles of cloth `{name}` have no effect: they collide only with \
                 spheres and capsules, and it has none; where edges of boxes and meshes show \
                 through, use finer cloth, or capsules as rounded edges"
            );
            Self::of_cloth("idle_points", name, text).at("fabric.virtual_particles")
        });
        let lost = Self::of_lost_faces(job_cloth);
        let twisted = Self::of_faces(name, || format!("cloth `{name}`"), job_cloth.twisted);
        let (parts, winding) = (Self::of_parts(job_cloth), Self::of_winding(job_cloth));
        let of_mesh = coarse.into_iter().chain(lost).chain(twisted).chain(idle);
        let narrow = Self::of_narrow_collider(job_cloth, contact);
        let of_mesh = of_mesh.chain(parts).chain(winding).chain(narrow);
        of_mesh.chain(Self::of_settings(job_cloth, contact))
    }

    /// Warns of the narrowest collider that fits between the particles of a cloth.
    fn of_narrow_collider(job_cloth: &JobCloth, contact: ContactMode) -> Option<Self> {
        if contact == ContactMode::Triangles {
            return None;
        }
        let name = &job_cloth.name;
        let mean_edge_m = mean_edge(&job_cloth.mesh);
        let has_points = !job_cloth.cloth.fabric.virtual_particles.is_empty();
        let colliders = job_cloth.colliders().filter(|it| !(has_points && is_round(it)));
        let narrow = colliders.map(|it| (it.sizes()[1], it));
        let narrow = narrow.filter(|&(width_m, _)| width_m < mean_edge_m);
        let (width_m, collider) = narrow.min_by(|a, b| a.0.total_cmp(&b.0))?;
        let virtual_particles = match is_round(collider) {
            true => ", or `fabric.virtual_particles`",
            false => "",
        };
        let text = format!(
            "collider `{}` is {} wide, less than the mean edge of {} of cloth `{name}`, whose \
             particles pass it on both sides: use finer cloth or {TRIANGLES}{virtual_particles}",
            collider.name,
            short_length(width_m),
            short_length(mean_edge_m)
        );
        Some(
            Self::of_cloth("narrow_collider", name, text)
                .beyond(width_m, mean_edge_m)
                .detail("collider", &collider.name)
                .detail("width_m", width_m)
                .detail("mean_edge_m", mean_edge_m),
        )
    }

    /// Warns of faces that cooking dropped.
    fn of_lost_faces(job_cloth: &JobCloth) -> Option<Self> {
        let (name, report) = (&job_cloth.name, &job_cloth.report);
        let faces = report.degenerate_face_count + report.duplicate_face_count;
        let all_faces = report.face_count;
        let most = MAX_LOST_FACES * all_faces as f32;
        let welded_vertices = report.welded_vertex_count;
        (faces as f32 > most).then(|| {
            let text = format!(
                "cloth `{name}` has {} of {} dropped: without area, with a repeated corner, or with \
                 the corners of another face; {} welded (`fabric.weld`); `poplin cook` counts them",
                grouped(faces),
                counted(all_faces, "face"),
                match welded_vertices {
                    1 => "1 vertex is".into(),
                    count => format!("{} vertices are", grouped(count)),
                }
            );
            Self::of_cloth("lost_faces", name, text)
                .at("mesh")
                .beyond(faces as f32, most)
                .detail("faces", faces)
                .detail("all_faces", all_faces)
                .detail("welded_vertices", welded_vertices)
        })
    }

    /// Warns of triangle contact where no cloth has a thickness, or where rigid bodies collide only
    /// with particles.
    pub(super) fn of_mode(
        job_cloths: &[JobCloth],
        colliders: &[Arc<BuiltCollider>],
        contact: ContactMode,
    ) -> Option<Self> {
        if contact != ContactMode::Triangles {
            return None;
        }
        if job_cloths.iter().all(|job_cloth| job_cloth.cloth.config.thickness == 0.0) {
            let text = "triangle contact has no effect: no cloth has a `thickness` (--thickness), \
                        so only particles collide with colliders; set one";
            return Some(Self::new("idle_contact", "", text.into()));
        }
        let bodies = colliders.iter().filter(|collider| collider.body.is_some());
        let first = bodies.clone().next()?;
        let (collider, bodies) = (&first.name, bodies.count());
        let text = format!(
            "{} only with particles of cloth, at half its thickness: parts between particles may \
             pass through, and their crossings are not counted; use finer cloth if a body is thin or \
             sharp, more iterations if it is fast",
            match bodies {
                1 => format!("collider `{collider}`, a rigid body, collides"),
                bodies =>
                    format!("{bodies} rigid bodies, the first collider `{collider}`, collide"),
            }
        );
        let warning = Self::new("body_among_triangles", collider, text);
        Some(warning.detail("collider", collider).detail("bodies", bodies))
    }

    /// Warns of damaged or distant collider meshes.
    pub(super) fn of_colliders(
        job_cloths: &[JobCloth],
        colliders: &[Arc<BuiltCollider>],
    ) -> impl Iterator<Item = Self> {
        let edges = job_cloths.iter().map(|it| mean_rest_length(&it.cloth.fabric));
        let mean_edge_m = edges.filter(|&edge| edge > 0.0).fold(f32::INFINITY, f32::min);
        colliders.iter().flat_map(move |collider| {
            let name = &collider.name;
            let twisted = Self::of_faces(name, || format!("collider `{name}`"), collider.twisted);
            let left_out = Self::of_left_out(collider);
            let far = Self::of_far_collider(collider, mean_edge_m);
            let turn = Self::of_turn(name, &format!("collider `{name}`"), collider.keys());
            twisted.into_iter().chain(left_out).chain(far).chain(turn)
        })
    }

    /// Warns of a mesh whose nearest vertex is so far out that `f32` is coarse against
    /// `mean_edge_m`.
    fn of_far_collider(collider: &BuiltCollider, mean_edge_m: f32) -> Option<Self> {
        let Shape::TriangleMesh(mesh) = &collider.shape else { return None };
        let farthest_axis =
            |vertex: &[f32; 3]| vertex.map(f32::abs).into_iter().fold(0.0, f32::max);
        let nearest_m = mesh.vertices.iter().map(farthest_axis).fold(f32::INFINITY, f32::min);
        let resolution_m = nearest_m * f32::EPSILON;
        let name = &collider.name;
        (resolution_m.is_finite() && resolution_m > MAX_RESOLUTION * mean_edge_m).then(|| {
            let text = format!(
                "collider `{name}` is {nearest_m:.0} m from the origin of positions: they are \
                 rounded to multiples of {} there, with a mean cloth edge of {}; move cloth and \
                 collider closer together",
                short_length(resolution_m),
                short_length(mean_edge_m)
            );
            Self::new("coarse_collider", name, text)
                .beyond(resolution_m, MAX_RESOLUTION * mean_edge_m)
                .detail("collider", name)
                .detail("nearest_m", nearest_m)
                .detail("resolution_m", resolution_m)
                .detail("mean_edge_m", mean_edge_m)
        })
    }

    /// Warns of faces that could not be triangulated without a flipped triangle.
    fn of_faces(subject: &str, what: impl Fn() -> String, twisted: TwistedFaces) -> Option<Self> {
        let TwistedFaces { count: faces, first_line } = twisted;
        (faces > 0).then(|| {
            let what = what();
            let text = format!(
                "{what} has {} in its file that cannot be triangulated without a flipped \
                 triangle{}: its sides cross, or it is concave with more than 1024 corners; \
                 triangulate the mesh first",
                counted(faces, "face"),
                in_line(first_line)
            );
            Self::new("twisted_faces", subject, text)
                .at("mesh")
                .beyond(faces as f32, 0.0)
                .detail("what", what)
                .detail("faces", faces)
                .detail("first_line", first_line)
        })
    }

    /// Warns of settings that have no effect or do not fit the mesh.
    fn of_settings(job_cloth: &JobCloth, contact: ContactMode) -> impl Iterator<Item = Self> {
        let name = &job_cloth.name;
        let (all, config) = (&job_cloth.cloth.particles, &job_cloth.cloth.config);
        let wind = job_cloth.has_idle_wind.then(|| {
            let text = format!(
                "wind has no effect on cloth `{name}`: `drag` and `lift` in `air` are 0, and their \
                 coefficients; set `drag_coefficient`, about 1.2"
            );
            Self::of_cloth("idle_wind", name, text).at("wind")
        });
        let unread = job_cloth.material.filter(|_| config.solver.as_pbd().is_some());
        let material = unread.map(|material| {
            let text = format!(
                "cloth `{name}` uses only density, friction and thickness of {}: for its stretch \
                 and bending, use the solver xpbd or implicit",
                material.name
            );
            Self::of_cloth("idle_material", name, text)
                .at("material")
                .detail("material", material.name)
        });
        let pinned = all.iter().all(|particle| particle.is_pinned()).then(|| {
            let text = format!(
                "all {} of cloth `{name}` are pinned: it moves only with its pins; if a pin rule \
                 should select an edge, check along which axis the mesh extends",
                counted(all.len(), "particle")
            );
            Self::of_cloth("all_pinned", name, text).at("pins").detail("particles", all.len())
        });
        let still = (config.max_speed == Some(0.0)).then(|| {
            let text = format!(
                "cloth `{name}` cannot move: its `max_speed` is 0 m/s; remove it for no limit"
            );
            Self::of_cloth("no_speed", name, text).at("max_speed")
        });
        let is_behind = contact == ContactMode::Triangles
            && config.thickness > 0.0
            && config.solver.as_multilevel().is_some();
        let behind = is_behind.then(|| {
            let text = format!(
                "cloth `{name}` keeps moving where it lies on cloth, and may jump where rigid bodies \
                 press it: with contact of triangles they push behind the steps of the multilevel \
                 solver; use `contact = \"particles\"` in `[cloth_contact_solver]` (--contact \
                 particles), or the solver xpbd or implicit"
            );
            Self::of_cloth("contact_behind", name, text).at("solver.multilevel")
        });
        let [low, high] = job_cloth.bounds();
        let size_m = (high - low).length();
        let [smallest, largest] = USUAL_SIZES;
        let odd = (!(smallest..=largest).contains(&size_m)).then(|| {
            let text = format!(
                "cloth `{name}` is {} across; if its file is not in metres, set `transform.scale` \
                 (--scale): 0.001 for millimetres",
                short_length(size_m)
            );
            Self::of_cloth("odd_size", name, text)
                .beyond(size_m, if size_m < smallest { smallest } else { largest })
                .detail("size_m", size_m)
        });
        let density = (job_cloth.report.mass / job_cloth.report.area) as f32;
        let [lightest, heaviest] = USUAL_DENSITIES;
        let dense = (density.is_finite() && !(lightest..=heaviest).contains(&density)).then(|| {
            let text = format!(
                "cloth `{name}` has {density} kg/m^2; if that is in g/m^2, divide it by 1000 (cotton \
                 has 0.1 to 0.3 kg/m^2)"
            );
            Self::of_cloth("odd_density", name, text)
                .beyond(density, if density < lightest { lightest } else { heaviest })
                .at("density")
        });
        let copies = job_cloth.offsets.len();
        let are_one =
            config.thickness > 0.0 && copies > 1 && job_cloth.offsets[0] == job_cloth.offsets[1];
        let coincident = are_one.then(|| {
            let text = format!(
                "the {copies} copies of cloth `{name}` start at the same position and push each \
                 other apart; set `spacing`"
            );
            Self::of_cloth("coincident", name, text).at("count").detail("copies", copies)
        });
        let thick = Self::of_thickness(job_cloth, contact);
        let others = [odd, dense, thick, coincident];
        [wind, material, pinned, still, behind].into_iter().chain(others).flatten()
    }

    /// Warns of a thickness larger than the edges allow.
    fn of_thickness(job_cloth: &JobCloth, contact: ContactMode) -> Option<Self> {
        let (name, thickness_m) = (&job_cloth.name, job_cloth.cloth.config.thickness);
        let (mean_edge_m, most, cure) = match contact {
            ContactMode::Particles => (
                mean_rest_length(&job_cloth.cloth.fabric),
                MAX_THICKNESS,
                "particles keep that distance where they can, and frames take long; set a thickness \
                 near the edge length",
            ),
            ContactMode::Triangles => (
                mean_edge(&job_cloth.mesh),
                MAX_TRIANGLE_THICKNESS,
                "triangle contact also tests neighbours along the cloth, frames take long, and short \
                 edges stretch; set a thickness of at most a third of the edges, or use a coarser \
                 mesh",
            ),
        };
        (mean_edge_m > 0.0 && thickness_m > most * mean_edge_m).then(|| {
            let text = format!(
                "cloth `{name}` is {} thick, with a mean edge of {}: {cure}",
                short_length(thickness_m),
                short_length(mean_edge_m),
            );
            Self::of_cloth("thick", name, text)
                .at("thickness")
                .beyond(thickness_m, most * mean_edge_m)
                .detail("contact", contact)
                .detail("thickness_m", thickness_m)
                .detail("mean_edge_m", mean_edge_m)
        })
    }
}
