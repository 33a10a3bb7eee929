//! Values of interface type.
//!
//! Inside a program a sum is the number of the member it is, and all members side by side: what is never read costs nothing. A sum
//! that the host sees has the form the host knows: four words, of which the third says by the number of
//! [`StructDef::ids`](cotangent_ir::StructDef) which member it is, and room for the largest member.
//!
//! ```text
//! struct IShape {                              struct IShape {
//!     std::int32_t tag;                            std::uint32_t host[2] = {}, id = 7, zero = 0;
//!     Circle Circle_1;                             alignas(4) unsigned char data[12];
//!     Rect Rect_1;                                 std::int32_t tag(int line) const; // stops if nobody has the number
//! ```

use crate::Emitter;
use cotangent_ir::{StructId, Type, layout};
use std::fmt::Write;

impl Emitter<'_> {
    /// Whether values of a sum have the form that the host knows.
    pub fn is_host_sum(&self, id: StructId) -> bool {
        self.room(id).is_some()
    }

    /// Size and alignment of what comes behind the header of a sum, if it has one.
    fn room(&self, id: StructId) -> Option<(u32, u32)> {
        let types = &self.module.types;
        if types.struct_def(id).ids.is_empty() {
            return None;
        }
        let whole = layout::layout(types, types.find(Type::Sum(id))?)?;
        Some((whole.size - layout::HEADER, whole.align))
    }

    /// What is in the structure of a sum that the host sees.
    pub fn host_sum(&self, id: StructId) -> Option<String> {
        let def = self.module.types.struct_def(id);
        let (name, (&first, (size, align))) = (self.structs.name(id), def.ids.first().zip(self.room(id))?);
        let mut out =
            format!("    std::uint32_t host[2] = {{}};\n    std::uint32_t id = {first}u, zero = 0;\n");
        if size > 0 {
            _ = writeln!(out, "    alignas({align}) unsigned char data[{size}];");
        }
        let data = if size > 0 { "data" } else { "nullptr" };
        _ = writeln!(
            out,
            "    template <class T> CT_INLINE T get() const {{ return ct::get_bytes<T>({data}); }}"
        );
        let mut known = Vec::new();
        let mut cases = String::new();
        for (index, (member, host)) in def.fields.iter().zip(&def.ids).enumerate() {
            known.push(format!("{host} {}", member.name));
            _ = write!(cases, " case {host}u: return {index};");
            let (ty, field) = (self.ty(member.ty), self.structs.field(id, index as u32));
            let data = if size > 0 { "s.data" } else { "nullptr" };
            _ = writeln!(
                out,
                "    static {name} make_{field}(const {ty}& value) {{ {name} s{{}}; s.id = {host}u; ct::put_bytes({data}, value); return s; }}"
            );
        }
        let known = format!("{} has {}", def.name, known.join(", "));
        _ = writeln!(out, "    CT_INLINE std::int32_t tag(int line) const {{");
        _ = writeln!(
            out,
            "        switch (id) {{{cases} default: ct::unknown_type(line, id, \"{known}\"); }}"
        );
        Some(out + "    }\n")
    }

    /// Functions that make a sum of one of its members.
    pub fn makers(&mut self, id: StructId) {
        let name = self.structs.name(id).to_string();
        for (index, member) in self.module.types.struct_def(id).fields.iter().enumerate() {
            let (ty, field) = (self.ty(member.ty), self.structs.field(id, index as u32));
            self.out += &format!(
                "    static {name} make_{field}(const {ty}& value) {{ {name} s{{}}; s.tag = {index}; s.{field} = value; return s; }}\n"
            );
        }
    }
}
