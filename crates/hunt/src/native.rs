//! Generated programs with their derivatives as native code, thread by thread and in lanes, compared with the interpreter bit for bit.
//! An entry point is written for each function: thread `t` takes element `t` of a buffer for each input, and writes its outputs
//! to such buffers.

use crate::generate;
use cotangent::interp::Interpreter;
use cotangent::ir::layout::{self, Rules};
use cotangent::ir::shader::ShaderParams;
use cotangent::ir::text::{parse_module, print_func, print_module, print_type};
use cotangent::ir::{FuncId, Global, Mode, Module, Ty, Type, Types};
use cotangent::jit::{LaneChoice, Limits, Options, Program};
use cotangent::runtime::{Compiled, Data, Launch, Params, Runner};
use cotangent::{Request, Roots, Scalar, Session, Symbol, Texts};
use std::sync::Arc;

/// Threads of a group: three times eight lanes, and three more.
const THREADS: usize = 27;

/// How many functions were compared.
#[derive(Clone, Copy, Default, Debug)]
pub struct Compared {
    /// All.
    pub functions: u64,
    /// Those that ran in lanes, too.
    pub in_lanes: u64,
}

/// Compares the function of the program that belongs to a seed, and its derivatives. An error has the program in it.
pub fn compare(seed: u64) -> Result<Compared, String> {
    let source = generate::program(seed).source();
    let session = Session::new(Texts::new([("program.slang", &*source)]));
    let mut request = Request::new("program.slang");
    request.defines = vec![("LOOP".to_string(), String::new())];
    let modes = vec![Mode::Forward, Mode::Backward];
    let roots = Roots::Derivatives { func: Symbol::new("f"), modes };
    let lowered = session.program(&request).compile(roots).accept();
    let lowered = lowered.map_err(|rejected| format!("{rejected}\n{source}"))?;
    let mut compared = Compared::default();
    for root in &lowered.roots {
        let name = lowered.module.funcs[*root].name;
        let lanes = function(&lowered.module, *root, seed);
        compared.functions += 1;
        compared.in_lanes += u64::from(lanes.map_err(|error| format!("{name}: {error}\n{source}"))?);
    }
    Ok(compared)
}

/// Compares a function. Says whether it ran in lanes.
fn function(module: &Module, func: FuncId, seed: u64) -> Result<bool, String> {
    let module = with_entry(module, func);
    let entry = module.func_named("native_main".into()).ok_or("there is no entry point")?;
    let mut params = Params::new(&module);
    let mut random = seed;
    let given: Vec<(String, Ty)> = params.iter().map(|(name, _, ty, _)| (name.to_string(), ty)).collect();
    for (name, ty) in given {
        let Type::Buffer(elem, _) = module.types.get(ty) else { continue };
        let size = layout::layout(&module.types, elem).map_or(0, |layout| layout.size as usize);
        let mut bytes = vec![0; size * THREADS];
        if name.starts_with("native_in") {
            bytes.chunks_mut(size.max(1)).for_each(|element| fill(&module.types, elem, element, &mut random));
        }
        params.set(&name, &Data::Bytes(None, bytes)).map_err(|e| e.to_string())?;
    }
    let memory: Vec<(Global, Vec<u8>)> =
        params.iter().map(|(_, global, _, b)| (global, b.to_vec())).collect();
    let module = Arc::new(module);
    let compiled = Compiled {
        module: Arc::clone(&module),
        ..Compiled::new(Module::clone(&module), ShaderParams::default())
    };
    let backend = Arc::new(Interpreter::default());
    let mut runner = Runner::with_params(backend, compiled, params).map_err(|e| e.to_string())?;
    let launched = runner.launch_id(entry, [1; 3], Launch::default()).map_err(|e| e.to_string())?;
    runner.download().map_err(|e| e.to_string())?;
    let mut lanes = false;
    for choice in [LaneChoice::Never, LaneChoice::Always] {
        let options = Options { lanes: choice, ..Options::default() };
        let program = Program::compile(&module, entry, options).map_err(|e| e.to_string())?;
        lanes |= program.lanes() > 1;
        let mut memory = memory.clone();
        let mut given: Vec<(Global, &mut [u8])> =
            memory.iter_mut().map(|(global, bytes)| (*global, &mut bytes[..])).collect();
        let ended = program.launch(&mut given, [1; 3], Limits::default(), &mut String::new());
        match (&launched.ended, ended) {
            (Ok(()), Ok(())) => {
                for ((name, _, _, a), (_, b)) in runner.params.iter().zip(&memory) {
                    if a != b {
                        return Err(format!("`{name}` differs with lanes: {choice:?}"));
                    }
                }
            }
            (Err(a), Err(b)) => {
                if (a.trap, a.span, a.thread) != (b.trap, b.span, b.thread) {
                    return Err(format!("{a:?}\nis not, with lanes: {choice:?},\n{b:?}"));
                }
            }
            (a, b) => return Err(format!("{a:?}\nis not, with lanes: {choice:?},\n{b:?}")),
        }
    }
    Ok(lanes)
}

