//! Fits Gaussian splats to a picture. The program is `splats/splats.slang`.

use crate::{Fit, Outcome, Program};

const GRID: usize = 72;
const NUMBERS: usize = 9;
const SIDE: usize = 512;
const BATCH: usize = 1 << 14;

/// Runs the given number of iterations and reports each.
pub fn fit(rounds: u32, report: &mut dyn FnMut(u32, f32)) -> Outcome<Fit> {
    let mut program = Program::new("splats/splats.slang")?;
    program.set("grid", GRID as u32)?;
    program.set("side", SIDE as u32)?;
    program.set("rounds", rounds)?;
    program.fill("params", &beginning())?;
    program.zeros("gradient", GRID * GRID * NUMBERS)?;
    program.zeros("moments", 2 * GRID * GRID * NUMBERS)?;
    program.zeros("loss", BATCH)?;
    program.zeros("target", 3 * SIDE * SIDE)?;
    program.zeros("picture", 3 * SIDE * SIDE)?;

    program.run("paintTarget", SIDE * SIDE)?;
    let mut losses = vec![];
    for round in 1..=rounds {
        program.set("round", round)?;
        program.run("descend", BATCH)?;
        program.run("update", GRID * GRID * NUMBERS)?;
        losses.push(program.read("loss")?.iter().sum::<f32>() / BATCH as f32);
        report(round, losses[losses.len() - 1]);
    }
    program.run("paintPicture", SIDE * SIDE)?;
    Ok(Fit { losses, side: SIDE, target: program.read("target")?, picture: program.read("picture")? })
}

/// Grey splats, each in the middle of its cell.
fn beginning() -> Vec<f32> {
    let cell = 1.0 / GRID as f32;
    let splat = |i: usize| {
        let (x, y) = ((i % GRID) as f32 + 0.5, (i / GRID) as f32 + 0.5);
        let scale = (0.6 * cell).ln();
        [x * cell, y * cell, scale, scale, 0.0, 0.5, 0.5, 0.5, 0.0]
    };
    (0..GRID * GRID).flat_map(splat).collect()
}
