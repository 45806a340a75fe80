//! Writes the picture of a skirt, `garment.ppm`.

mod garment;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut file = b"P6 768 768 255\n".to_vec();
    file.extend(garment::draw(768)?.chunks_exact(4).flat_map(|texel| &texel[..3]));
    Ok(std::fs::write("garment.ppm", file)?)
}
