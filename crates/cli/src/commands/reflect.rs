//! `cotangent reflect`: prints what a host needs to call a program.

use super::derivative_roots;
use crate::args::{self, Reflect};
use crate::output::print;
use crate::report::{Failure, finish};
use cotangent::ir::Stage;
use cotangent::ir::layout::Target;
use cotangent::ir::layout::bind::{BlockPlace, Slot};
use cotangent::reflect::{
    AttributeValue, Constant, EntryPoint, Format, Item, Printed, Reflection, UserAttribute, Varying,
};
use cotangent::{Roots, Session, Symbol};
use serde_json::{Value, json};

pub fn reflect(args: &Reflect) -> Result<(), Failure> {
    let Some(target) = Target::named(&args.target) else {
        let names: Vec<&str> = Target::ALL.iter().map(|target| target.name()).collect();
        let names = names.join(", ");
        return Err(Failure::Usage(format!("there is no target `{}`; there are {names}", args.target)));
    };
    let loader = args.source.search.loader()?;
    let mut request = args.source.request()?;
    request.options.target = Some(target);
    request.options.matrices = args.matrix_layout.into();
    let program = Session::new(loader).program(&request);
    let entries = || Roots::Entries(args.entry.iter().map(|name| Symbol::new(name)).collect());
    let roots = derivative_roots::roots(&program, &args.derivative)?.unwrap_or_else(entries);
    let found = finish(program.reflect(roots, target), args.format)?;
    match args.format {
        args::Format::Text => print(&text(&found)),
        args::Format::Json => print(&format!("{}\n", json(&found))),
    }
}

fn text(found: &Reflection) -> String {
    let mut out = format!("for {}\n", found.target.name());
    if !found.params.is_empty() {
        out += &format!("\nparameters{}\n", block_text(found.block));
        items_text(&found.params, 1, &mut out);
    }
    for entry in &found.entries {
        let [x, y, z] = entry.threads;
        let emitted = entry.emitted.as_ref().map_or(String::new(), |name| format!(" (emitted as {name})"));
        out += &format!("\n{}{emitted}: {}", entry.name, entry.stage.name());
        if entry.stage == Stage::Compute {
            out += &format!(", {x} x {y} x {z} threads");
        }
        let inputs: Vec<&str> = entry.inputs.iter().map(|i| i.as_str()).collect();
        if !inputs.is_empty() {
            out += &format!(", takes {}", inputs.join(", "));
        }
        out += &format!("{}\n", block_text(entry.block));
        items_text(&entry.params, 1, &mut out);
        varyings_text(&entry.varyings, &mut out);
    }
    if !found.contexts.is_empty() {
        out += "\nbackward contexts\n";
    }
    for (name, bytes) in &found.contexts {
        out += &format!("  {name}: {bytes} bytes\n");
    }
    if let Some(Printed { slot, formats }) = &found.prints {
        out += &format!("\nprintf, stored at {}\n", slot_text(*slot));
        for (number, Format { text, scalars }) in formats.iter().enumerate() {
            let types: Vec<&str> = scalars.iter().map(|scalar| scalar.name()).collect();
            out += &format!("  {number}: {:?}  [{}]\n", text.as_str(), types.join(", "));
        }
    }
    if !found.constants.is_empty() {
        out += "\nspecialization constants\n";
    }
    for Constant { name, id, ty, default } in &found.constants {
        out += &format!("  {name}: {ty}  [number {id}, default {}]\n", value_text(*default));
    }
    if !found.attributes.is_empty() {
        out += "\nattributes\n";
    }
    for UserAttribute { on, name, values } in &found.attributes {
        let value = |(field, value): &(Symbol, AttributeValue)| format!("{field} = {}", value_text(*value));
        let values: Vec<String> = values.iter().map(value).collect();
        out += &format!("  {on}: {name}({})\n", values.join(", "));
    }
    out
}

fn value_text(value: AttributeValue) -> String {
    value_json(value).to_string()
}

fn value_json(value: AttributeValue) -> Value {
    match value {
        AttributeValue::Int(n) => n.into(),
        AttributeValue::Float(x) => x.into(),
        AttributeValue::Bool(flag) => flag.into(),
        AttributeValue::Text(text) => text.as_str().into(),
    }
}

/// What goes in and out of a stage.
fn varyings_text(varyings: &[Varying], out: &mut String) {
    for Varying { name, ty, input, semantic, location, count } in varyings {
        let place = match location {
            Some(first) if *count > 1 => format!("locations {first}..{}", first + count - 1),
            Some(location) => format!("location {location}"),
            None => String::new(),
        };
        let facts: Vec<&str> =
            [place.as_str(), semantic.as_str()].into_iter().filter(|f| !f.is_empty()).collect();
        let place = facts.join(", ");
        *out += &format!("  {} {name}: {ty}  [{place}]\n", if *input { "in" } else { "out" });
    }
}

