//! The standard library's text, built in.

macro_rules! library {
    ($($name:literal),* $(,)?) => {
        &[$((concat!("std/", $name), include_str!(concat!("../../../std/", $name)))),*]
    };
}

/// Path and text of each file.
pub const FILES: &[(&str, &str)] = library![
    "atomics.slang",
    "bits.slang",
    "bytes.slang",
    "core.slang",
    "diff.slang",
    "functions.slang",
    "geometry.slang",
    "math.slang",
    "memory.slang",
    "packing.slang",
    "resources.slang",
    "scalars.slang",
    "shapes.slang",
    "textures.slang",
];

#[cfg(test)]
mod tests {
    #[test]
    fn every_file_of_the_library_is_built_in() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../std");
        let names =
            std::fs::read_dir(folder).unwrap().flatten().map(|e| e.file_name().into_string().unwrap());
        let mut names: Vec<String> = names.map(|n| format!("std/{n}")).collect();
        names.sort();
        assert_eq!(names, super::FILES.iter().map(|(path, _)| path.to_string()).collect::<Vec<_>>());
    }
}
