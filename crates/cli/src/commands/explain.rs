//! `cotangent explain`: prints the page of a diagnostic.

use crate::args::Explain;
use crate::output::print;
use crate::report::Failure;

pub fn explain(args: &Explain) -> Result<(), Failure> {
    let Some(code) = cotangent::explain(&args.code) else {
        return Err(Failure::Usage(format!("there is no diagnostic `{}`", args.code)));
    };
    let page = code.page.lines().map(|line| line.strip_prefix(' ').unwrap_or(line));
    let page: Vec<&str> = page.collect();
    print(&format!("# {}: {}\n\n{}\n", code.name, code.title, page.join("\n")))
}
