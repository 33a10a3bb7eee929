//! Fits Gaussian splats to a picture. The program is `splats/splats.slang`.

use crate::{Fit, Outcome, Program};

const COUNT: usize = 48;
const NUMBERS: usize = 9;
const SIDE: usize = 48;
const BATCH: usize = 256;

/// Runs so many rounds and reports each.
pub fn fit(rounds: u32, report: &mut dyn FnMut(u32, f32)) -> Outcome<Fit> {
    let mut program = Program::new("splats/splats.slang")?;
    program.set("count", COUNT as u32)?;
    program.set("side", SIDE as u32)?;
    program.fill("params", &beginning())?;
    program.zeros("gradient", COUNT * NUMBERS)?;
    program.zeros("moments", 2 * COUNT * NUMBERS)?;
    program.zeros("loss", BATCH)?;
    program.zeros("target", 3 * SIDE * SIDE)?;
    program.zeros("picture", 3 * SIDE * SIDE)?;

    program.run("paintTarget", SIDE * SIDE)?;
    let mut losses = vec![];
    for round in 1..=rounds {
        program.set("round", round)?;
        program.run("descend", BATCH)?;
        program.run("update", COUNT * NUMBERS)?;
        losses.push(program.read("loss")?.iter().sum::<f32>() / BATCH as f32);
        report(round, losses[losses.len() - 1]);
    }
    program.run("paintPicture", SIDE * SIDE)?;
    Ok(Fit { losses, side: SIDE, target: program.read("target")?, picture: program.read("picture")? })
}

/// Grey splats on a spiral that covers the picture.
fn beginning() -> Vec<f32> {
    let splat = |i: usize| {
        let (turn, radius) = (2.4 * i as f32, 0.68 * ((i as f32 + 0.5) / COUNT as f32).sqrt());
        [0.5 + radius * turn.cos(), 0.5 + radius * turn.sin(), -2.4, -2.4, 0.0, 0.5, 0.5, 0.5, 0.0]
    };
    (0..COUNT).flat_map(splat).collect()
}
