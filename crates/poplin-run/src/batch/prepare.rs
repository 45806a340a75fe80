//! Preparation of jobs, and their grouping into common simulations.

use std::ops::Range;
use std::sync::Arc;

use poplin_model::ContactMode;
use poplin_scene::{BuiltCollider, Scene, SweepJobs};

use crate::cook_cache::CookCache;
use crate::failure::{Failure, OrFail};
use crate::job::{Job, built_colliders};
use crate::job_cloth::JobCloth;

/// Job that is read and cooked.
pub(super) struct Prepared {
    /// Index in the sweep.
    pub(super) index: usize,
    job: Job,
    kind: Kind,
}

/// Properties that jobs of one simulation must share. They depend only on the job and the sweep, so
/// that a job has the same bits in any group.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Kind {
    frames: u32,
    frame_rate: f32,
    solids: Solids,
    /// Index of the job, if it needs its own simulation: its cloths collide with each other, use
    /// triangle contact or move rigid bodies.
    only: Option<usize>,
}

/// Collider set that holds the colliders of a job.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Solids {
    /// Set of the simulation, with the unvaried colliders of the scene.
    Shared,
    /// Set of each cloth, whose local space is world space.
    Own,
    /// Set of the simulation, with the colliders of this job.
    Of(usize),
}

/// Factory of the jobs of a sweep.
pub(super) struct JobFactory {
    jobs: SweepJobs,
    /// Colliders of the unvaried scene; `None` if they cannot be built.
    colliders: Option<Vec<Arc<BuiltCollider>>>,
    cache: CookCache,
}

impl JobFactory {
    pub(super) fn new(jobs: SweepJobs) -> Self {
        let colliders = built_colliders(jobs.scene()).ok();
        Self { jobs, colliders, cache: CookCache::default() }
    }

    /// Returns the jobs of the sweep.
    pub(super) fn jobs(&self) -> &SweepJobs {
        &self.jobs
    }

    /// Reads and cooks a job.
    pub(super) fn prepare(&self, index: usize) -> Result<Prepared, Failure> {
        let scene = self.jobs.scene_of(index).or_bad_input()?;
        let (frames, frame_rate) = (scene.frames, scene.frame_rate);
        let (colliders, mut solids) = self.colliders(&scene, index)?;
        let name = format!("job-{index}");
        let mut job = Job::of_built_scene(scene, name, colliders, &self.cache)?;
        // In a common simulation the impulses of several jobs on a body would add up.
        let has_bodies = job.colliders.iter().any(|collider| collider.body.is_some());
        let job_cloths = &mut job.cloths;
        if has_bodies {
            solids = Solids::Of(index);
        } else if solids != Solids::Shared && job_cloths.iter().all(JobCloth::is_in_the_world) {
            solids = Solids::Own;
            job_cloths.iter_mut().try_for_each(JobCloth::own_colliders)?;
        }
        let collides = |job_cloth: &JobCloth| job_cloth.cloth.contact_distances()[1] > 0.0;
        let of_one =
            |job_cloth: &JobCloth| if collides(job_cloth) { job_cloth.offsets.len() } else { 0 };
        let mut only = (job_cloths.iter().map(of_one).sum::<usize>() > 1).then_some(index);
        if only.is_none() {
            // The only other cloths in the simulation are those of other jobs.
            for job_cloth in job_cloths {
                job_cloth.cloth.config.cloth_collision.distance = Some(0.0);
            }
        }
        // Triangle contact shares its rounds among all cloths, so other jobs would change the bits.
        let has_triangles = job.cloth_contact_solver.contact == ContactMode::Triangles;
        if has_bodies || has_triangles {
            only = Some(index);
        }
        job.cloths.iter().try_for_each(|job_cloth| job_cloth.cloth.validate()).or_bad_input()?;
        let kind = Kind { frames, frame_rate, solids, only };
        Ok(Prepared { index, job, kind })
    }

