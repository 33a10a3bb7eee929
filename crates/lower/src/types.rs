//! Lowers types of the language to types of the IR.
//!
//! A structure is lowered once for each list of generic arguments. An enumeration becomes its integer type, and a tuple a
//! structure with fields `_0`, `_1` and so on. Interface types become sums: see `sums`. A *magic* structure of the library
//! becomes a built-in type of the IR: `[__magic("rwbuffer")]` is a buffer, `[__magic("ptr")]` a pointer, and a byte-address
//! buffer is a buffer of words. A constant buffer or parameter block becomes the type of its contents.

use crate::codes;
use crate::instance::Lowerer;
use cotangent_base::{Diagnostic, Entity, Map, Scalar, Span, Symbol};
use cotangent_ir::texture::{Dim, Opaque, Texture};
use cotangent_ir::{self as ir, Access, StructField, Type, layout, type_group};
use cotangent_sema::Queries;
use cotangent_sema::hir::{Arg, Args, StructId, Ty, TyKind, Val};
use cotangent_sema::kind_group;
use std::collections::VecDeque;

/// Most elements of a pack, so that one that grows with each instance ends soon.
const MAX_PACK: usize = 256;

/// Longest name of a type in the name of an instance.
const MAX_NAME: usize = 256;

/// The types lowered so far.
#[derive(Default)]
pub(crate) struct TypeCache {
    types: Map<Ty, ir::Ty>,
    /// How deep types nest.
    depths: Map<Ty, u32>,
    /// The names of types.
    names: Map<Ty, String>,
    /// Structures that are differentiable and have no row yet.
    rows: VecDeque<(Ty, ir::StructId)>,
    /// What elements of resources are in memory that lie otherwise than all matrices.
    pub elements: Map<Ty, ir::Ty>,
}

impl TypeCache {
    /// The next differentiable structure without a row.
    pub fn take_row(&mut self) -> Option<(Ty, ir::StructId)> {
        self.rows.pop_front()
    }

    /// The structures that were lowered, in the order in which they are declared, instances of one by their names.
    pub fn structs(&mut self, queries: &Queries) -> Vec<(StructId, ir::Ty)> {
        let is_struct = |(ty, lowered): (&Ty, &ir::Ty)| {
            if let TyKind::Struct(id, _) = queries.program.types.kind(*ty) {
                Some((*ty, id, *lowered))
            } else {
                None
            }
        };
        let mut found: Vec<(Ty, StructId, ir::Ty)> = self.types.iter().filter_map(is_struct).collect();
        found.sort_by_cached_key(|(ty, id, _)| {
            let span = queries.program.structs[*id].span;
            (span.file, span.start, self.name(queries, *ty))
        });
        found.into_iter().map(|(_, id, lowered)| (id, lowered)).collect()
    }

    /// The structure of the language that an IR type was made of.
    pub fn source(&self, lowered: ir::Ty) -> Option<Ty> {
        self.types.iter().find(|(_, ty)| **ty == lowered).map(|(ty, _)| *ty)
    }

    /// How deep the types in a list of arguments nest.
    pub fn nesting(&mut self, queries: &Queries, args: Args) -> u32 {
        let depth = |arg: &Arg| arg.ty().map_or(0, |ty| self.depth(queries, ty));
        queries.program.types.list(args).iter().map(depth).max().unwrap_or(0)
    }

    /// How deep a type nests. Asked once of each: written out, types may be far larger than the program.
    pub fn depth(&mut self, queries: &Queries, ty: Ty) -> u32 {
        if let Some(&depth) = self.depths.get(&ty) {
            return depth;
        }
        let depth = match queries.program.types.kind(ty) {
            TyKind::Array(elem, _)
            | TyKind::UnsizedArray(elem)
            | TyKind::Expand(_, elem)
            | TyKind::Each(elem)
            | TyKind::Part(_, elem)
            | TyKind::Assoc(elem, ..) => self.depth(queries, elem).saturating_add(1),
            TyKind::Pack(args) if queries.program.types.list(args).len() > MAX_PACK => u32::MAX,
            TyKind::Struct(_, args)
            | TyKind::Tuple(args)
            | TyKind::Pack(args)
            | TyKind::Interface(_, args) => self.nesting(queries, args).saturating_add(1),
            TyKind::Error
            | TyKind::Void
            | TyKind::Scalar(_)
            | TyKind::Vector(..)
            | TyKind::Matrix(..)
            | TyKind::Enum(_)
            | TyKind::Param(_)
            | TyKind::String
            | TyKind::None => 0,
        };
        self.depths.insert(ty, depth);
        depth
    }

