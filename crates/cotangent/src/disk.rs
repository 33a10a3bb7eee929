//! Loads source files from disk. No other module of the library reads files.

use crate::Loader;
use cotangent_base::nearest;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Looks for a file beside the one that imports it, then in the include directories. A program may name any file by `..`, an
/// absolute path or a link, and diagnostics quote source lines. To compile untrusted programs, give a root ([`Disk::within`]):
/// no file outside it is read.
#[derive(Clone, Default, Debug)]
pub struct Disk {
    /// The directories, in order.
    include: Vec<PathBuf>,
    /// The folder outside which nothing is read, as a path without links.
    root: Option<PathBuf>,
}

impl Loader for Disk {
    fn load(&self, path: &str) -> Option<String> {
        self.read(path).ok().map(|bytes| decode(&bytes))
    }

    fn why_not(&self, path: &str) -> String {
        match self.read(path) {
            Err(_) if self.root.is_some() && self.inside(Path::new(path)).is_none() => {
                "it is outside the root folder".to_string()
            }
            Err(error) if error.kind() == ErrorKind::NotFound => match similar(Path::new(path)) {
                Some(near) => format!("there is no such file; did you mean `{near}`?"),
                None => "there is no such file".to_string(),
            },
            Err(error) => reason(error.kind()).map_or_else(|| error.to_string(), str::to_string),
            Ok(_) => "it was created after the compiler looked for it".to_string(),
        }
    }

    fn places(&self, from: &str, name: &str) -> Vec<String> {
        self.candidates(from, name).map(|path| path.display().to_string()).collect()
    }

    fn resolve(&self, from: &str, name: &str) -> Option<String> {
        let found = self.candidates(from, name).find(|p| p.is_file() && self.inside(p).is_some())?;
        Some(found.display().to_string())
    }

    fn identity(&self, path: &str) -> String {
        std::fs::canonicalize(path).map_or_else(|_| path.to_string(), |path| path.display().to_string())
    }

    fn limit(&self) -> Option<String> {
        self.root.as_ref().map(|_| "only files in the root folder are read".to_string())
    }
}

/// Text in UTF-8, or in UTF-16 as some editors write it: it begins with a mark, or with an ASCII character. What cannot be read
/// becomes a character that the lexer points at.
fn decode(bytes: &[u8]) -> String {
    let wide = |unit: fn([u8; 2]) -> u16| {
        let units = bytes.chunks(2).map(|pair| unit([pair[0], *pair.get(1).unwrap_or(&0xff)]));
        String::from_utf16_lossy(&units.collect::<Vec<_>>())
    };
    match bytes {
        [0xff, 0xfe, ..] | [1..=0x7f, 0, ..] => wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] | [0, 1..=0x7f, ..] => wide(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// Why a file cannot be read, for what is common.
fn reason(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::PermissionDenied => Some("permission denied"),
        ErrorKind::IsADirectory => Some("it is a folder"),
        ErrorKind::NotADirectory => Some("a part of the path is not a folder"),
        _ => None,
    }
}

/// A source file in the same folder whose name is nearly that, or that but for its ending.
fn similar(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let folder = path.parent()?;
    let entries =
        std::fs::read_dir(if folder.as_os_str().is_empty() { Path::new(".") } else { folder }).ok()?;
    let names = entries.flatten().filter(|entry| entry.path().is_file());
    let names: Vec<String> = names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let with_ending = format!("{name}.slang");
    let near = match names.iter().find(|other| **other == with_ending) {
        Some(found) => found.as_str(),
        None => nearest(name, names.iter().map(String::as_str).filter(|other| other.ends_with(".slang")))?,
    };
    Some(folder.join(near).display().to_string())
}

impl Disk {
    /// Reads any file, and looks in these directories.
    pub const fn new(include: Vec<PathBuf>) -> Self {
        Disk { include, root: None }
    }

    /// As [`Disk::new`], but reads nothing outside the folder `root`.
    pub fn within(root: &Path, include: Vec<PathBuf>) -> std::io::Result<Self> {
        Ok(Disk { include, root: Some(root.canonicalize()?) })
    }

    /// The bytes of a file, if it may be read. Callers use this for data files too, so that the same rule holds for all files.
    pub fn read(&self, path: &str) -> std::io::Result<Vec<u8>> {
        match self.inside(Path::new(path)) {
            Some(path) => std::fs::read(path),
            // The message must not reveal whether the file exists.
            None => Err(std::io::Error::new(ErrorKind::NotFound, "there is no such file in the root folder")),
        }
    }

    /// The path to read in place of `path`. With a root, links are resolved and the result must lie inside the root.
    fn inside(&self, path: &Path) -> Option<PathBuf> {
        let Some(root) = &self.root else { return Some(path.to_path_buf()) };
        path.canonicalize().ok().filter(|real| real.starts_with(root))
    }

    fn candidates<'a>(&'a self, from: &'a str, name: &'a str) -> impl Iterator<Item = PathBuf> + 'a {
        let beside = Path::new(from).parent();
        beside.into_iter().chain(self.include.iter().map(PathBuf::as_path)).map(move |dir| dir.join(name))
    }
}

#[cfg(test)]
mod tests {
    use super::{Disk, decode};
    use crate::Loader;

    #[cfg(unix)]
    #[test]
    fn with_a_root_nothing_outside_is_read() {
        let base = std::env::temp_dir().join(format!("cotangent-root-{}", std::process::id()));
        let root = base.join("root");
        std::fs::create_dir_all(root.join("deep")).unwrap();
        for (path, text) in
            [("secret.slang", "outside"), ("root/a.slang", "in"), ("root/deep/b.slang", "deep")]
        {
            std::fs::write(base.join(path), text).unwrap();
        }
        std::os::unix::fs::symlink(base.join("secret.slang"), root.join("link.slang")).unwrap();
        std::os::unix::fs::symlink(root.join("deep"), root.join("also")).unwrap();
        let disk = Disk::within(&root, vec![base.clone()]).unwrap();
        let from = root.join("deep/b.slang").display().to_string();
        let found = |name: &str| disk.resolve(&from, name).and_then(|path| disk.load(&path));
        assert_eq!(found("../a.slang").as_deref(), Some("in"));
        assert_eq!(found("../also/b.slang").as_deref(), Some("deep"));
        let secret = base.join("secret.slang").display().to_string();
        for outside in ["../../secret.slang", "../link.slang", "secret.slang", &secret] {
            assert_eq!(found(outside), None, "{outside}");
        }
        // A path from elsewhere than `resolve`, as that of the command line.
        assert_eq!(disk.load(&secret), None);
        assert!(disk.read(&root.join("link.slang").display().to_string()).is_err());
        assert_eq!(disk.why_not(&secret), disk.why_not(&base.join("nothing").display().to_string()));
        std::fs::remove_dir_all(&base).unwrap();
    }

    #[test]
    fn text_is_read_in_utf_8_and_utf_16() {
        let text = "// größer\nint x;";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [text.as_bytes(), &little, &big] {
            assert_eq!(decode(bytes), text);
        }
        let marked = [&[0xff, 0xfe][..], &little].concat();
        assert_eq!(decode(&marked), format!("\u{feff}{text}"));
        assert_eq!(decode(b"// gr\xf6\xdfer"), "// gr\u{fffd}\u{fffd}er");
    }
}
