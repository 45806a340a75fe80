//! GPU meshes of the cloths and colliders of a scene, updated each frame.

use std::sync::Arc;

use glam::{DVec3, Mat4, Quat, Vec3};
use poplin::model::{Fabric, Particle, Pose, RenderMesh, RenderVertex, Shape};
use poplin::{ClothId, State};
use poplin_measure::strain::{Strain, StretchEdges};
use poplin_picture::studio;
use poplin_picture::{Surface, View, cloth_color, fitting_view};

use crate::body::{Body, Kind};
use crate::lines::Lined;
use crate::render_meshes;
use crate::renderer::Dot;
use crate::{Show, ViewError, strain};

/// Margin around the cloths up to which infinite colliders are drawn, in diagonals of the initial
/// bounding box of the cloths.
const REACH: f64 = 0.6;

/// Radius of a pin \[pixels\].
const PIN_RADIUS: f32 = 2.5;

/// Linear colour and opacity of a pin.
const PIN_COLOR: [f32; 4] = [0.75, 0.05, 0.03, 1.0];

/// Drawn copy of a cloth.
#[derive(Debug)]
pub(crate) struct DrawnCloth {
    id: ClothId,
    pose: Pose,
    fabric: Arc<Fabric>,
    pinned: Vec<u32>,
    mesh: RenderMesh,
    vertices: Vec<RenderVertex>,
    strains: Vec<f32>,
    edges: StretchEdges,
    body: Body,
}

/// Drawn cloths and colliders of a scene.
#[derive(Debug)]
pub(crate) struct DrawnScene {
    cloths: Vec<DrawnCloth>,
    /// State of the cloths that was read last.
    state: State,
    solid: Option<Body>,
    shapes: Vec<Shape>,
    /// Box that clips infinite colliders \[m\].
    reach: [DVec3; 2],
    /// Bounding box for the first camera \[m\].
    pub(crate) framed: [DVec3; 2],
    /// Height of the ground \[m\].
    pub(crate) floor: f64,
    /// View of the first camera.
    pub(crate) view: View,
    /// Worst strain of all cloths.
    pub(crate) strain: Strain,
}

/// Returns the matrix from a local space to world space.
fn world_from_local(pose: Pose) -> Mat4 {
    let rotation = Quat::from_array(pose.rotation).normalize();
    Mat4::from_rotation_translation(rotation, Vec3::from(pose.translation))
}

impl DrawnScene {
    /// Builds the meshes of a scene in its current state.
    pub(crate) fn new(device: &wgpu::Device, show: &mut dyn Show) -> Result<Self, ViewError> {
        let ids: Vec<_> =
            show.cloths().iter().flat_map(|cloth| cloth.ids.iter().copied()).collect();
        let state = show.simulation().state()?;
        let mut cloths = Vec::with_capacity(ids.len());
        for (index, id) in ids.into_iter().enumerate() {
            let live = show.simulation().cloth(id)?;
            let cloth = live.desc();
            let pinned = (0..).zip(&cloth.particles).filter(|(_, particle)| particle.is_pinned());
            let pinned = pinned.map(|(index, _)| index).collect();
            cloths.push(DrawnCloth::new(device, index, id, cloth.fabric.clone(), pinned, &state)?);
        }
        let surfaces: Vec<_> =
            cloths.iter().map(|cloth| cloth.surface(show, &state)).collect::<Result<_, _>>()?;
        let bounds = bounds_of(&surfaces);
        let margin = DVec3::splat((bounds[1] - bounds[0]).length() * REACH);
        let reach = [bounds[0] - margin, bounds[1] + margin];
        let shapes = show.shapes()?;
        let (_, solid_points) = studio::collider_surface(&shapes, reach.map(Into::into));
        let near = solid_points
            .into_iter()
            .map(DVec3::from)
            .filter(|point| point.cmpge(reach[0]).all() && point.cmple(reach[1]).all());
        // The first camera frames cloths and nearby collider points.
        let mut framed = near.fold(bounds, |[low, high], p| [low.min(p), high.max(p)]);
        let floor = studio::floors(&shapes).filter(|floor| *floor > reach[0].y).reduce(f64::max);
        if let Some(floor) = floor {
            framed[0].y = framed[0].y.min(floor);
        }
        Ok(Self {
            cloths,
            state,
            solid: None,
            shapes: Vec::new(),
            reach,
            framed,
            floor: floor.unwrap_or(framed[0].y),
            view: show.view().unwrap_or_else(|| fitting_view(&[surfaces])),
            strain: Strain::default(),
        })
    }