    /// `<f32,3>`, or nothing for no arguments.
    pub fn args_name(&mut self, queries: &Queries, args: Args) -> String {
        let name = |arg: &Arg| match arg {
            Arg::Ty(ty) => self.name(queries, *ty),
            Arg::Laid(ty, true) => format!("row_major {}", self.name(queries, *ty)),
            Arg::Laid(ty, false) => format!("column_major {}", self.name(queries, *ty)),
            Arg::Val(val) => queries.program.types.known(*val).map_or("?".into(), |n| n.to_string()),
        };
        let names: Vec<String> = queries.program.types.list(args).iter().map(name).collect();
        if names.is_empty() {
            return String::new();
        }
        format!("<{}>", names.join(","))
    }

    /// The name of a type in names of instances; a number stands for what is too long to read.
    pub fn name(&mut self, queries: &Queries, ty: Ty) -> String {
        if let Some(name) = self.names.get(&ty) {
            return name.clone();
        }
        let mut name = self.spell(queries, ty);
        if name.len() > MAX_NAME {
            name.truncate(name.find('<').unwrap_or(MAX_NAME));
            name = format!("{name}<#{}>", ty.index());
        }
        self.names.insert(ty, name.clone());
        name
    }

    fn spell(&mut self, queries: &Queries, ty: Ty) -> String {
        let known = |val: Val| queries.program.types.known(val).map_or("?".into(), |n| n.to_string());
        match queries.program.types.kind(ty) {
            TyKind::Void => "void".into(),
            TyKind::Scalar(s) => s.name().into(),
            TyKind::Vector(elem, n) => format!("{}x{}", self.name(queries, elem), known(n)),
            TyKind::Matrix(elem, r, c) => format!("{}x{}x{}", self.name(queries, elem), known(r), known(c)),
            TyKind::Array(elem, n) => format!("{}[{}]", self.name(queries, elem), known(n)),
            TyKind::Struct(id, args) => {
                format!("{}{}", queries.program.structs[id].name, self.args_name(queries, args))
            }
            TyKind::Tuple(args) => format!("Tuple{}", self.args_name(queries, args)),
            TyKind::Pack(args) => format!("pack{}", self.args_name(queries, args)),
            TyKind::Enum(id) => queries.program.enums[id].name.to_string(),
            TyKind::Interface(id, args) => {
                format!("{}{}", queries.program.interfaces[id].name, self.args_name(queries, args))
            }
            TyKind::Error
            | TyKind::UnsizedArray(_)
            | TyKind::Expand(..)
            | TyKind::Each(_)
            | TyKind::Part(..)
            | TyKind::Param(_)
            | TyKind::Assoc(..)
            | TyKind::String
            | TyKind::None => queries.show(ty),
        }
    }
}

