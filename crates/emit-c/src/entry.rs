//! Emits the functions that the host calls, and the comment at the start of the file that documents them.

use crate::names::{namespace, plain};
use crate::{Emitter, Language, Result};
use cotangent_ir::capabilities::Feature;
use cotangent_ir::layout::{Matrices, Memory, bind};
use cotangent_ir::{FuncId, GlobalKind, Link, SystemValue, Type};

/// How many bytes the parameters of a kernel may take.
const MOST_PARAMS: u32 = 32_764;
/// How many bytes the variables of a group may take.
const MOST_SHARED: u32 = 48 * 1024;

/// What the host calls an entry point. A kernel is not in a namespace, and none may be called `main`.
pub(crate) fn host_name(language: Language, name: &str) -> &str {
    if language == Language::Cuda && name == "main" { "main_0" } else { name }
}

impl Emitter<'_> {
    /// The name of the structure of an entry point's own parameters.
    fn entry_params(&self, id: FuncId) -> Option<String> {
        let name = self.module.funcs[id].name;
        let found = self.params.entries.iter().find(|(n, list)| *n == name && !list.is_empty());
        found.map(|(name, _)| plain(name.as_str()))
    }

    fn entry_signature(&self, id: FuncId) -> String {
        let own = self.entry_params(id);
        let name = host_name(self.options.language, &self.funcs[&id]);
        match self.options.language {
            Language::Cpp => {
                let own = own.map_or(String::new(), |name| format!("const {name}_Params& own, "));
                format!("void {name}(const Params& params, {own}ct::Groups groups)")
            }
            Language::Cuda => {
                let own =
                    own.map_or(String::new(), |name| format!(", const __grid_constant__ {name}_Params own"));
                format!("void {name}(const __grid_constant__ Params params{own})")
            }
        }
    }

    /// The function that runs an entry point.
    pub fn entry(&mut self, id: FuncId) -> Result<()> {
        let Some(entry) = &self.module.funcs[id].entry else { return Ok(()) };
        let given = entry.inputs.iter().map(|link| match link {
            Link::System(value) => system_value(*value, entry.threads),
            Link::Location(_) => {
                unreachable!("only compute shaders are emitted, and they have no stage before them")
            }
        });
        let args: Vec<String> = given.collect();
        let lanes = self.waving.contains(&id).then(|| "lanes".to_string());
        let args = ["thread".to_string()].into_iter().chain(lanes).chain(args).collect::<Vec<_>>().join(", ");
        let call = format!("{}_thread({args});", self.funcs[&id]);
        let text = match self.options.language {
            Language::Cpp if self.takes_turns() => self.group_by_turns(id, entry.threads, &call),
            Language::Cpp => self.group_in_a_loop(id, entry.threads, &call),
            Language::Cuda => {
                self.check_limits(id)?;
                self.kernel_text(id, entry.threads, &call)
            }
        };
        self.out += &text;
        Ok(())
    }

    /// What a thread begins with.
    fn thread_start(&self, id: FuncId, indent: &str) -> String {
        let mut out = String::new();
        if !self.waving.is_empty() {
            let threads = self.module.funcs[id].entry.as_ref().map_or([1; 3], |entry| entry.threads);
            let count: u64 = threads.iter().map(|n| u64::from(*n)).product();
            let self_index = system_value(SystemValue::GroupIndex, threads);
            let turns = if self.takes_turns() { "&turns, " } else { "" };
            out += &format!("{indent}const ct::Lanes lanes = ct::wave_of({turns}{self_index}, {count}u);\n");
            out += &format!("{indent}(void)lanes;\n");
        }
        if let Some(name) = self.entry_params(id) {
            out += &format!("{indent}thread.{name}_params = &own;\n");
        }
        for (global, data) in self.module.globals.iter() {
            if let GlobalKind::Static(Some(init)) = data.kind {
                let (name, init_name) = (&self.variables[&global], &self.funcs[&init]);
                let mut args = self.unseen_args(init, "lanes");
                if self.returns(init) {
                    out += &format!("{indent}thread.{name} = {init_name}({});\n", args.join(", "));
                } else {
                    args.push(format!("thread.{name}"));
                    out += &format!("{indent}{init_name}({});\n", args.join(", "));
                }
            }
        }
        out
    }

    /// What a `Thread` is made of.
    fn thread_parts(&self, turns: &str) -> String {
        let shared = if self.has_shared { ", shared" } else { "" };
        let turns = if self.takes_turns() { turns } else { "" };
        format!("Thread thread{{params{shared}{turns}}};")
    }

    /// Threads one after the other.
    fn group_in_a_loop(&self, id: FuncId, [x, y, z]: [u32; 3], call: &str) -> String {
        let shared = if self.has_shared { "        Shared shared;\n" } else { "" };
        format!(
            "
inline {} {{
    for (std::uint32_t gz = groups.first[2]; gz < groups.end[2]; gz++)
    for (std::uint32_t gy = groups.first[1]; gy < groups.end[1]; gy++)
    for (std::uint32_t gx = groups.first[0]; gx < groups.end[0]; gx++) {{
{shared}        for (std::uint32_t tz = 0; tz < {z}u; tz++)
        for (std::uint32_t ty = 0; ty < {y}u; ty++)
        for (std::uint32_t tx = 0; tx < {x}u; tx++) {{
            {}
{}            {call}
        }}
    }}
}}
",
            self.entry_signature(id),
            self.thread_parts(", nullptr, 0"),
            self.thread_start(id, "            "),
        )
    }

    /// Threads that wait for each other.
    fn group_by_turns(&self, id: FuncId, [x, y, z]: [u32; 3], call: &str) -> String {
        let (shared, anew) = if self.has_shared {
            ("    Shared shared;\n", "            if (self == 0) shared = Shared{};\n")
        } else {
            ("", "")
        };
        format!(
            "
inline {} {{
{shared}    ct::Turns turns;
    turns.run({x}u * {y}u * {z}u, [&](std::uint32_t self) {{
        const std::uint32_t tx = self % {x}u, ty = self / {x}u % {y}u, tz = self / ({x}u * {y}u);
        (void)tx, (void)ty, (void)tz;
        for (std::uint32_t gz = groups.first[2]; gz < groups.end[2]; gz++)
        for (std::uint32_t gy = groups.first[1]; gy < groups.end[1]; gy++)
        for (std::uint32_t gx = groups.first[0]; gx < groups.end[0]; gx++) {{
{anew}            {}
{}            {call}
            turns.wait(self, 0, 0);
        }}
    }});
}}
",
            self.entry_signature(id),
            self.thread_parts(", &turns, self"),
            self.thread_start(id, "            "),
        )
    }

    fn kernel_text(&self, id: FuncId, [x, y, z]: [u32; 3], call: &str) -> String {
        let shared = if self.has_shared {
            "    alignas(Shared) __shared__ unsigned char bytes[sizeof(Shared)];\n    Shared& shared = ct::group<Shared>(bytes);\n"
        } else {
            ""
        };
        format!(
            "
extern \"C\" __global__ void __launch_bounds__({}) {} {{
    const unsigned gx = blockIdx.x, gy = blockIdx.y, gz = blockIdx.z;
    const unsigned tx = threadIdx.x, ty = threadIdx.y, tz = threadIdx.z;
    (void)gx, (void)gy, (void)gz, (void)tx, (void)ty, (void)tz;
{shared}    {}
{}    {call}
}}
",
            u64::from(x) * u64::from(y) * u64::from(z),
            self.entry_signature(id).trim_start_matches("void "),
            self.thread_parts(""),
            self.thread_start(id, "    "),
        )
    }

    /// What the hardware has no room for.
    fn check_limits(&self, id: FuncId) -> Result<()> {
        let (types, target) = (&self.module.types, self.options.language.target());
        let bindings = bind::bind(types, self.params, target, Matrices::Rows);
        let span = self.module.funcs[id].span;
        let entries = bindings.entries.iter().filter_map(|e| e.block);
        let size: u32 =
            bindings.block.into_iter().chain(entries).map(|b| b.size).fold(0, u32::saturating_add);
        if size > MOST_PARAMS {
            let what = format!("{size} bytes of parameters exceed the limit of {MOST_PARAMS}");
            self.require(Feature::LargeParams, span, &what)?;
        }
        let rules = target.rules(Memory::Buffer, Matrices::Rows);
        let shared = self.module.globals.values().filter(|g| g.kind == GlobalKind::Shared);
        let bytes = shared.filter_map(|g| {
            if let Type::Ref(inner) = types.get(g.ty) { rules.layout(types, inner) } else { None }
        });
        let size: u32 = bytes.map(|l| l.size).fold(0, u32::saturating_add);
        if size > MOST_SHARED {
            let what = format!("{size} bytes of groupshared variables exceed the limit of {MOST_SHARED}");
            self.require(Feature::LargeShared, span, &what)?;
        }
        Ok(())
    }

    /// The comment at the head of the file.
    pub fn head(&self, order: &[FuncId]) -> String {
        let entries: Vec<FuncId> =
            order.iter().copied().filter(|id| self.module.funcs[*id].entry.is_some()).collect();
        let mut out = match self.options.language {
            Language::Cpp => self.cpp_head(&entries),
            Language::Cuda => self.cuda_head(&entries),
        };
        if !self.renamed.is_empty() {
            out += "// Names that were taken or reserved:\n//\n";
            self.renamed.iter().for_each(|line| out += &format!("//   {line}\n"));
            out += "//\n";
        }
        out + "\n"
    }

    fn cpp_head(&self, entries: &[FuncId]) -> String {
        let name = namespace(self.options.name);
        let mut out = String::from(
            "// Made by cotangent. Builds with any C++17 compiler; include it, or compile it with its caller.\n//\n\
             // Fill in Params: a buffer is a pointer and a number of elements, a constant buffer a pointer.\n\
             // Then call, for the thread groups from `first` up to, not including, `end`:\n//\n",
        );
        for id in entries {
            let signature = self.entry_signature(*id).replacen("void ", &format!("void {name}::"), 1);
            out += &format!("//   {signature};\n");
        }
        out += "//\n// Groups may run on several threads at once. A program that stops on purpose calls COTANGENT_TRAP.\n";
        if self.takes_turns() {
            out += "// Threads of a group that wait for each other are threads of the host: link with -pthread.\n";
        }
        out + "//\n"
    }

    fn cuda_head(&self, entries: &[FuncId]) -> String {
        let name = namespace(self.options.name);
        let mut out = String::from(
            "// Made by cotangent. Builds with NVRTC and nvcc, from compute capability 7.0 on, and includes nothing.\n//\n\
             // A kernel takes Params by value: a buffer is a pointer and a number of elements (64 bits), a constant buffer a\n\
             // pointer, all of them of the device. Launch it with as many threads in a block as the entry point says:\n//\n",
        );
        for id in entries {
            let [x, y, z] = self.module.funcs[*id].entry.as_ref().map_or([1; 3], |e| e.threads);
            let own = self.entry_params(*id).map_or(String::new(), |own| format!(", {name}::{own}_Params"));
            let kernel = host_name(Language::Cuda, &self.funcs[id]);
            out += &format!("//   {kernel}<<<groups, dim3({x}, {y}, {z})>>>({name}::Params{own});\n");
        }
        out + "//\n// Buffers must not overlap. A program that stops on purpose calls COTANGENT_TRAP, which ends the kernel with an error\n\
               // and prints why. COTANGENT_UNCHECKED leaves out checks of indices.\n//\n"
    }
}