    /// Updates meshes and strain to the current state of the scene.
    pub(crate) fn update(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        show: &mut dyn Show,
    ) -> Result<(), ViewError> {
        let shapes = show.shapes()?;
        if shapes != self.shapes || self.solid.is_none() {
            let (surface, _) = studio::collider_surface(&shapes, self.reach.map(Into::into));
            self.solid = Some(solid_body(device, &surface)?);
            self.shapes = shapes;
        }
        self.state = show.simulation().state()?;
        self.strain = Strain::default();
        for cloth in &mut self.cloths {
            cloth.pose = show.simulation().cloth(cloth.id)?.pose();
            let particles = self.state.current(cloth.id);
            cloth.update(queue, particles)?;
            self.strain = self.strain.worse(cloth.edges.measure(particles));
        }
        Ok(())
    }

    /// Returns the state of the cloths that was read last.
    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// Returns the meshes to draw, with or without colliders.
    pub(crate) fn bodies(&self, has_solids: bool) -> Vec<&Body> {
        let solid = self.solid.iter().filter(|_| has_solids);
        self.cloths.iter().map(|cloth| &cloth.body).chain(solid).collect()
    }

    /// Returns the cloths for line drawing.
    pub(crate) fn lined(&self) -> impl Iterator<Item = Lined<'_>> {
        self.cloths.iter().map(|cloth| Lined {
            id: cloth.id,
            particles: self.state.current(cloth.id),
            world_from_local: cloth.body.world_from_local,
        })
    }

    /// Returns the shapes of the colliders.
    pub(crate) fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    /// Returns a dot for each pin.
    pub(crate) fn pins(&self) -> Vec<Dot> {
        let of_cloth = |cloth: &DrawnCloth| {
            let particles = self.state.current(cloth.id);
            let pins = cloth.pinned.iter().filter_map(|&pin| particles.get(pin as usize));
            let dot = |particle: &Particle| Dot {
                position: cloth.pose.apply(particle.position),
                radius: PIN_RADIUS,
                color: PIN_COLOR,
            };
            pins.map(dot).collect::<Vec<_>>()
        };
        self.cloths.iter().flat_map(of_cloth).collect()
    }
}

impl DrawnCloth {
    fn new(
        device: &wgpu::Device,
        index: usize,
        id: ClothId,
        fabric: Arc<Fabric>,
        pinned: Vec<u32>,
        state: &State,
    ) -> Result<Self, ViewError> {
        let mut vertices = Vec::new();
        let particles = state.current(id);
        let mesh = RenderMesh::of_particles(particles.len() as u32, &fabric.triangles)?;
        render_meshes::fill(&mut vertices, &mesh, particles)?;
        let mut body = Body::new(device, &vertices, &fabric.triangles);
        body.colors = studio::sides(cloth_color(index));
        Ok(Self {
            id,
            pose: Pose::default(),
            edges: StretchEdges::new(&fabric),
            fabric,
            pinned,
            mesh,
            vertices,
            strains: Vec::new(),
            body,
        })
    }

    /// Uploads the vertices and strains of the current particles.
    fn update(&mut self, queue: &wgpu::Queue, current: &[Particle]) -> Result<(), ViewError> {
        self.body.world_from_local = world_from_local(self.pose);
        render_meshes::fill(&mut self.vertices, &self.mesh, current)?;
        queue.write_buffer(&self.body.vertices, 0, bytemuck::cast_slice(&self.vertices));
        strain::fill(&mut self.strains, &self.edges, current);
        queue.write_buffer(&self.body.strains, 0, bytemuck::cast_slice(&self.strains));
        Ok(())
    }

    /// Returns the cloth as a world-space surface.
    fn surface(&self, show: &mut dyn Show, state: &State) -> Result<Surface, ViewError> {
        let pose = show.simulation().cloth(self.id)?.pose();
        let positions = state.positions(self.id).map(|position| pose.apply(position));
        Ok(Surface::new(positions.collect(), self.fabric.triangles.clone(), [0; 3]))
    }
}

fn solid_body(device: &wgpu::Device, surface: &Surface) -> Result<Body, ViewError> {
    let vertices = render_meshes::of_surface(&surface.positions, &surface.triangles)?;
    let mut body = Body::new(device, &vertices, &surface.triangles);
    body.colors = studio::sides(surface.color);
    body.kind = Kind::Solid;
    Ok(body)
}

/// Returns the bounding box of all finite positions; a cube of 1 m around the origin if there are
/// none.
fn bounds_of(surfaces: &[Surface]) -> [DVec3; 2] {
    let positions = surfaces.iter().flat_map(|surface| &surface.positions);
    let points = positions.map(|position| DVec3::from(position.map(f64::from)));
    let none = [DVec3::INFINITY, DVec3::NEG_INFINITY];
    let [low, high] = points
        .filter(|point| point.is_finite())
        .fold(none, |[low, high], point| [low.min(point), high.max(point)]);
    if low.cmple(high).all() { [low, high] } else { [DVec3::splat(-0.5), DVec3::splat(0.5)] }
}
