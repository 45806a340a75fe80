//! Quick.
fn main() {
    let backend = if std::env::args().nth(1).as_deref() == Some("gpu") { poplin::Backend::Gpu } else { poplin::Backend::Cpu };
    for path in std::env::args().skip(2) {
        let case = poplin_testkit::case::Case::load(path.as_ref()).unwrap();
        let t = std::time::Instant::now();
        match poplin_testkit::conform::run_case(&case, &backend.into()) {
            Ok(v) => println!("{:28} {} {:?} {:?} ms", case.name, if v.passes() { "pass" } else { "FAIL" }, v.worst(), t.elapsed().as_millis()),
            Err(e) => println!("{:28} {e}", case.name),
        }
    }
}
