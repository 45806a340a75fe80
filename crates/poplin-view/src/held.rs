//! Dragging of cloth with the pointer.

use poplin::{ClothId, Drag, Error, Sight, Simulation, State};

/// Cloth held by the pointer.
#[derive(Debug)]
pub(crate) struct Held {
    cloth: ClothId,
    drag: Drag,
}

impl Held {
    /// Grabs the first cloth on the ray of the pointer.
    pub(crate) fn pick(simulation: &mut Simulation, sight: Sight) -> Result<Option<Self>, Error> {
        let state = simulation.state()?;
        let Some(hit) = simulation.pick(&state, &sight.ray())? else { return Ok(None) };
        let cloth = simulation.cloth_mut(hit.cloth)?;
        let drag = Drag::new(cloth, state.current(hit.cloth), &hit.at, &sight)?;
        Ok(Some(Self { cloth: hit.cloth, drag }))
    }

    /// Returns the world position of the grabbed point under the pointer \[m\].
    pub(crate) fn point(&self, sight: Sight) -> [f64; 3] {
        self.drag.point(&sight)
    }

    /// Moves the grabbed cloth with the pointer over the next frame. Returns false if the cloth was
    /// removed or reset. `state` is the state that was read last.
    pub(crate) fn follow(
        &mut self,
        simulation: &mut Simulation,
        state: &State,
        dt: f32,
        sight: Sight,
    ) -> Result<bool, Error> {
        let Ok(cloth) = simulation.cloth_mut(self.cloth) else { return Ok(false) };
        Ok(self.drag.apply(cloth, state.current(self.cloth), dt, &sight)?)
    }

    /// Releases the cloth.
    pub(crate) fn release(self, simulation: &mut Simulation) {
        if let Ok(cloth) = simulation.cloth_mut(self.cloth) {
            self.drag.release(cloth);
        }
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;
    use poplin::Backend;
    use poplin::cook::{CookOptions, cook};
    use poplin::model::{Mesh, Sphere};

    use super::*;

    /// Particle in the middle of the sheet.
    const MIDDLE: u32 = 40;
    /// Pinned corner.
    const PIN: u32 = 0;

    /// Returns a sheet of 9 x 9 particles pinned at two corners; its motion spheres hold a third
    /// corner.
    fn sheet() -> (Simulation, ClothId) {
        let options = CookOptions { pins: vec![PIN, 8], ..CookOptions::default() };
        let cloth = cook(&Mesh::grid(9, 9, 1.0, 1.0), &options).unwrap().into_cloth();
        let mut simulation = Simulation::new(Backend::Cpu).unwrap();
        let mut spheres: Vec<_> =
            cloth.particles.iter().map(|it| Sphere { center: it.position, radius: 5.0 }).collect();
        spheres[80].radius = 0.0;
        let id = simulation.add(cloth).unwrap();
        simulation.cloth_mut(id).unwrap().set_motion_spheres(&spheres).unwrap();
        (simulation, id)
    }

    fn position(simulation: &mut Simulation, id: ClothId, particle: u32) -> DVec3 {
        let position = simulation.state().unwrap().current(id)[particle as usize].position;
        DVec3::from(position.map(f64::from))
    }

    /// Returns the sight from 2 m above a point, downward.
    fn above(point: DVec3) -> Sight {
        let [eye, down] = [point + 2.0 * DVec3::Y, -DVec3::Y].map(|it| it.to_array());
        Sight { eye, ray: down, ahead: down }
    }

    /// Grabs the sheet close to a particle.
    fn pick(simulation: &mut Simulation, id: ClothId, particle: u32) -> Held {
        let inward = DVec3::new(0.5, 0.0, 0.5) - position(simulation, id, particle);
        let beside = position(simulation, id, particle) + inward * 0.02 + 0.01 * DVec3::X;
        Held::pick(simulation, above(beside)).unwrap().expect("the sheet is there")
    }

    fn step(simulation: &mut Simulation, held: &mut Held, sight: Sight) -> bool {
        let (state, dt) = (simulation.state().unwrap(), 1.0 / 60.0);
        let is_held = held.follow(simulation, &state, dt, sight).unwrap();
        simulation.step(dt).unwrap();
        is_held
    }

    /// Drags a particle by `displacement` and returns its distance from the target.
    fn draw(simulation: &mut Simulation, id: ClothId, particle: u32, displacement: DVec3) -> f64 {
        let begin = position(simulation, id, particle);
        let mut held = pick(simulation, id, particle);
        let over = above(begin);
        let offset = DVec3::from(held.drag.target(&over)) - DVec3::from(held.drag.point(&over));
        let sight = above(begin - offset + displacement);
        for _ in 0..20 {
            assert!(step(simulation, &mut held, sight));
        }
        held.release(simulation);
        position(simulation, id, particle).distance(begin + displacement)
    }

    #[test]
    fn cloth_follows_the_pointer_within_its_motion_spheres() {
        let (mut simulation, id) = sheet();
        let corner = position(&mut simulation, id, 80);
        let displacement = 0.1 * DVec3::Y;
        assert!(
            draw(&mut simulation, id, MIDDLE, displacement) < 0.01,
            "the cloth pulls back a little"
        );
        for _ in 0..20 {
            simulation.step(1.0 / 60.0).unwrap();
        }
        let strayed = position(&mut simulation, id, 80).distance(corner);
        assert!(strayed < 0.02, "{strayed}");
    }

    #[test]
    fn a_pin_stays_where_it_is_let_go() {
        let (mut simulation, id) = sheet();
        let displacement = DVec3::new(0.1, 0.05, 0.1);
        let end = position(&mut simulation, id, PIN) + displacement;
        assert!(draw(&mut simulation, id, PIN, displacement) < 1e-3);
        simulation.step(1.0 / 60.0).unwrap();
        assert!(position(&mut simulation, id, PIN).distance(end) < 1e-3);
    }

    #[test]
    fn a_reset_or_removed_cloth_is_released() {
        let (mut simulation, id) = sheet();
        let sight = above(DVec3::ZERO);
        let mut held = pick(&mut simulation, id, MIDDLE);
        simulation.reset(id).unwrap();
        assert!(!step(&mut simulation, &mut held, sight));
        let mut held = pick(&mut simulation, id, MIDDLE);
        simulation.remove(id).unwrap();
        assert!(!step(&mut simulation, &mut held, sight));
        held.release(&mut simulation);
    }

    #[test]
    fn grabs_nothing_beside_the_cloth() {
        let (mut simulation, _) = sheet();
        assert!(Held::pick(&mut simulation, above(5.0 * DVec3::X)).unwrap().is_none());
    }
}
