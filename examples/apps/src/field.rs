//! Teaches a small network a picture. The program is `field/field.slang`.

use crate::{Fit, Outcome, Program};

const WEIGHTS: usize = 33 * 48 + 49 * 48 + 49 * 3;
const SIDE: usize = 512;
const BATCH: usize = 1024;

/// Runs the given number of iterations and reports each.
pub fn fit(rounds: u32, report: &mut dyn FnMut(u32, f32)) -> Outcome<Fit> {
    let mut program = Program::new("field/field.slang")?;
    program.set("side", SIDE as u32)?;
    program.set("rounds", rounds)?;
    program.zeros("params", WEIGHTS)?;
    program.zeros("gradient", WEIGHTS)?;
    program.zeros("moments", 2 * WEIGHTS)?;
    program.zeros("loss", BATCH)?;
    program.zeros("target", 3 * SIDE * SIDE)?;
    program.zeros("picture", 3 * SIDE * SIDE)?;

    program.run("paintTarget", SIDE * SIDE)?;
    program.run("initialize", WEIGHTS)?;
    let mut losses = vec![];
    for round in 1..=rounds {
        program.set("round", round)?;
        program.run("descend", BATCH)?;
        program.run("update", WEIGHTS)?;
        losses.push(program.read("loss")?.iter().sum::<f32>() / BATCH as f32);
        report(round, losses[losses.len() - 1]);
    }
    program.run("paintPicture", SIDE * SIDE)?;
    Ok(Fit { losses, side: SIDE, target: program.read("target")?, picture: program.read("picture")? })
}
