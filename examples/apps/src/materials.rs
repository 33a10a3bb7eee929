//! Finds the materials of three spheres from a picture. The program is `materials/materials.slang`.

use crate::{Fit, Outcome, Program};

const NUMBERS: usize = 8;
const SIDE: usize = 512;
const BATCH: usize = 4096;

/// What the target is painted with: matte, glossy, velvet.
#[rustfmt::skip]
const HIDDEN: [f32; 3 * NUMBERS] = [
    0.7, 0.25, 0.15,  0.0, 0.0, 0.0,  0.0,  0.0,
    0.1, 0.25, 0.5,   0.8, 0.8, 0.7,  3.5,  0.0,
    0.1, 0.3, 0.12,   0.7, 0.9, 0.3,  1.2,  0.0,
];

/// Runs the given number of iterations and reports each.
pub fn fit(rounds: u32, report: &mut dyn FnMut(u32, f32)) -> Outcome<Fit> {
    let mut program = Program::new("materials/materials.slang")?;
    program.set("side", SIDE as u32)?;
    program.set("rounds", rounds)?;
    program.integers("kinds", &[0, 1, 2])?;
    program.zeros("gradient", HIDDEN.len())?;
    program.zeros("moments", 2 * HIDDEN.len())?;
    program.zeros("loss", BATCH)?;
    program.zeros("target", 3 * SIDE * SIDE)?;
    program.zeros("picture", 3 * SIDE * SIDE)?;

    program.fill("params", &HIDDEN)?;
    program.run("paintTarget", SIDE * SIDE)?;
    program.fill("params", &[0.4; HIDDEN.len()])?;
    let mut losses = vec![];
    for round in 1..=rounds {
        program.set("round", round)?;
        program.run("descend", BATCH)?;
        program.run("update", HIDDEN.len())?;
        losses.push(program.read("loss")?.iter().sum::<f32>() / BATCH as f32);
        report(round, losses[losses.len() - 1]);
    }
    program.run("paintPicture", SIDE * SIDE)?;
    Ok(Fit { losses, side: SIDE, target: program.read("target")?, picture: program.read("picture")? })
}
