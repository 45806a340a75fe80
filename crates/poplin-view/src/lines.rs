//! Debug lines over the cloths: edges, normals, tethers, spheres and contacts.

use glam::Mat4;
use poplin::ClothId;
use poplin::cook::Solids;
use poplin::gpu::{DebugLines, DebugList, DebugPass, DebugTarget, DebugView};
use poplin::model::{Particle, Shape, Sphere};

use crate::{Gpu, Show, ViewError};

/// Length of a normal in mean edges.
const NORMAL: f32 = 0.7;

/// Length of the normal of a contact, in mean edges.
const CONTACT: f32 = 1.5;
/// Distance from a surface up to which a particle is a contact, in mean edges.
const REACH: f32 = 0.02;

/// Linear colour of normals; the other colours below are linear too.
const NORMAL_COLOR: [u8; 4] = [10, 70, 150, 255];
const TETHER_COLOR: [u8; 4] = [150, 40, 110, 255];
const MOTION_COLOR: [u8; 4] = [20, 110, 40, 255];
const SEPARATION_COLOR: [u8; 4] = [160, 70, 5, 255];
const CONTACT_COLOR: [u8; 4] = [190, 10, 5, 255];

/// Layers of lines to draw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LineLayers {
    /// Edges, coloured by set.
    pub edges: bool,
    /// Normals of triangles.
    pub normals: bool,
    /// Lines from particles to their tether anchors.
    pub tethers: bool,
    /// Motion and separation spheres.
    pub spheres: bool,
    /// Normals where particles touch colliders.
    pub contacts: bool,
}

impl LineLayers {
    fn has_any(self) -> bool {
        self != Self::default()
    }
}

/// Lines of a scene.
#[derive(Debug)]
pub(crate) struct Lines {
    debug: DebugPass,
    cloths: Vec<ClothLines>,
}

/// Lines of a cloth, in its local space.
#[derive(Debug)]
struct ClothLines {
    particles: wgpu::Buffer,
    list: DebugList,
    world_from_local: Mat4,
}

/// Current particles and transform of a cloth.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lined<'a> {
    pub(crate) id: ClothId,
    pub(crate) particles: &'a [Particle],
    pub(crate) world_from_local: Mat4,
}

impl Lines {
    /// Creates a line pass for this kind of target.
    pub(crate) fn new(gpu: &Gpu, target: &DebugTarget) -> Result<Self, ViewError> {
        let debug = DebugPass::new(&gpu.device, &gpu.queue, target)?;
        Ok(Self { debug, cloths: Vec::new() })
    }

    /// Updates the lines of all cloths.
    pub(crate) fn update<'a>(
        &mut self,
        gpu: &Gpu,
        layers: LineLayers,
        show: &mut dyn Show,
        shapes: &[Shape],
        cloths: impl Iterator<Item = Lined<'a>>,
    ) -> Result<(), ViewError> {
        if !layers.has_any() {
            self.cloths.clear();
            return Ok(());
        }
        let solids = layers.contacts.then(|| Solids::new(shapes));
        let mut count = 0;
        for (index, cloth) in cloths.enumerate() {
            count = index + 1;
            let size = size_of_val(cloth.particles) as u64;
            // A buffer of equal size is reused; others are recreated.
            let is_known =
                self.cloths.get(index).is_some_and(|lines| lines.particles.size() == size.max(16));
            if !is_known {
                self.cloths.truncate(index);
                self.cloths.push(ClothLines {
                    particles: gpu.device.create_buffer(&wgpu::BufferDescriptor {
                        label: Some("poplin.view.particles"),
                        size: size.max(16),
                        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
                        mapped_at_creation: false,
                    }),
                    list: self.debug.list(),
                    world_from_local: Mat4::IDENTITY,
                });
            }
            let drawn = &mut self.cloths[index];
            gpu.queue.write_buffer(&drawn.particles, 0, bytemuck::cast_slice(cloth.particles));
            drawn.world_from_local = cloth.world_from_local;
            let lines = lines_of(layers, show, solids.as_ref(), &cloth)?;
            self.debug.set(&mut drawn.list, &lines)?;
        }
        self.cloths.truncate(count);
        Ok(())
    }

    /// Draws the lines.
    pub(crate) fn draw(
        &mut self,
        pass: &mut wgpu::RenderPass<'_>,
        clip_from_world: Mat4,
    ) -> Result<(), ViewError> {
        for ClothLines { particles, list, world_from_local } in &mut self.cloths {
            let clip_from_local = (clip_from_world * *world_from_local).to_cols_array_2d();
            let view = DebugView { clip_from_local, particle_begin: 0, strain_limit: 1.0 };
            self.debug.draw(pass, list, particles, &view)?;
        }
        Ok(())
    }
}

fn lines_of(
    layers: LineLayers,
    show: &mut dyn Show,
    solids: Option<&Solids>,
    cloth: &Lined<'_>,
) -> Result<DebugLines, ViewError> {
    let live = show.simulation().cloth(cloth.id)?;
    let fabric = &live.desc().fabric;
    let rest_lengths = &fabric.rest_lengths;
    let edge = rest_lengths.iter().sum::<f32>() / rest_lengths.len().max(1) as f32;
    let mut lines = DebugLines::new();
    if layers.edges {
        lines.fibers(fabric);
    }
    if layers.normals {
        lines.normals(&fabric.triangles, NORMAL * edge, NORMAL_COLOR);
    }
    if layers.tethers {
        lines.tethers(fabric, TETHER_COLOR);
    }
    if layers.spheres {
        // Skips points (radius 0) and unlimited spheres (maximum radius).
        let has_radius =
            |sphere: &&Sphere| sphere.radius > 0.0 && sphere.radius < poplin::model::MAX_COORDINATE;
        let spheres =
            |spheres: &[Sphere]| -> Vec<_> { spheres.iter().filter(has_radius).copied().collect() };
        lines.spheres(&spheres(live.motion_spheres()), MOTION_COLOR);
        lines.spheres(&spheres(live.separation_spheres()), SEPARATION_COLOR);
    }
    if let Some(solids) = solids {
        let contacts = solids.contacts(live.pose(), cloth.particles, REACH * edge);
        let vector = |axis: f32| axis * CONTACT * edge;
        let normals = contacts.iter().map(|it| (it.particle, it.normal.map(vector)));
        lines.vectors(normals, CONTACT_COLOR);
    }
    Ok(lines)
}
