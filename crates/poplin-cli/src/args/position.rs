//! Options for the position of the mesh of `--mesh` and of its collider.

use clap::Args;
use poplin_run::Ground;
use poplin_scene::Transform;

use super::ranges::{ground, scale, vector};

/// Positions of mesh, collider and floor.
#[derive(Debug, Args)]
#[command(next_help_heading = "Position (of --mesh and --collider)")]
pub(crate) struct PositionArgs {
    /// Displacement of the mesh in metres [default: above the collider, if much of the mesh would
    /// start inside]
    #[arg(long, value_name = "X,Y,Z", value_parser = vector, allow_hyphen_values = true)]
    pub(crate) translate: Option<[f32; 3]>,
    /// Rotations of the mesh in degrees around the world's x axis first, then y, then z
    #[arg(long, value_name = "X,Y,Z", value_parser = vector, allow_hyphen_values = true)]
    pub(crate) rotate: Option<[f32; 3]>,
    /// Factor on all lengths of the mesh and its collider (0.01 for meshes in centimetres)
    #[arg(long, value_name = "FACTOR", value_parser = scale, allow_negative_numbers = true)]
    pub(crate) scale: Option<f32>,
    /// Displacement of the collider in metres
    #[arg(long, value_name = "X,Y,Z", value_parser = vector, allow_hyphen_values = true)]
    pub(crate) collider_translate: Option<[f32; 3]>,
    /// Rotations of the collider in degrees, in the order of --rotate
    #[arg(long, value_name = "X,Y,Z", value_parser = vector, allow_hyphen_values = true)]
    pub(crate) collider_rotate: Option<[f32; 3]>,
    /// Factor on all lengths of the collider [default: --scale]
    #[arg(long, value_name = "FACTOR", value_parser = scale, allow_negative_numbers = true)]
    pub(crate) collider_scale: Option<f32>,
    /// Accept a collider that is not closed: everything behind its nearest triangle is inside
    #[arg(long)]
    pub(crate) open_collider: bool,
    /// Keep the position of the mesh, even if much of it starts inside the collider
    #[arg(long)]
    pub(crate) allow_inside: bool,
    /// Height of a floor in metres, or `none` [default: below mesh and collider, if there is a
    /// collider]
    #[arg(long, value_name = "HEIGHT", value_parser = ground, allow_hyphen_values = true)]
    pub(crate) ground: Option<Ground>,
}

impl PositionArgs {
    /// Returns the transform of the mesh.
    pub(crate) fn transform(&self) -> Transform {
        let default = Transform::default();
        Transform {
            translation: self.translate.unwrap_or(default.translation),
            rotation: self.rotate.unwrap_or(default.rotation),
            scale: self.scale.unwrap_or(default.scale),
        }
    }

    /// Returns the transform of the collider.
    pub(crate) fn collider_transform(&self) -> Transform {
        let default = Transform::default();
        Transform {
            translation: self.collider_translate.unwrap_or(default.translation),
            rotation: self.collider_rotate.unwrap_or(default.rotation),
            scale: self.collider_scale.or(self.scale).unwrap_or(default.scale),
        }
    }

    /// Returns the first stated option of this group, all of which need --mesh.
    pub(crate) fn stated(&self) -> Option<&'static str> {
        let of_mesh = [
            (self.translate.is_some(), "--translate"),
            (self.rotate.is_some(), "--rotate"),
            (self.scale.is_some(), "--scale"),
        ];
        let ground = [(self.ground.is_some(), "--ground")];
        first_stated(of_mesh.into_iter().chain(self.of_collider()).chain(ground))
    }

    /// Returns the first stated option that needs --collider.
    pub(crate) fn stated_of_collider(&self) -> Option<&'static str> {
        first_stated(self.of_collider())
    }

    /// Lists the options that need --collider, each with true if it is stated.
    fn of_collider(&self) -> [(bool, &'static str); 5] {
        [
            (self.collider_translate.is_some(), "--collider-translate"),
            (self.collider_rotate.is_some(), "--collider-rotate"),
            (self.collider_scale.is_some(), "--collider-scale"),
            (self.open_collider, "--open-collider"),
            (self.allow_inside, "--allow-inside"),
        ]
    }
}

/// Returns the first option that is stated.
pub(super) fn first_stated(
    options: impl IntoIterator<Item = (bool, &'static str)>,
) -> Option<&'static str> {
    options.into_iter().find(|(is_stated, _)| *is_stated).map(|(_, name)| name)
}
