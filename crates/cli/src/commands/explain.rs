//! `cotangent explain`: the page of one diagnostic.

use crate::args::Explain;
use crate::report::Failure;

pub fn explain(args: &Explain) -> Result<(), Failure> {
    let Some(code) = cotangent::explain(&args.code) else {
        return Err(Failure::Usage(format!("there is no diagnostic `{}`", args.code)));
    };
    println!("# {}: {}\n", code.name, code.title);
    for line in code.page.lines() {
        println!("{}", line.strip_prefix(' ').unwrap_or(line));
    }
    Ok(())
}
