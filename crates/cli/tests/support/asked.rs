//! What the header of a run test asks for.

use super::{header, words};
use cotangent::ir::layout::Matrices;
use cotangent::runtime::Data;
use cotangent::{Compiler, ConformanceId, Loader, Roots, Setting, Symbol};

/// What a program is run with.
#[derive(Default)]
pub struct Asked {
    pub set: Vec<(String, Data)>,
    pub groups: Option<[u32; 3]>,
    pub entry: Option<String>,
    pub defines: Vec<(String, String)>,
    pub conformances: Vec<ConformanceId>,
    pub settings: Vec<(Setting, String, String)>,
    pub matrices: Matrices,
}

impl Asked {
    /// Reads the line `//run:` of a program, if it has one; `None` if it asks for something that only the command line does.
    pub fn of(text: &str) -> Option<Asked> {
        let mut asked = Asked::default();
        let mut words = header(text, "run").first().map_or(vec![], |line| words(line)).into_iter();
        while let Some(word) = words.next() {
            asked.option(&word, words.next()?)?;
        }
        Some(asked)
    }

    fn option(&mut self, option: &str, value: String) -> Option<()> {
        match option {
            "--set" => {
                let (name, value) = value.split_once('=')?;
                self.set.push((name.trim().to_string(), Data::parse(value).ok()?));
            }
            "--groups" => {
                let mut numbers = value.split(',').map(|n| n.trim().parse().ok());
                let mut next = || numbers.next().unwrap_or(Some(1));
                self.groups = Some([next()?, next()?, next()?]);
            }
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

    /// A compiler that is told all this.
    pub fn compiler<'l>(&self, loader: &'l dyn Loader) -> Compiler<'l> {
        let mut compiler = Compiler::new(loader, self.defines.clone());
        compiler.options.conformances = self.conformances.clone();
        compiler.options.matrices = self.matrices;
        compiler.settings = self.settings.clone();
        compiler
    }

    /// The entry point, or all.
    pub fn roots(&self) -> Roots {
        Roots::Entries(self.entry.iter().map(|name| Symbol::new(name)).collect())
    }
}

fn setting(setting: Setting, text: &str) -> Option<(Setting, String, String)> {
    let (name, value) = text.split_once('=')?;
    Some((setting, name.to_string(), value.to_string()))
}
