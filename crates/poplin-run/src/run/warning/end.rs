//! Warnings about where cloth and bodies end: inside colliders, crossed, or falling.

use poplin_geometry::Bounds;
use poplin_measure::depth::VISIBLE_DEPTH;
use poplin_measure::tangle::{Tangle, kept_distance};
use poplin_model::ContactMode;

use super::{TRIANGLES, Warning};
use crate::bodies::Bodies;
use crate::job_cloth::JobCloth;
use crate::numbers::{counted, grouped, short_length};
use crate::run::ending::{Ending, FALLING_SPEED};

/// Depth beyond which a single triangle is reported \[m\].
const DEEP: f64 = 2.0 * VISIBLE_DEPTH;

/// Fraction of triangles deeper than [`VISIBLE_DEPTH`] that is not reported if none is deeper than
/// [`DEEP`].
const FEW: f64 = 1e-3;

impl Warning {
    /// Warns of cloth that ends inside a collider, or falls below all of them.
    pub(in crate::run) fn of_end(
        job_cloth: &JobCloth,
        ending: &Ending,
        contact: ContactMode,
    ) -> impl Iterator<Item = Self> + use<> {
        let inside = Self::of_depth(job_cloth, ending, contact);
        inside.into_iter().chain(Self::of_fall(job_cloth, ending))
    }

    /// Warns of particles deeper than [`VISIBLE_DEPTH`] in a collider, and of triangles, unless
    /// they are few and not [`DEEP`].
    fn of_depth(job_cloth: &JobCloth, ending: &Ending, contact: ContactMode) -> Option<Self> {
        let (of_particles, of_triangles) = ending.depth?;
        let name = &job_cloth.name;
        if of_particles.deepest_m > VISIBLE_DEPTH {
            let text = format!(
                "cloth `{name}` ends inside a collider: {} of {}, up to {} deep; look for pins or \
                 colliders that hold it there and for a start inside, or raise the frequency",
                grouped(of_particles.particles_inside),
                counted(of_particles.free_particles, "free particle"),
                short_length(of_particles.deepest_m as f32)
            );
            let warning = Self::of_cloth("ends_inside", name, text);
            let deepest_m = of_particles.deepest_m as f32;
            return Some(warning.beyond(deepest_m, VISIBLE_DEPTH as f32).details(&of_particles));
        }
        let share = of_triangles.triangles_inside as f64 / of_triangles.triangles.max(1) as f64;
        (of_triangles.deepest_m > DEEP || share > FEW).then(|| {
            let cure = match contact {
                ContactMode::Particles => format!(
                    "contact of particles does not hold what lies between them; use {TRIANGLES} or \
                     finer cloth"
                ),
                ContactMode::Triangles => "use finer cloth or more iterations".to_owned(),
            };
            let text = format!(
                "cloth `{name}` ends with {} of {} more than {} inside a collider, up to {}: {cure}",
                grouped(of_triangles.triangles_inside),
                counted(of_triangles.triangles, "triangle"),
                short_length(VISIBLE_DEPTH as f32),
                short_length(of_triangles.deepest_m as f32)
            );
            Self::of_cloth("triangles_inside", name, text)
                .beyond(of_triangles.deepest_m as f32, VISIBLE_DEPTH as f32)
                .details(&of_triangles)
        })
    }

    /// Warns of parts without pins that fall with nothing below.
    fn of_fall(job_cloth: &JobCloth, ending: &Ending) -> Option<Self> {
        let falling = ending.falling?;
        let name = &job_cloth.name;
        let is_whole = falling.parts == falling.all_parts;
        let what = match is_whole {
            true => format!("cloth `{name}` ends"),
            false => format!(
                "{} of {} parts of cloth `{name}` {}",
                falling.parts,
                falling.all_parts,
                if falling.parts == 1 { "ends" } else { "end" }
            ),
        };
        let colliders: Vec<_> = job_cloth.colliders().map(|collider| &*collider.name).collect();
        let (below, cure) = match colliders[..] {
            [] => (
                "nothing below".to_owned(),
                match is_whole {
                    true => "it has no pins and no collider: pin it, or add a ground (`plane`)",
                    false => "they have no pins: pin them, or add a ground (`plane`)",
                }
                .to_owned(),
            ),
            [collider, ..] => (
                match colliders.len() {
                    1 => format!("collider `{collider}` above"),
                    count => format!("all {count} of its colliders above"),
                },
                format!(
                    "it fell past, slid off or passed through; if it passed through, use \
                     {TRIANGLES}, finer cloth, a thicker collider or a higher frequency"
                ),
            ),
        };
        let text = format!(
            "{what} in free fall at {:.1} m/s, with {below}: {cure}",
            falling.speed_m_per_s
        );
        Some(
            Self::of_cloth("falls_away", name, text)
                .beyond(falling.speed_m_per_s as f32, 0.0)
                .detail("falling_parts", falling.parts)
                .detail("parts", falling.all_parts),
        )
    }

    /// Warns of rigid bodies that fall below all cloths.
    pub(in crate::run) fn of_bodies(bodies: &Bodies, cloths: Bounds) -> impl Iterator<Item = Self> {
        bodies.falling(cloths, FALLING_SPEED).map(|(body, speed)| {
            let text = format!(
                "rigid body `{body}` ends in free fall at {speed:.1} m/s, below all cloth: it missed \
                 the cloth, slid off or came through; if it came through, raise the frequency \
                 (--solver-frequency), use finer cloth or a lighter body"
            );
            Self::new("body_falls", body, text)
                .beyond(speed as f32, 0.0)
                .detail("collider", body)
        })
    }

    /// Warns of cloths that end crossed with contact of particles, which cannot prevent it.
    pub(crate) fn of_tangle(
        job_cloths: &[JobCloth],
        tangle: Option<Tangle>,
        contact: ContactMode,
    ) -> Option<Self> {
        let Tangle { crossings, close_pairs } = tangle?;
        if crossings == 0 || contact == ContactMode::Triangles {
            return None;
        }
        let mut thick = job_cloths.iter().filter(|it| kept_distance(&it.cloth).is_some());
        let (first, next) = (thick.next()?, thick.next());
        let subject = if next.is_none() { &*first.name } else { "" };
        let (what, with) = match next {
            None => (format!("cloth `{}` ends crossed", first.name), "itself or a copy"),
            Some(_) => (String::from("cloths end crossed"), "themselves or each other"),
        };
        let text = format!(
            "{what} with {with}, in {}: contact of particles does not prevent it; use {TRIANGLES}, or \
             a thickness near the edges and more iterations",
            counted(crossings, "edge-triangle crossing")
        );
        Some(
            Self::new("ends_crossed", subject, text)
                .beyond(crossings as f32, 0.0)
                .detail("crossings", crossings)
                .detail("close_pairs", close_pairs),
        )
    }
}
