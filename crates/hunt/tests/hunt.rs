//! A thousand random programs: five hundred must obey the laws of derivatives, five hundred must agree with their model, a sample
//! of them also as C++; and two hundred kernels must obey the laws of kernels. `cargo xtask hunt --programs 1 --seed S` shows one that fails, made small. `cargo xtask mutants` shows
//! that these tests catch wrong derivatives.

use cotangent_hunt::{Asked, FEATURES, compiler, hunt_models, law};
use std::path::PathBuf;

/// Programs that are tried in one test.
const EACH: u64 = 50;

fn laws(number: u64) {
    let (mut smooth, mut second) = (0, 0);
    for seed in 1 + number * EACH..1 + (number + 1) * EACH {
        match law(seed) {
            Ok(tally) => (smooth, second) = (smooth + tally.smooth, second + tally.second),
            Err(failure) => panic!("seed {seed}: {:?}\n{}", failure.kind, failure.text),
        }
    }
    assert!(smooth > 80, "central differences decided at {smooth} points only");
    assert!(second > 2, "only {second} functions of second order");
}

/// A folder of this process, which is removed in the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn models(number: u64) {
    let name = format!("cotangent-hunt-{}-{number}", std::process::id());
    let folder = Folder(std::env::temp_dir().join(name));
    std::fs::create_dir_all(&folder.0).expect("there is room for temporary files");
    let compiler = compiler();
    if compiler.is_none() {
        eprintln!("no C++ compiler: only the interpreter is asked");
    }
    let cpp = compiler.as_deref().map(|compiler| (compiler, &*folder.0, 1));
    let asked = Asked { features: FEATURES, cpp, shrink: false };
    let seeds = 1 + number * EACH..1 + (number + 1) * EACH;
    let (compared, _) = hunt_models(seeds, asked, &mut |c| {
        panic!("seed {}: {:?}\n{}\n{}", c.seed, c.failure.kind, c.failure.text, c.source)
    });
    assert!(compared as u64 > EACH * 4 / 5, "only {compared} programs were compared");
}

fn kernels(number: u64) {
    for seed in 1 + number * EACH..1 + (number + 1) * EACH {
        if let Err(why) = cotangent_hunt::kernels::law(seed) {
            panic!("seed {seed}: {why}");
        }
    }
}

#[test]
fn kernels_0() {
    kernels(0);
}

#[test]
fn kernels_1() {
    kernels(1);
}

#[test]
fn kernels_2() {
    kernels(2);
}

#[test]
fn kernels_3() {
    kernels(3);
}

macro_rules! tests {
    ($($number:literal $law:ident $model:ident)*) => {
        $(
            #[test]
            fn $law() {
                laws($number);
            }

            #[test]
            fn $model() {
                models($number);
            }
        )*
    };
}

tests! {
    0 laws_0 models_0
    1 laws_1 models_1
    2 laws_2 models_2
    3 laws_3 models_3
    4 laws_4 models_4
    5 laws_5 models_5
    6 laws_6 models_6
    7 laws_7 models_7
    8 laws_8 models_8
    9 laws_9 models_9
}