fn block_text(block: Option<BlockPlace>) -> String {
    let Some(block) = block else { return String::new() };
    let place = block.slot.map_or(String::new(), |slot| format!(" at {}", slot_text(slot)));
    format!(" ({} bytes of values{place})", block.size)
}

fn slot_text(slot: Slot) -> String {
    let mut out = format!("{} {}", slot.kind.name(), slot.index);
    if slot.count > 1 {
        out += &format!("..{}", slot.index + slot.count - 1);
    }
    if slot.space > 0 {
        out += &format!(" of space {}", slot.space);
    }
    out
}

fn items_text(items: &[Item], depth: usize, out: &mut String) {
    for item in items {
        let mut facts: Vec<String> = item.slots.iter().map(|slot| slot_text(*slot)).collect();
        facts.extend(item.space.map(|space| format!("space {space}")));
        facts.extend(item.offset.map(|offset| format!("offset {offset}")));
        facts.extend(item.size.map(|size| format!("size {size}")));
        facts.extend(item.holds.map(|size| format!("holds {size}")));
        facts.extend(item.stride.map(|stride| format!("stride {stride}")));
        let indent = "  ".repeat(depth);
        *out += &format!("{indent}{}: {}  [{}]\n", item.name, item.ty, facts.join(", "));
        items_text(&item.fields, depth + 1, out);
    }
}

fn json(found: &Reflection) -> Value {
    let contexts =
        found.contexts.iter().map(|(name, bytes)| json!({ "function": name.as_str(), "bytes": bytes }));
    let mut out = json!({
        "target": found.target.name(),
        "block": found.block.map(block_json),
        "parameters": items_json(&found.params),
        "entry_points": found.entries.iter().map(entry_json).collect::<Vec<_>>(),
        "contexts": contexts.collect::<Vec<_>>(),
    });
    if let Some(Printed { slot, formats }) = &found.prints {
        let format = |Format { text, scalars }: &Format| {
            let types: Vec<&str> = scalars.iter().map(|scalar| scalar.name()).collect();
            json!({ "text": text.as_str(), "types": types })
        };
        let formats: Vec<Value> = formats.iter().map(format).collect();
        out["printf"] = json!({ "slot": slot_json(*slot), "formats": formats });
    }
    if !found.constants.is_empty() {
        let constant = |Constant { name, id, ty, default }: &Constant| json!({ "name": name.as_str(), "id": id, "type": ty, "default": value_json(*default) });
        out["constants"] = found.constants.iter().map(constant).collect();
    }
    if !found.attributes.is_empty() {
        out["attributes"] = found.attributes.iter().map(attribute_json).collect();
    }
    out
}

fn attribute_json(UserAttribute { on, name, values }: &UserAttribute) -> Value {
    let values = values.iter().map(|(field, value)| (field.to_string(), value_json(*value)));
    let values: serde_json::Map<String, Value> = values.collect();
    json!({ "on": on.as_str(), "name": name.as_str(), "values": values })
}

fn entry_json(entry: &EntryPoint) -> Value {
    let mut out = json!({
        "name": entry.name.as_str(),
        "stage": entry.stage.name(),
        "threads": entry.threads,
        "inputs": entry.inputs.iter().map(|i| i.as_str()).collect::<Vec<_>>(),
        "block": entry.block.map(block_json),
        "parameters": items_json(&entry.params),
    });
    if let Some(name) = &entry.emitted {
        out["emitted_name"] = name.as_str().into();
    }
    if entry.stage != Stage::Compute {
        out["varyings"] = entry.varyings.iter().map(varying_json).collect();
    }
    out
}

fn varying_json(varying: &Varying) -> Value {
    let mut out = json!({
        "name": varying.name.as_str(),
        "type": varying.ty.as_str(),
        "direction": if varying.input { "in" } else { "out" },
        "semantic": varying.semantic.as_str(),
    });
    if let Some(location) = varying.location {
        out["location"] = location.into();
        out["count"] = varying.count.into();
    }
    out
}

fn block_json(block: BlockPlace) -> Value {
    json!({ "slot": block.slot.map(slot_json), "size": block.size })
}

fn slot_json(slot: Slot) -> Value {
    json!({ "kind": slot.kind.name(), "space": slot.space, "index": slot.index, "count": slot.count })
}

fn items_json(items: &[Item]) -> Vec<Value> {
    items.iter().map(item_json).collect()
}

/// Facts that do not apply are left out.
fn item_json(item: &Item) -> Value {
    let mut out = json!({ "name": item.name, "type": item.ty });
    if !item.slots.is_empty() {
        out["slots"] = item.slots.iter().map(|slot| slot_json(*slot)).collect();
    }
    let numbers = [
        ("space", item.space),
        ("offset", item.offset),
        ("size", item.size),
        ("holds", item.holds),
        ("stride", item.stride),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            out[name] = number.into();
        }
    }
    if !item.fields.is_empty() {
        out["fields"] = items_json(&item.fields).into();
    }
    out
}
