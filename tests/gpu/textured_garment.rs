//! The example of a textured garment, a separate program, compiles and draws correctly.

#[path = "../../crates/poplin-examples/textured_garment/src/garment.rs"]
mod garment;

#[test]
fn the_garment_shows_both_texture_colours_lit_and_shaded() {
    // The test kit reports a missing adapter.
    let Some(_) = poplin_testkit::adapter::headless(Default::default()) else {
        return;
    };
    let texels = garment::draw(128).unwrap();
    let cloth: Vec<_> = texels.chunks_exact(4).filter(|texel| texel[3] > 0).collect();
    assert!(cloth.len() > 128 * 128 / 10, "only {} texels are covered", cloth.len());
    let (blue, white): (Vec<_>, Vec<_>) = cloth.iter().partition(|texel| texel[2] > texel[0]);
    for (name, color, channel) in [("blue", blue, 2), ("white", white, 0)] {
        let count = color.len();
        assert!(count > cloth.len() / 4, "{count} of {} texels are {name}", cloth.len());
        let values = || color.iter().map(|texel: &&[u8]| texel[channel]);
        let (darkest, brightest) = (values().min().unwrap(), values().max().unwrap());
        assert!(brightest > darkest + 40, "{name} has {darkest} to {brightest}");
    }
}
