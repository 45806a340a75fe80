//! Local HTTP server for one page that also receives the results that the page posts.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Result that the page posted to `/result/NAME`: the name and the body.
type Posted = (String, Vec<u8>);

/// Largest body of a post \[bytes\].
const MOST: usize = 1 << 26;

/// Serves the files of a folder at a port (0 for any free one) until the program ends; returns the
/// address and the posted results.
pub(crate) fn serve(folder: &Path, port: u16) -> Result<(SocketAddr, Receiver<Posted>), String> {
    let error = |error| format!("no server at port {port}: {error}");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(error)?;
    let address = listener.local_addr().map_err(error)?;
    let (sender, receiver) = channel();
    let folder = folder.to_path_buf();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // Browsers open spare connections in advance; an idle one must not block the others.
            let (folder, sender) = (folder.clone(), sender.clone());
            std::thread::spawn(move || answer(stream, &folder, &sender));
        }
    });
    Ok((address, receiver))
}

/// Answers one request; returns `None` if the connection fails or the request is malformed.
fn answer(mut stream: TcpStream, folder: &Path, sender: &Sender<Posted>) -> Option<()> {
    stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.by_ref().take(8192).read_line(&mut line).ok()?;
        if line.trim().is_empty() || head.len() == 100 {
            break;
        }
        head.push(line);
    }
    let mut words = head.first()?.split_whitespace();
    let (method, target) = (words.next()?, words.next()?);
    let path = target.split('?').next()?.trim_start_matches('/');
    let (status, kind, body) = match (method, path.strip_prefix("result/")) {
        ("POST", Some(name)) => {
            let length = head.iter().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
            });
            let mut body = vec![0; length.unwrap_or(0).min(MOST)];
            reader.read_exact(&mut body).ok()?;
            sender.send((name.to_owned(), body)).ok()?;
            ("204 No Content", "text/plain", Vec::new())
        }
        ("GET", _) => {
            match find(folder, path).and_then(|path| std::fs::read(&path).ok().zip(kind(&path))) {
                Some((body, kind)) => ("200 OK", kind, body),
                None => ("404 Not Found", "text/plain", Vec::new()),
            }
        }
        _ => ("405 Method Not Allowed", "text/plain", Vec::new()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(&body).ok()
}

/// Returns the path of a file directly in the folder; rejects names with separators and `..`.
fn find(folder: &Path, path: &str) -> Option<PathBuf> {
    let name = if path.is_empty() { "index.html" } else { path };
    (!name.contains(['/', '\\']) && name != "..").then(|| folder.join(name))
}

/// Returns the MIME type by extension; files of other types are not served.
fn kind(path: &Path) -> Option<&'static str> {
    Some(match path.extension()?.to_str()? {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css",
        "js" => "text/javascript",
        "wasm" => "application/wasm",
        _ => return None,
    })
}