/// The module with an entry point that runs a function for each thread.
fn with_entry(module: &Module, func: FuncId) -> Module {
    let data = &module.funcs[func];
    let text = print_func(module, func);
    let name = text.strip_prefix("func ").expect("it is a function");
    let end = match name.strip_prefix("@\"") {
        Some(quoted) => quoted.find('"').expect("it ends") + 3,
        None => name.find('(').expect("it has parameters"),
    };
    let name = &name[..end];
    let ty = |ty: Ty| print_type(&module.types, ty);
    let (mut globals, mut loads, mut arguments, mut results, mut stores) =
        (String::new(), String::new(), vec![], vec![], String::new());
    for (number, param) in data.sig.inputs().enumerate() {
        let ty = ty(param.ty);
        globals += &format!("global @native_in{number}: buffer<{ty}> param\n");
        loads += &format!("%b{number}: buffer<{ty}> = global @native_in{number}\n");
        loads += &format!("%i{number}: {ty} = load %b{number} [%t]\n");
        arguments.push(format!("%i{number}"));
    }
    for (number, param) in data.sig.outputs().enumerate() {
        let ty = ty(param.ty);
        globals += &format!("global @native_out{number}: rwbuffer<{ty}> param\n");
        results.push(format!("%o{number}: {ty}"));
        stores += &format!("%c{number}: rwbuffer<{ty}> = global @native_out{number}\n");
        stores += &format!("store %c{number}, %o{number} [%t]\n");
    }
    let equals = if results.is_empty() { "" } else { " = " };
    let call = format!("{}{equals}call {name}({})\n", results.join(", "), arguments.join(", "));
    let entry = format!(
        "func @native_main(%thread: u32x3) entry({THREADS}, 1, 1)(dispatch_thread_id) {{\n\
         %t: u32 = extract %thread [0]\n{loads}{call}{stores}return\n}}\n"
    );
    let whole = print_module(module);
    let at = whole.find("\nfunc ").map_or(0, |at| at + 1);
    let text = format!("{}{globals}{}{entry}", &whole[..at], &whole[at..]);
    let module = parse_module(&text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    cotangent::ir::verify(&module).unwrap_or_else(|e| panic!("{e:?}"));
    module
}

/// Writes random numbers of a type: floats between -2 and 2, small integers.
fn fill(types: &Types, ty: Ty, bytes: &mut [u8], random: &mut u64) {
    if let Type::Scalar(scalar) = types.get(ty) {
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let number = *random >> 40;
        match scalar {
            Scalar::F32 => {
                let x = number as f32 / (1 << 22) as f32 - 2.0;
                bytes[..4].copy_from_slice(&x.to_le_bytes());
            }
            Scalar::Bool => bytes[0] = (number & 1) as u8,
            scalar => bytes[..scalar.bytes() as usize][0] = (number % 4) as u8,
        }
        return;
    }
    for (offset, part) in (0..).map_while(|index| Rules::C.part(types, ty, index)) {
        fill(types, part, &mut bytes[offset as usize..], random);
    }
}
