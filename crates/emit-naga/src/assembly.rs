//! Disassembles SPIR-V.
//!
//! rspirv prints the cases of `OpSwitch` as unsigned numbers, which assemblers reject if the selector is signed. This module
//! corrects those lines.

use crate::Result;
use crate::write::invalid;
use rspirv::binary::Disassemble;
use rspirv::dr::{Module, Operand};
use rspirv::spirv::Op;
use std::collections::BTreeMap;

/// SPIR-V as text.
pub fn disassemble(words: &[u32]) -> Result<String> {
    let module = rspirv::dr::load_words(words).map_err(|e| invalid(&format!("{e:?}")))?;
    let widths = signed_widths(&module);
    let mended = |line: &str| switch_with_signs(line, &widths).unwrap_or_else(|| line.to_string()) + "\n";
    Ok(module.disassemble().lines().map(mended).collect())
}

/// The width of every value that is a signed integer.
fn signed_widths(module: &Module) -> BTreeMap<u32, u32> {
    let (mut types, mut values) = (BTreeMap::new(), BTreeMap::new());
    for inst in module.all_inst_iter() {
        let Some(id) = inst.result_id else { continue };
        match (inst.class.opcode, &inst.operands[..]) {
            (Op::TypeInt, &[Operand::LiteralBit32(width), Operand::LiteralBit32(1)]) => {
                types.insert(id, width);
            }
            _ => {
                let width = inst.result_type.and_then(|ty| types.get(&ty));
                values.extend(width.map(|width| (id, *width)));
            }
        }
    }
    values
}

/// An `OpSwitch` on a signed integer: its selector, the block of all other values, then pairs of case and block.
fn switch_with_signs(line: &str, widths: &BTreeMap<u32, u32>) -> Option<String> {
    let operands = line.strip_prefix("OpSwitch ")?;
    let selector = operands.split(' ').next()?.strip_prefix('%')?;
    let width = *widths.get(&selector.parse().ok()?)?;
    let signed = |operand: &str| match operand.parse::<u64>() {
        Ok(bits) if width == 64 => (bits as i64).to_string(),
        Ok(bits) => (bits as u32 as i32).to_string(),
        Err(_) => operand.to_string(),
    };
    let operands: Vec<String> = operands.split(' ').map(signed).collect();
    Some(format!("OpSwitch {}", operands.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_have_the_sign_of_their_selector() {
        let widths = BTreeMap::from([(7, 32), (8, 64)]);
        let mended = |line| switch_with_signs(line, &widths);
        assert_eq!(mended("OpSwitch %7 %1 4294967295 %2 3 %4").as_deref(), Some("OpSwitch %7 %1 -1 %2 3 %4"));
        assert_eq!(mended("OpSwitch %8 %1 4294967295 %2").as_deref(), Some("OpSwitch %8 %1 4294967295 %2"));
        assert_eq!(mended("OpSwitch %9 %1 4294967295 %2"), None);
    }
}
