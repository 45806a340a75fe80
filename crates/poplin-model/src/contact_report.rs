//! Reports of failures of triangle contact.

/// Partner of a cloth in a contact pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum ContactPartner {
    /// Contact of the cloth with itself.
    Itself,
    /// Another cloth.
    OtherCloth,
    /// A collider.
    Collider,
}

/// Failures of one kind of triangle contact, merged over the frames of a cloth. Frames count from 1
/// since the cloth was added or reset; 0 is the start.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Trouble {
    /// First affected frame.
    pub first_frame: u32,
    /// Last affected frame so far.
    pub last_frame: u32,
    /// Largest number of pairs in a frame.
    pub most_pairs: u32,
    /// Most frequent partner in those pairs.
    pub partner: ContactPartner,
    /// Position of one of those pairs, in world space \[m\].
    pub position_m: [f32; 3],
}

impl Trouble {
    /// Creates a report of `pairs` pairs in `frame`: their most frequent partner and one example
    /// position \[m\].
    pub fn in_frame(frame: u32, pairs: u32, partner: ContactPartner, position_m: [f32; 3]) -> Self {
        Self { first_frame: frame, last_frame: frame, most_pairs: pairs, partner, position_m }
    }

    /// Merges the report of another frame, earlier or later; ignores reports without pairs.
    pub fn add(all: &mut Option<Self>, now: Self) {
        if now.most_pairs == 0 {
            return;
        }
        *all = Some(all.map_or(now, |all| {
            // Pairs, partner and position belong together: take them from the worse frame.
            let worst = if now.most_pairs > all.most_pairs { now } else { all };
            Self {
                first_frame: all.first_frame.min(now.first_frame),
                last_frame: all.last_frame.max(now.last_frame),
                ..worst
            }
        }));
    }
}

/// Failures of triangle contact of a cloth since it was added or reset. Colliders of rigid bodies,
/// which collide with particles, are not included.
///
/// On a GPU, crossings are counted only when a state is read, for the frame of that state:
/// `crossings` and `crossed` cover only frames that were read, frames that are not read have no
/// overhead, and `start_crossings` is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ContactReport {
    /// Number of frames with triangle contact.
    pub frames: u32,
    /// Exact number of crossing pairs of an edge and a triangle after the last frame, where the
    /// edge, the triangle or both belong to this cloth. On a GPU, after the last frame that was
    /// read.
    pub crossings: u32,
    /// Number of crossing pairs before the first frame; 0 on a GPU.
    pub start_crossings: u32,
    /// Frames with crossing pairs before or after a solver iteration; on a GPU, frames with
    /// crossing pairs in the state that was read.
    pub crossed: Option<Trouble>,
    /// Frames in which pins, spheres, capsules or planes passed through cloth where they have no
    /// triangle that could cross: largest number of pairs in a solver iteration.
    pub forced: Option<Trouble>,
    /// Frames in which pins or colliders moved too far in a solver iteration for contact to follow:
    /// `most_pairs` is 1.
    pub hurried: Option<Trouble>,
    /// Frames in which the pair buffer was too small, so that moving parts were held still for a
    /// solver iteration. On a GPU `most_pairs` is the number of pairs found, and
    /// [`Engine::note_feedback`] grows the buffer accordingly; the CPU stops counting beyond 67
    /// million pairs, which take 3.8 GB and temporarily about twice that.
    ///
    /// [`Engine::note_feedback`]:
    /// https://docs.rs/poplin-gpu/latest/poplin_gpu/struct.Engine.html#method.note_feedback
    pub unlisted: Option<Trouble>,
}

impl ContactReport {
    /// Appends the report of a later simulation of the same cloth, which started from the end of
    /// this one.
    #[must_use]
    pub fn followed_by(&self, later: &Self) -> Self {
        let join = |mut all: Option<Trouble>, later: Option<Trouble>| {
            // Frame numbers continue after those of the earlier run.
            let later = later.map(|it| Trouble {
                first_frame: it.first_frame + self.frames,
                last_frame: it.last_frame + self.frames,
                ..it
            });
            later.into_iter().for_each(|later| Trouble::add(&mut all, later));
            all
        };
        Self {
            frames: self.frames + later.frames,
            crossings: later.crossings,
            start_crossings: self.start_crossings,
            crossed: join(self.crossed, later.crossed),
            forced: join(self.forced, later.forced),
            hurried: join(self.hurried, later.hurried),
            unlisted: join(self.unlisted, later.unlisted),
        }
    }

    /// Converts the report to frames that are `count` times as long; 0 counts as 1.
    #[must_use]
    pub fn of_longer_frames(&self, count: u32) -> Self {
        let count = count.max(1);
        let longer = |trouble: Option<Trouble>| {
            trouble.map(|it| Trouble {
                first_frame: it.first_frame.div_ceil(count),
                last_frame: it.last_frame.div_ceil(count),
                ..it
            })
        };
        Self {
            frames: self.frames.div_ceil(count),
            crossed: longer(self.crossed),
            forced: longer(self.forced),
            hurried: longer(self.hurried),
            unlisted: longer(self.unlisted),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn followed_by_merges_reports_of_consecutive_runs() {
        let trouble = |frame: u32, pairs: u32| {
            Trouble::in_frame(frame, pairs, ContactPartner::Itself, [pairs as f32, 0.0, 0.0])
        };
        let earlier = ContactReport {
            frames: 10,
            crossings: 0,
            start_crossings: 7,
            crossed: Some(Trouble { last_frame: 8, ..trouble(0, 9) }),
            ..ContactReport::default()
        };
        let later = ContactReport {
            frames: 4,
            crossings: 2,
            crossed: Some(trouble(3, 2)),
            hurried: Some(trouble(1, 1)),
            ..ContactReport::default()
        };
        let both = earlier.followed_by(&later);
        assert_eq!((both.frames, both.crossings, both.start_crossings), (14, 2, 7));
        assert_eq!(both.crossed, Some(Trouble { last_frame: 13, ..trouble(0, 9) }));
        assert_eq!(both.hurried, Some(trouble(11, 1)));
        assert_eq!(both.forced, None);
        // Longer frames: 1 to 4 become the first, 13 is in the fourth; 0 stays the start.
        let longer = both.of_longer_frames(4);
        assert_eq!((longer.frames, longer.crossings, longer.start_crossings), (4, 2, 7));
        assert_eq!(longer.crossed, Some(Trouble { last_frame: 4, ..trouble(0, 9) }));
        assert_eq!(longer.hurried, Some(trouble(3, 1)));
        assert_eq!(both.of_longer_frames(1), both);
    }
}
