//! Packs the reference cases and stage files into one compressed file, which the crate embeds: a
//! line each, the name of the file and its JSON.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::ZlibEncoder;

fn main() {
    println!("cargo::rerun-if-changed=cases");
    let target = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    for (name, folder) in [("cases.z", "cases"), ("stages.z", "cases/stages")] {
        let packed = pack(Path::new(folder));
        fs::write(target.join(name), packed).expect("the folder of the build can be written");
    }
}

/// Packs the JSON files of a folder.
fn pack(folder: &Path) -> Vec<u8> {
    let entries = fs::read_dir(folder).expect("the crate has its cases");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    files.retain(|path| path.extension().is_some_and(|it| it == "json"));
    files.sort();
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    for path in files {
        let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("a case is text").replace(['\n', '\r'], " ");
        writeln!(packed, "{name}\t{text}").expect("memory takes it");
    }
    packed.finish().expect("memory takes it")
}