/// A system value of the thread `tx`, `ty`, `tz` of the group `gx`, `gy`, `gz`.
fn system_value(value: SystemValue, [x, y, z]: [u32; 3]) -> String {
    match value {
        SystemValue::DispatchThreadId => {
            format!("ct::uint3{{gx * {x}u + tx, gy * {y}u + ty, gz * {z}u + tz}}")
        }
        SystemValue::GroupId => "ct::uint3{gx, gy, gz}".to_string(),
        SystemValue::GroupThreadId => "ct::uint3{tx, ty, tz}".to_string(),
        SystemValue::GroupIndex => format!("tx + {x}u * (ty + {y}u * tz)"),
        // Other stages were refused.
        SystemValue::VertexId
        | SystemValue::InstanceId
        | SystemValue::VulkanVertexId
        | SystemValue::VulkanInstanceId
        | SystemValue::Position
        | SystemValue::FrontFacing
        | SystemValue::SampleIndex
        | SystemValue::Coverage
        | SystemValue::PrimitiveId
        | SystemValue::Depth
        | SystemValue::ViewId
        | SystemValue::FirstVertex
        | SystemValue::FirstInstance
        | SystemValue::DrawIndex
        | SystemValue::Barycentrics
        | SystemValue::PointSize
        | SystemValue::ClipDistance
        | SystemValue::CullDistance => String::new(),
    }
}