    fn colliders(
        &self,
        scene: &Scene,
        index: usize,
    ) -> Result<(Vec<Arc<BuiltCollider>>, Solids), Failure> {
        match &self.colliders {
            Some(shared) if scene.colliders == self.jobs.scene().colliders => {
                Ok((shared.clone(), Solids::Shared))
            }
            _ => Ok((built_colliders(scene)?, Solids::Of(index))),
        }
    }
}

impl Prepared {
    /// Returns the number of particles of all cloths.
    pub(super) fn particle_count(&self) -> usize {
        self.job.cloths.iter().map(JobCloth::particle_count).sum()
    }
}

/// Jobs that share a simulation.
pub(super) struct Group {
    /// Cloths of all members, one member after another.
    pub(super) job: Job,
    /// Jobs of the group.
    pub(super) members: Vec<Member>,
}

/// Job of a group.
pub(super) struct Member {
    /// Index in the sweep.
    pub(super) index: usize,
    /// Range of its cloths in the group.
    pub(super) job_cloths: Range<usize>,
    /// Colliders of all its cloths.
    pub(super) colliders: Vec<Arc<BuiltCollider>>,
}

impl Group {
    /// Groups jobs of equal kind, in their order.
    pub(super) fn sorted(prepared: Vec<Prepared>) -> Vec<Self> {
        let mut groups: Vec<(Kind, Self)> = Vec::new();
        for Prepared { index, job, kind } in prepared {
            match groups.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, group)) => group.push(index, job),
                None => groups.push((kind, Self::of_one(index, job, kind.solids))),
            }
        }
        groups.into_iter().map(|(_, group)| group).collect()
    }

    fn of_one(index: usize, mut job: Job, solids: Solids) -> Self {
        let colliders = job.colliders.clone();
        if solids == Solids::Own {
            job.colliders.clear();
        }
        let members = vec![Member { index, job_cloths: 0..job.cloths.len(), colliders }];
        Self { job, members }
    }

    fn push(&mut self, index: usize, job: Job) {
        let begin = self.job.cloths.len();
        self.job.cloths.extend(job.cloths);
        // A shared fabric is packed once.
        share_fabrics(&mut self.job.cloths, begin);
        let job_cloths = begin..self.job.cloths.len();
        self.members.push(Member { index, job_cloths, colliders: job.colliders });
    }

    /// Splits the group into groups of one job.
    pub(super) fn split(self) -> impl Iterator<Item = Self> {
        let Self { job, members } = self;
        let Job {
            frames,
            frame_rate,
            steps,
            view,
            colliders,
            cloth_contact_solver,
            mut cloths,
            ..
        } = job;
        members.into_iter().map(move |Member { index, job_cloths: range, colliders: own }| {
            let job_cloths: Vec<_> = cloths.drain(..range.len()).collect();
            let members = vec![Member { index, job_cloths: 0..job_cloths.len(), colliders: own }];
            let job = Job {
                title: String::new(),
                name: String::new(),
                frames,
                frame_rate,
                steps,
                formats: Vec::new(),
                view,
                cloths: job_cloths,
                colliders: colliders.clone(),
                cloth_contact_solver,
                origin: [0.0; 3],
                choices: Vec::new(),
                scene: None,
            };
            Self { job, members }
        })
    }
}

/// Shares equal fabrics between the cloths from `begin` on and the corresponding cloths of the
/// previous job.
fn share_fabrics(job_cloths: &mut [JobCloth], begin: usize) {
    let (known, new) = job_cloths.split_at_mut(begin);
    let count = new.len();
    for (index, job_cloth) in new.iter_mut().enumerate() {
        let before = (begin + index).checked_sub(count).and_then(|before| known.get(before));
        let Some(before) = before else { continue };
        if !Arc::ptr_eq(&before.cloth.fabric, &job_cloth.cloth.fabric)
            && before.cloth.fabric == job_cloth.cloth.fabric
        {
            job_cloth.cloth.fabric = before.cloth.fabric.clone();
        }
    }
}
