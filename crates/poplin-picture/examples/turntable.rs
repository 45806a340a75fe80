//! Draws an OBJ mesh from eight sides:
//!
//! `cargo run -p poplin-picture --example turntable -- shirt.obj shirt.png`

use poplin_io::read_obj;
use poplin_picture::{ContactSheet, Surface, cloth_color};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mesh = read_obj(arguments.next().unwrap_or_default())?;
    let picture = arguments.next().unwrap_or_else(|| "turntable.png".into());
    let mut sheet = ContactSheet::new(4, 2, 400)?;
    for side in 0..8_u8 {
        let (sin, cos) = (f32::from(side) * std::f32::consts::FRAC_PI_4).sin_cos();
        let positions = mesh
            .positions
            .iter()
            .map(|[x, y, z]| [cos * x + sin * z, *y, cos * z - sin * x])
            .collect();
        sheet.add(
            format!("{} degrees", 45 * u16::from(side)),
            vec![Surface::new(positions, mesh.triangulated(), cloth_color(0))],
        )?;
    }
    Ok(sheet.write_png(picture)?)
}