impl Lowerer<'_> {
    /// The IR type of a concrete type. What has none is reported and becomes `unit`.
    pub fn lower_ty(&mut self, ty: Ty, span: Span) -> ir::Ty {
        if let Some(&lowered) = self.types.types.get(&ty) {
            return lowered;
        }
        let lowered = match self.queries.program.types.kind(ty) {
            TyKind::Struct(id, args) => return self.lower_struct(ty, id, args, span),
            TyKind::Tuple(args) => return self.lower_tuple(ty, args, span),
            TyKind::Interface(..) | TyKind::Assoc(..) if self.is_sum(ty) => {
                let lowered = self.lower_interface(ty);
                self.types.types.insert(ty, lowered);
                self.begin_interface(ty, span);
                return lowered;
            }
            TyKind::Void | TyKind::Error => Some(Type::Unit),
            TyKind::Scalar(s) => Some(Type::Scalar(s)),
            TyKind::Vector(elem, n) => self.lower_vector(elem, n),
            TyKind::Matrix(elem, r, c) => self.lower_matrix(elem, r, c),
            TyKind::Array(elem, n) => self.lower_array(ty, elem, n, span),
            TyKind::Enum(id) => {
                let underlying = self.queries.underlying(id);
                return self.lower_ty(underlying, span);
            }
            TyKind::UnsizedArray(elem) if self.is_open_array(elem, span) => {
                Some(Type::Array(self.lower_ty(elem, span), 1))
            }
            TyKind::String => Some(Type::Scalar(Scalar::U32)),
            TyKind::UnsizedArray(_)
            | TyKind::Pack(_)
            | TyKind::Expand(..)
            | TyKind::Each(_)
            | TyKind::Part(..)
            | TyKind::Param(_)
            | TyKind::Assoc(..)
            | TyKind::Interface(..)
            | TyKind::None => None,
        };
        let kind = lowered.unwrap_or_else(|| {
            self.unsupported_ty(ty, span);
            Type::Unit
        });
        let lowered = self.module.types.intern(kind);
        self.types.types.insert(ty, lowered);
        lowered
    }

    /// Whether an array without a length is one of resources in a program that is only checked: it stands for any length.
    fn is_open_array(&mut self, elem: Ty, span: Span) -> bool {
        if self.options.target.is_some() {
            return false;
        }
        let elem = self.lower_ty(elem, span);
        self.holds_handle(elem)
    }

    fn unsupported_ty(&mut self, ty: Ty, span: Span) {
        let text = self.queries.show(ty);
        let (message, help) = match self.queries.program.types.kind(ty) {
            TyKind::UnsizedArray(_) => (
                format!("the length of the array type `{text}` must be known here"),
                "give the array a length, or that of a shader parameter with `--specialize-global NAME=LENGTH`",
            ),
            TyKind::Param(_) | TyKind::Each(_) | TyKind::Part(..) | TyKind::Assoc(..) => {
                return self.internal(span, format!("the type `{text}` is still generic"));
            }
            kind_group!(number | list | named | open | special) => {
                (format!("the type `{text}` is not supported yet"), "use numbers, arrays and structures")
            }
        };
        self.diagnostics.push(Diagnostic::new(codes::UNSUPPORTED_TYPE, span, message).help(help));
    }

    fn scalar(&self, ty: Ty) -> Option<Scalar> {
        if let TyKind::Scalar(s) = self.queries.program.types.kind(ty) { Some(s) } else { None }
    }

    fn lanes(&self, val: Val) -> Option<u8> {
        self.queries.program.types.known(val).filter(|n| (1..=4).contains(n)).map(|n| n as u8)
    }

    fn lower_vector(&mut self, elem: Ty, n: Val) -> Option<Type> {
        Some(Type::Vector(self.scalar(elem)?, self.lanes(n)?))
    }

    fn lower_matrix(&mut self, elem: Ty, r: Val, c: Val) -> Option<Type> {
        Some(Type::Matrix(self.scalar(elem)?, self.lanes(r)?, self.lanes(c)?))
    }

    fn lower_array(&mut self, ty: Ty, elem: Ty, n: Val, span: Span) -> Option<Type> {
        let n = self.queries.program.types.known(n).filter(|n| *n >= 0)?;
        let elem = self.lower_ty(elem, span);
        let Ok(n) = u32::try_from(n) else {
            self.too_large(ty, span);
            return Some(Type::Unit);
        };
        let array = self.module.types.intern(Type::Array(elem, n));
        self.check_size(ty, array, &[elem], span);
        Some(Type::Array(elem, n))
    }

    /// Refuses a type that is too large, unless one of its parts is and has been refused already.
    fn check_size(&mut self, ty: Ty, lowered: ir::Ty, parts: &[ir::Ty], span: Span) {
        let is_too_large = |ty: ir::Ty| layout::is_too_large(&self.module.types, ty);
        if is_too_large(lowered) && !parts.iter().any(|part| is_too_large(*part)) {
            self.too_large(ty, span);
        }
    }

    fn too_large(&mut self, ty: Ty, span: Span) {
        let limit = layout::MAX_SIZE >> 30;
        let message = format!("a value of the type `{}` takes more than {limit} GiB", self.queries.show(ty));
        let diagnostic = Diagnostic::new(codes::UNSUPPORTED_TYPE, span, message)
            .help("make its arrays shorter, or store the elements in a buffer");
        self.diagnostics.push(diagnostic);
    }

    fn lower_struct(&mut self, ty: Ty, id: StructId, args: Args, span: Span) -> ir::Ty {
        // Asked first, since it completes what the program says of the structure.
        let types = self.queries.field_types(id, args);
        if let Some(magic) = self.queries.program.structs[id].magic {
            let lowered = self.lower_magic(ty, magic, args, span);
            self.types.types.insert(ty, lowered);
            return lowered;
        }
        let names: Vec<Symbol> = self.queries.program.structs[id].fields.iter().map(|f| f.name).collect();
        let lowered = self.make_struct(ty, &names, &types, span);
        self.note_matrices(id, lowered);
        lowered
    }

    fn lower_tuple(&mut self, ty: Ty, args: Args, span: Span) -> ir::Ty {
        let types: Vec<Ty> = self.tuple_types(args);
        let names: Vec<Symbol> = (0..types.len()).map(|i| Symbol::new(&format!("_{i}"))).collect();
        self.make_struct(ty, &names, &types, span)
    }

    /// The element types of a tuple.
    pub fn tuple_types(&self, args: Args) -> Vec<Ty> {
        self.queries.program.types.list(args).iter().filter_map(|arg| arg.ty()).collect()
    }

    fn make_struct(&mut self, ty: Ty, names: &[Symbol], types: &[Ty], span: Span) -> ir::Ty {
        let name = Symbol::new(&self.types.name(self.queries, ty));
        let id = self.module.types.add_struct(name, vec![]);
        let lowered = self.module.types.intern(Type::Struct(id));
        self.types.types.insert(ty, lowered);
        let parts: Vec<ir::Ty> = types.iter().map(|ty| self.lower_ty(*ty, span)).collect();
        let fields = names.iter().zip(&parts).map(|(&name, &ty)| StructField { name, ty });
        self.module.types.set_fields(id, fields.collect());
        self.check_size(ty, lowered, &parts, span);
        if self.queries.differential(ty).is_some() {
            self.types.rows.push_back((ty, id));
        }
        lowered
    }

    /// Whether a type is a constant buffer, parameter block or handle, which is written as a buffer of one element.
    pub fn is_block(&self, ty: Ty) -> bool {
        let TyKind::Struct(id, _) = self.queries.program.types.kind(ty) else { return false };
        let magic = self.queries.program.structs[id].magic;
        magic.is_some_and(|m| {
            matches!(m.as_str(), "constantbuffer" | "texturebuffer" | "parameterblock" | "handle")
        })
    }

    /// What a magic structure of the library is.
    fn lower_magic(&mut self, ty: Ty, magic: Symbol, args: Args, span: Span) -> ir::Ty {
        let first = self.queries.program.types.list(args).first().copied();
        let elem = match first {
            // A block is the value that it holds; how that lies is a matter of its shape.
            Some(Arg::Laid(elem, row_major)) if !self.is_block(ty) => {
                Some(self.laid_element(elem, row_major, span))
            }
            _ => first.and_then(Arg::ty).map(|elem| self.lower_ty(elem, span)),
        };
        let kind = match (magic.as_str(), elem) {
            ("buffer" | "typedbuffer", Some(elem)) => Type::Buffer(elem, Access::Read),
            ("rwbuffer" | "rwtypedbuffer", Some(elem)) => Type::Buffer(elem, Access::ReadWrite),
            ("bytebuffer", None) => Type::Buffer(self.module.types.scalar(Scalar::U32), Access::Read),
            ("rwbytebuffer", None) => Type::Buffer(self.module.types.scalar(Scalar::U32), Access::ReadWrite),
            ("counter", None) => Type::Buffer(self.module.types.scalar(Scalar::U32), Access::ReadWrite),
            ("ptr", Some(elem)) => Type::Ref(elem),
            ("sampler", None) => Type::Opaque(Opaque::Sampler),
            ("comparison", None) => Type::Opaque(Opaque::Comparison),
            (word, Some(elem)) if texture(word, self.module.types.get(elem)).is_some() => {
                texture(word, self.module.types.get(elem)).map_or(Type::Unit, Type::Opaque)
            }
            // A handle is the resource that it stands for, as in the languages without bindings.
            ("constantbuffer" | "texturebuffer" | "parameterblock" | "handle", Some(elem)) => return elem,
            // Only operations that are refused take it.
            ("opaque", _) => Type::Unit,
            _ => {
                let message = format!("the resource type `{}` is not supported yet", self.queries.show(ty));
                let diagnostic = Diagnostic::new(codes::UNSUPPORTED_TYPE, span, message)
                    .help("use `StructuredBuffer` or `RWStructuredBuffer`");
                self.diagnostics.push(diagnostic);
                Type::Unit
            }
        };
        self.module.types.intern(kind)
    }
}

/// The texture that `[__magic("rwtexture 2d array")]` describes, if its texels are of type `elem`.
fn texture(word: &str, elem: Type) -> Option<Opaque> {
    let (scalar, lanes) = match elem {
        Type::Scalar(scalar) => (scalar, 1),
        Type::Vector(scalar, lanes) => (scalar, lanes),
        Type::Matrix(..) | type_group!(unit | composite | handle) => return None,
    };
    let mut words = word.split(' ');
    let access = match words.next()? {
        "texture" => Access::Read,
        "rwtexture" => Access::ReadWrite,
        _ => return None,
    };
    let dim = words.next()?;
    let dim = Dim::ALL.iter().find(|(name, _)| *name == dim)?.1;
    let fits = matches!(scalar, Scalar::F16 | Scalar::F32 | Scalar::I32 | Scalar::U32);
    let array = match (words.next(), words.next()) {
        (None, _) => false,
        (Some("array"), None) => true,
        _ => return None,
    };
    fits.then_some(Opaque::Texture(Texture { dim, array, scalar, lanes, access }))
}
