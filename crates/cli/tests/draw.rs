//! Some programs of `tests/pipeline`, drawn on a graphics processor, or Mesa's lavapipe in its place, as WGSL and as SPIR-V: the
//! pixels are those that a derivation by hand gives.

#![cfg(feature = "gpu")]

mod support;

use cotangent::ir::layout::Target;
use cotangent::{Disk, Emitted, Request, Roots, Session, Symbol};
use cotangent_gpu::{Binding, Code, Content, Device, Drawing};
use support::folder;

const SIZE: [u32; 2] = [4, 2];

/// The pixels of a program, for both languages; none if there is no device.
fn draw(program: &str, fragment: &str, bindings: Vec<Binding>) -> Vec<Vec<[f32; 4]>> {
    let Some(device) = Device::open(None).ok().filter(|device| device.info().backend == "Vulkan") else {
        eprintln!("skipped: there is no Vulkan device");
        return vec![];
    };
    let path = folder("pipeline").join(program).display().to_string();
    let entries = ["corner", fragment].map(Symbol::new).to_vec();
    let compiled = Session::new(Disk::default()).program(&Request::new(path));
    let lowered = compiled.compile(Roots::Entries(entries)).accept();
    let lowered = lowered.unwrap_or_else(|rejected| panic!("{rejected}"));
    let pixels = [Target::Wgsl, Target::SpirV].map(|target| {
        let code = match cotangent::shader(&lowered, target, None) {
            Ok(Emitted::Text(text)) => Code::Wgsl(text),
            Ok(Emitted::Words(words)) => Code::SpirV(words),
            Err(refusal) => panic!("{}", refusal.message),
        };
        let (vertex, fragment) = ("corner".to_string(), fragment.to_string());
        device
            .draw_triangle(&Drawing { code, vertex, fragment, bindings: bindings.clone(), size: SIZE })
            .unwrap_or_else(|e| panic!("{program} for {}: {e}", target.name()))
    });
    pixels.to_vec()
}

/// The places of the pixels on a square, row by row from the top.
fn places() -> impl Iterator<Item = (u32, u32, f64, f64)> {
    let [width, height] = SIZE.map(f64::from);
    let place = move |row: u32, column: u32| {
        (row, column, (f64::from(column) + 0.5) / width, 1.0 - (f64::from(row) + 0.5) / height)
    };
    (0..SIZE[1]).flat_map(move |row| (0..SIZE[0]).map(move |column| place(row, column)))
}

fn compare(pixels: &[[f32; 4]], expected: impl Fn(u32, u32, f64, f64) -> [f64; 4]) {
    assert_eq!(pixels.len(), (SIZE[0] * SIZE[1]) as usize);
    for (pixel, (row, column, x, y)) in pixels.iter().zip(places()) {
        for (got, want) in pixel.iter().zip(expected(row, column, x, y)) {
            assert!(
                (f64::from(*got) - want).abs() < 1e-5,
                "row {row}, column {column}: {pixel:?}, not {want}"
            );
        }
    }
}

#[test]
fn a_surface_is_shaded_by_its_gradient() {
    let (time, light) = (0.5f32, [0.6f32, 0.0, 0.8]);
    let numbers = [time, 0.0, 0.0, 0.0, light[0], light[1], light[2], 0.0];
    let content = Content::Uniform(numbers.iter().flat_map(|n| n.to_le_bytes()).collect());
    let bindings = vec![Binding { name: "parameters".into(), group: 0, index: 0, content }];
    for pixels in draw("dunes.slang", "shade", bindings) {
        compare(&pixels, |_, _, x, y| {
            let (phase, t) = (3.0 * x + f64::from(time), 2.0 * y);
            // The partial derivatives of sin(3x + t) cos(2y).
            let (along_x, along_y) = (3.0 * phase.cos() * t.cos(), -2.0 * phase.sin() * t.sin());
            let lit = (0.8 - 0.6 * along_x) / (along_x * along_x + along_y * along_y + 1.0).sqrt();
            [along_x, along_y, lit.clamp(0.0, 1.0), phase.sin() * t.cos()]
        });
    }
}

#[test]
fn pixels_have_neighbours_and_can_be_given_up() {
    for pixels in draw("quads.slang", "measure", vec![]) {
        compare(&pixels, |_, column, x, y| {
            if x > 0.5 && y > 0.5 {
                return [0.0; 4];
            }
            [1.0 / f64::from(SIZE[0]), 1.0 / f64::from(SIZE[1]), f64::from(column) + 0.5, 7.0]
        });
    }
}

#[test]
fn planes_cut_triangles_off() {
    for pixels in draw("halved.slang", "fill", vec![]) {
        compare(&pixels, |_, _, x, y| if x > 0.5 { [0.0; 4] } else { [x, y, 1.0, 1.0] });
    }
}
