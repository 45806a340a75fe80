//! What contact of triangles could not keep apart.

/// What a cloth meets in a contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum ContactPartner {
    /// The same cloth.
    Itself,
    /// Another one.
    OtherCloth,
    /// A collider.
    Collider,
}

/// Something that contact of triangles found in some frames of a cloth. Frames count from 1 since the cloth was added or reset; 0 is
/// its start.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Trouble {
    /// The first frame with it.
    pub first_frame: u32,
    /// The last one so far.
    pub last_frame: u32,
    /// The most pairs in a frame.
    pub most_pairs: u32,
    /// What most of those pairs were with.
    pub partner: ContactPartner,
    /// Where one of those was, in the world \[m\].
    pub position_m: [f32; 3],
}

impl Trouble {
    /// In a frame so many pairs, what most of them are with, and where one of those is \[m\].
    pub fn in_frame(frame: u32, pairs: u32, partner: ContactPartner, position_m: [f32; 3]) -> Self {
        Self { first_frame: frame, last_frame: frame, most_pairs: pairs, partner, position_m }
    }

    /// Adds what is found in a frame, the last one or not; nothing if that is no pair.
    pub fn add(all: &mut Option<Self>, now: Self) {
        if now.most_pairs == 0 {
            return;
        }
        *all = Some(all.map_or(now, |all| {
            let worst = if now.most_pairs > all.most_pairs { now } else { all };
            Self {
                first_frame: all.first_frame.min(now.first_frame),
                last_frame: all.last_frame.max(now.last_frame),
                ..worst
            }
        }));
    }
}

/// What contact of triangles could not keep apart of a cloth since it was added or reset. Colliders of rigid bodies, which meet particles, are
/// in none of it.
///
/// On a GPU what is crossed is counted when a state is read, for the frame that it is of: `crossings` and `crossed` are of those frames
/// alone, whoever reads none pays nothing, and `start_crossings` is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ContactReport {
    /// Frames with contact of triangles.
    pub frames: u32,
    /// Pairs of an edge and a triangle that cross after the last frame, one of both or both of this cloth, counted exactly. On a GPU after
    /// the last one that was read.
    pub crossings: u32,
    /// The same before the first frame; 0 on a GPU.
    pub start_crossings: u32,
    /// Frames with such pairs before or after one of their solver iterations; on a GPU frames that were read with such pairs at their end.
    pub crossed: Option<Trouble>,
    /// Frames in which pins, balls, capsules or planes came through cloth, where no triangle of theirs is there to be crossed: the
    /// most pairs of a solver iteration.
    pub forced: Option<Trouble>,
    /// Frames in which pins or colliders moved too far in a solver iteration to be followed: `most_pairs` is 1.
    pub hurried: Option<Trouble>,
    /// Frames in which there was no room for all pairs: what moved stood still in a solver iteration. On a GPU `most_pairs` is how many were
    /// found, and [`Engine::note_feedback`] makes room for them; the CPU stops counting beyond 67 million, which take 3.8 GB, and about as
    /// much again while they are searched.
    ///
    /// [`Engine::note_feedback`]: https://docs.rs/poplin-gpu/latest/poplin_gpu/struct.Engine.html#method.note_feedback
    pub unlisted: Option<Trouble>,
}

impl ContactReport {
    /// The report of a cloth that came from another simulation, where it had this one: as if both were one.
    #[must_use]
    pub fn followed_by(&self, later: &Self) -> Self {
        let join = |mut all: Option<Trouble>, later: Option<Trouble>| {
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

    /// The report as if so many frames had been one; 0 counts as 1.
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
    fn a_report_goes_on_after_another_as_if_both_were_one() {
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
        // Frames 1 to 4 of them are the first of longer ones, 13 is in the fourth; 0 is the start of either.
        let longer = both.of_longer_frames(4);
        assert_eq!((longer.frames, longer.crossings, longer.start_crossings), (4, 2, 7));
        assert_eq!(longer.crossed, Some(Trouble { last_frame: 4, ..trouble(0, 9) }));
        assert_eq!(longer.hurried, Some(trouble(3, 1)));
        assert_eq!(both.of_longer_frames(1), both);
    }
}
