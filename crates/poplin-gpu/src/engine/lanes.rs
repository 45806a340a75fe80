//! Choice of the lane count of a cloth's workgroup.

use super::EngineOptions;
use crate::Error;
use poplin_host::{HostCloth, LANE_COUNTS, LoopTrips, TierLimits, choose_lane_count};

/// Lane count of a cloth, and the loop trips that result from it.
#[derive(Debug, Clone)]
pub(super) struct Lanes {
    pub(super) count: u32,
    loops: LoopTrips,
    /// Loop trips of a lane in one iteration.
    pub(super) trips: u64,
}

impl Lanes {
    fn new(count: u32, host: &HostCloth) -> Self {
        let loops = LoopTrips::new(&host.desc().fabric, count);
        Self { count, trips: loops.of(&host.desc().phase_order, host), loops }
    }

    /// Counts the trips again after phases or colliders have changed.
    pub(super) fn count_trips(&mut self, host: &HostCloth) {
        self.trips = self.loops.of(&host.desc().phase_order, host);
    }
}

/// Rules for choosing the lane count of a cloth.
#[derive(Debug, Clone, Copy)]
pub(super) struct LaneChoice {
    forced: Option<u32>,
    limits: TierLimits,
    /// True if the adapter runs the lanes of a workgroup one after another.
    is_software: bool,
    loop_limit: u64,
}

impl LaneChoice {
    pub(super) fn new(options: &EngineOptions, limits: TierLimits, is_software: bool) -> Self {
        let loop_limit = options.loop_limit.unwrap_or(u64::MAX);
        Self { forced: options.lane_count, limits, is_software, loop_limit }
    }

    /// Chooses the lanes of a cloth: as many as its widest set keeps busy (32 if lanes run one
    /// after another), or more until its loops stay within the driver's limit.
    pub(super) fn choose(&self, host: &HostCloth) -> Result<Lanes, Error> {
        let most = self.forced.unwrap_or(u32::MAX).min(self.limits.invocations);
        let fewest = match self.forced {
            Some(_) => most,
            None if self.is_software => LANE_COUNTS[0],
            None => {
                let particle_count = host.desc().particle_count() as u32;
                choose_lane_count(host.fiber_width(), particle_count, self.limits)
            }
        };
        let mut lanes = Lanes::new(fewest, host);
        // More lanes mean fewer trips for each.
        for count in LANE_COUNTS.into_iter().filter(|&count| fewest < count && count <= most) {
            if lanes.trips <= self.loop_limit {
                break;
            }
            lanes = Lanes::new(count, host);
        }
        self.check(&lanes, host).map(|()| lanes)
    }

    /// Updates the lanes of a cloth after its phases, settings or colliders have changed: more
    /// lanes if its loops would be too long.
    pub(super) fn renew(&self, lanes: &mut Lanes, host: &HostCloth) -> Result<(), Error> {
        lanes.count_trips(host);
        if self.check(lanes, host).is_err() {
            *lanes = self.choose(host)?;
        }
        Ok(())
    }

    fn check(&self, lanes: &Lanes, host: &HostCloth) -> Result<(), Error> {
        let solver = &host.desc().config.solver;
        if solver.as_multilevel().is_some() {
            return Err(Error::OnlyOnCpu { solver: solver.name() });
        }
        let (trips, limit) = (lanes.trips, self.loop_limit);
        if trips > limit { Err(Error::LoopTooLong { trips, limit }) } else { Ok(()) }
    }
}
