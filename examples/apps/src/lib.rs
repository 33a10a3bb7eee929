//! The applications, and what they share: a compiled module with its parameters, a loss curve on the screen, a picture on
//! disk. All that computes is in Slang, beside this crate; the host calls entry points.

pub mod field;
pub mod materials;
pub mod splats;

use cotangent::jit::Native;
use cotangent::runtime::{Data, Launch, Runner};
use cotangent::{Disk, Request, Roots, Scalar, Session};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

/// How an application ends.
pub type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// A compiled module, loaded once, and the memory of its parameters, which stays where the module runs.
pub struct Program(Runner<Native>);

impl Program {
    /// Compiles `examples/apps/NAME`, with every entry point.
    pub fn new(name: &str) -> Outcome<Program> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        // The applications keep here what they share.
        let disk = Disk::new(vec![folder.into()]);
        let program = Session::new(disk).program(&Request::new(folder.join(name).display().to_string()));
        let lowered = program.compile(Roots::Module).accept()?;
        Ok(Program(Runner::new(Arc::new(Native::default()), cotangent::compiled(&lowered))?))
    }

    /// Sets a uniform integer.
    pub fn set(&mut self, name: &str, value: u32) -> Outcome {
        Ok(self.0.params.set(name, &Data::Bytes(Some(Scalar::U32), value.to_le_bytes().to_vec()))?)
    }

    /// Fills a buffer of floats.
    pub fn fill(&mut self, name: &str, values: &[f32]) -> Outcome {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Ok(self.0.params.set(name, &Data::Bytes(Some(Scalar::F32), bytes))?)
    }

    /// Fills a buffer of integers.
    pub fn integers(&mut self, name: &str, values: &[i32]) -> Outcome {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Ok(self.0.params.set(name, &Data::Bytes(Some(Scalar::I32), bytes))?)
    }

    /// Makes a buffer of that many zeros.
    pub fn zeros(&mut self, name: &str, count: usize) -> Outcome {
        self.fill(name, &vec![0.0; count])
    }

    /// The floats in a buffer.
    pub fn read(&mut self, name: &str) -> Outcome<Vec<f32>> {
        let bytes = self.0.read(name)?;
        Ok(bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
    }

    /// Runs an entry point for at least `threads` threads, in groups of 64.
    pub fn run(&mut self, entry: &str, threads: usize) -> Outcome {
        let groups = [threads.div_ceil(64) as u32, 1, 1];
        let launched = self.0.launch(entry, groups, Launch::default())?;
        launched.ended.map_err(|stopped| stopped.diagnostic().message.into())
    }
}

/// What an optimiser found.
pub struct Fit {
    /// The loss of every iteration.
    pub losses: Vec<f32>,
    /// Pixels along an edge of the pictures.
    pub side: usize,
    /// What was to be matched: three floats from 0 to 1 per pixel.
    pub target: Vec<f32>,
    /// What came out.
    pub picture: Vec<f32>,
}

impl Fit {
    /// The root of the mean square of the differences between target and picture.
    pub fn error(&self) -> f32 {
        let squares = self.target.iter().zip(&self.picture).map(|(t, p)| f64::from(t - p).powi(2));
        (squares.sum::<f64>() / self.target.len() as f64).sqrt() as f32
    }
}

/// An application: runs the given number of iterations and reports each, with its loss.
pub type Application = fn(rounds: u32, report: &mut dyn FnMut(u32, f32)) -> Outcome<Fit>;

/// Runs an application with as many iterations as the command line says, draws how the loss falls and writes the picture.
pub fn show(name: &str, rounds: u32, application: Application) -> Outcome {
    let rounds = std::env::args().nth(1).map_or(Ok(rounds), |n| n.parse())?;
    let mut losses: Vec<f32> = vec![];
    let fit = application(rounds, &mut |round, loss| {
        losses.push(loss);
        if round.is_multiple_of(rounds.div_ceil(20)) || round == rounds {
            let recent = &losses[losses.len().saturating_sub(10)..];
            let mean = recent.iter().sum::<f32>() / recent.len() as f32;
            let bar = "#".repeat((60.0 * (mean / losses[0]).clamp(0.0, 1.0)).round() as usize);
            println!("round {round:>5}   loss {mean:.5}   {bar}");
        }
    })?;
    let path = format!("{name}.png");
    write_pair(&path, fit.side, &fit.target, &fit.picture)?;
    println!(
        "The target and what came out are in {path}. They differ by {:.4} (root mean square).",
        fit.error()
    );
    Ok(())
}

/// Writes two square pictures side by side, as PNG.
fn write_pair(path: &str, side: usize, left: &[f32], right: &[f32]) -> Outcome {
    let mut bytes = Vec::new();
    for (left, right) in left.chunks(3 * side).zip(right.chunks(3 * side)) {
        bytes.extend(left.iter().chain(right).map(|c| (c.clamp(0.0, 1.0) * 255.0).round() as u8));
    }
    let file = std::io::BufWriter::new(std::fs::File::create(path)?);
    let mut encoder = png::Encoder::new(file, 2 * side as u32, side as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header()?.write_image_data(&bytes)?;
    Ok(())
}
