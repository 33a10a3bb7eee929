//! What the header of a run test asks for.

use super::{header, words};
use cotangent::ir::layout::Matrices;
use cotangent::runtime::Data;
use cotangent::{ConformanceId, Disk, Program, Request, Roots, Session, Setting, Symbol};
use std::path::Path;

/// What a program is run with.
#[derive(Default)]
pub struct RunHeader {
    pub set: Vec<(String, Data)>,
    pub groups: Option<[u32; 3]>,
    pub threads: Option<[u32; 3]>,
    pub entry: Option<String>,
    pub defines: Vec<(String, String)>,
    pub conformances: Vec<ConformanceId>,
    pub settings: Vec<(Setting, String, String)>,
    pub matrices: Matrices,
    /// More modules of the program, as seen from its folder.
    pub others: Vec<String>,
}

impl RunHeader {
    /// Reads the line `//run:` of a program, if it has one. Nothing may be asked for that is not known here: a test that is
    /// passed over in silence tests nothing.
    pub fn of(text: &str) -> Result<RunHeader, String> {
        let mut asked = RunHeader::default();
        let mut words = header(text, "run").first().map_or(vec![], |line| words(line)).into_iter();
        while let Some(option) = words.next() {
            if option.ends_with(".slang") {
                asked.others.push(option);
                continue;
            }
            let value = words.next().ok_or_else(|| format!("`{option}` has no value"))?;
            let what = format!("`{option} {value}`");
            asked.option(&option, value).ok_or_else(|| format!("{what} is not known to this test"))?;
        }
        Ok(asked)
    }

    fn option(&mut self, option: &str, value: String) -> Option<()> {
        match option {
            "--set" => {
                let (name, value) = value.split_once('=')?;
                self.set.push((name.trim().to_string(), Data::parse(value).ok()?));
            }
            "--groups" => self.groups = Some(triple(&value)?),
            "--threads" => self.threads = Some(triple(&value)?),
            "--entry" => self.entry = Some(value),
            "--print" => {}
            "--matrix-layout" if value == "column" => self.matrices = Matrices::Columns,
            "--matrix-layout" => self.matrices = Matrices::Rows,
            "--specialize" => self.settings.push(setting(Setting::Function, &value)?),
            "--specialize-global" => self.settings.push(setting(Setting::Global, &value)?),
            "--set-type" => self.settings.push(setting(Setting::Type, &value)?),
            "--conformance" => self.conformances.push(ConformanceId::parse(&value)?),
            "-D" => {
                let (name, value) = value.split_once('=').unwrap_or((&value, "1"));
                self.defines.push((name.to_string(), value.to_string()));
            }
            _ => return None,
        }
        Some(())
    }

    /// The program at `path` under all this.
    pub fn program(&self, path: &Path, disk: Disk) -> Program {
        let others = self.others.iter().map(|other| path.with_file_name(other).display().to_string());
        let mut request = Request::new(path.display().to_string());
        request.others = others.collect();
        request.defines.clone_from(&self.defines);
        request.settings.clone_from(&self.settings);
        request.options.conformances.clone_from(&self.conformances);
        request.options.matrices = self.matrices;
        request.options.threads = self.threads;
        // As `run` does.
        request.options.stage = Some(cotangent::ir::Stage::Compute);
        Session::new(disk).program(&request)
    }

    /// The entry point, or all.
    pub fn roots(&self) -> Roots {
        Roots::Entries(self.entry.iter().map(|name| Symbol::new(name)).collect())
    }
}

/// `X,Y,Z`, of which the last may be missing.
fn triple(text: &str) -> Option<[u32; 3]> {
    let mut numbers = text.split(',').map(|n| n.trim().parse().ok());
    let mut next = || numbers.next().unwrap_or(Some(1));
    Some([next()?, next()?, next()?])
}

fn setting(setting: Setting, text: &str) -> Option<(Setting, String, String)> {
    let (name, value) = text.split_once('=')?;
    Some((setting, name.to_string(), value.to_string()))
}
