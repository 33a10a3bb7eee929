//! Emits interface values, which are sums in the IR.
//!
//! Inside the program, a sum is a structure with the index of its member and one field per member. Fields that are never read
//! cost nothing. A sum in host memory has the host's layout: four words, followed by the words of the member. The third word
//! is the member's number from [`StructDef::ids`](cotangent_ir::StructDef). Both forms have the same methods:
//!
//! ```text
//! struct IShape {                              struct IShape {
//!     std::int32_t number;                         std::uint32_t host[2] = {}, id = 7, zero = 0;
//!     Circle Circle_1;                             unsigned char data[12];
//!     Rect Rect_1;                                 std::int32_t tag(int line) const; // traps if no member has the number
//!     std::int32_t tag(int line) const;            Circle get_Circle_1(int line) const;
//!     Circle get_Circle_1(int line) const;         static IShape make_Circle_1(const Circle& value);
//! ```

use crate::Emitter;
use cotangent_base::Scalar;
use cotangent_ir::layout::{HEADER, Matrices, Memory, Move, Repack, Rules};
use cotangent_ir::{StructId, Ty, Type};
use std::fmt::Write;

impl Emitter<'_> {
    fn rules(&self) -> Rules {
        self.options.language.target().rules(Memory::Buffer, Matrices::Rows)
    }

    /// How many bytes come after the header of a sum, if it has one.
    fn room(&self, id: StructId) -> Option<u32> {
        let types = &self.module.types;
        if types.struct_def(id).ids.is_empty() {
            return None;
        }
        let whole = self.rules().layout(types, types.find(Type::Sum(id))?)?;
        Some(whole.size - HEADER)
    }

    /// How the bytes of a member move from its own type to the sum.
    fn moves(&self, member: Ty) -> Vec<Move> {
        let repack = Repack::new(&self.module.types, member, self.rules(), Rules::HELD);
        repack.map_or(vec![], |repack| repack.moves().to_vec())
    }

    /// The structure of a sum.
    pub fn sum(&mut self, id: StructId) {
        let text = match self.room(id) {
            Some(size) => self.host_sum(id, size),
            None => self.own_sum(id),
        };
        self.out += &format!("struct {} {{\n{text}}};\n\n", self.structs.name(id));
    }

    /// The types and names of the members.
    fn members(&self, id: StructId) -> Vec<(String, String)> {
        let fields = (0..).zip(&self.module.types.struct_def(id).fields);
        fields.map(|(i, member)| (self.ty(member.ty), self.structs.field(id, i).to_string())).collect()
    }

    fn own_sum(&self, id: StructId) -> String {
        let (name, int) = (self.structs.name(id), self.scalar(Scalar::I32));
        let mut out = format!("    {int} number;\n");
        for (ty, field) in self.members(id) {
            _ = writeln!(out, "    {ty} {field};");
        }
        _ = writeln!(out, "    CT_INLINE {int} tag(int) const {{ return number; }}");
        for (tag, (ty, field)) in self.members(id).into_iter().enumerate() {
            _ = writeln!(
                out,
                "    static CT_INLINE {name} make_{field}(const {ty}& value) {{ {name} s{{}}; s.number = {tag}; s.{field} = value; return s; }}\n    \
                 CT_INLINE {ty} get_{field}(int) const {{ return number == {tag} ? {field} : {ty}{{}}; }}"
            );
        }
        out
    }

    fn host_sum(&self, id: StructId, size: u32) -> String {
        let def = self.module.types.struct_def(id);
        let (name, int, word) = (self.structs.name(id), self.scalar(Scalar::I32), self.scalar(Scalar::U32));
        let first = def.ids[0];
        let mut out = format!("    {word} host[2] = {{}}, id = {first}u, zero = 0;\n");
        if size > 0 {
            _ = writeln!(out, "    unsigned char data[{size}];");
        }
        let mut known = Vec::new();
        let mut cases = String::new();
        for (tag, ((ty, field), (member, host))) in
            self.members(id).into_iter().zip(def.fields.iter().zip(&def.ids)).enumerate()
        {
            known.push(format!("{host} {}", member.name));
            _ = write!(cases, " case {host}u: return {tag};");
            let (mut get, mut put) = (String::new(), String::new());
            for Move { from, to, size, flag } in self.moves(member.ty) {
                _ = write!(put, " ct::put_bytes(value, {from}, s.data + {to}, {size});");
                _ = match flag {
                    true => write!(get, " ct::get_flag(value, {from}, data + {to});"),
                    false => write!(get, " ct::get_bytes(value, {from}, data + {to}, {size});"),
                };
            }
            _ = writeln!(
                out,
                "    static CT_INLINE {name} make_{field}(const {ty}& value) {{ {name} s{{}}; s.id = {host}u; (void)value;{put} return s; }}\n    \
                 CT_INLINE {ty} get_{field}(int line) const {{ {ty} value{{}}; if (tag(line) == {tag}) {{{get} }} return value; }}"
            );
        }
        let known = format!("{} has {}", def.name, known.join(", "));
        _ = writeln!(out, "    CT_INLINE {int} tag(int line) const {{");
        _ = writeln!(
            out,
            "        switch (id) {{{cases} default: ct::unknown_type(line, id, \"{known}\"); return 0; }}"
        );
        out + "    }\n"
    }
}
