//! What a function is taken apart into: who takes and gives what, what is where, and that nothing is kept in vain. Each law
//! is looked for in the halves of random programs, whatever is kept.

#[allow(dead_code, reason = "the numbers are checked elsewhere")]
mod law;
mod random;
mod requests;

use cotangent_base::{EntitySet, Symbol};
use cotangent_ir::{Control, Dir, Func, Inst, Module, Op, Prefer, Region, Step, Type, Value};
use law::{Trio, random_value};
use random::Random;

const PROGRAMS: u64 = 60;

/// Calls `law` with every program under every preference.
fn each(law: impl Fn(&Trio)) {
    for seed in 0..PROGRAMS {
        for prefer in Prefer::ALL {
            println!("seed {seed}, {prefer:?}");
            let module = random::module(seed);
            let f = module.func_named(Symbol::new("f")).expect("the function is there");
            law(&Trio::of(module, f, prefer));
        }
    }
}

fn find<'m>(module: &'m Module, name: &str) -> Option<&'m Func> {
    module.func_named(Symbol::new(name)).map(|id| &module.funcs[id])
}

/// Names and types of parameters of a direction.
fn params(func: &Func, dirs: &[Dir]) -> Vec<(Symbol, cotangent_ir::Ty)> {
    func.sig.params.iter().filter(|p| dirs.contains(&p.dir)).map(|p| (p.name, p.ty)).collect()
}

// req: IR-EXT-1, IR-EXT-2, IR-UNZIP-2
#[test]
fn the_primal_half_is_the_function_with_one_more_output() {
    each(|trio| {
        let original = &trio.module.funcs[trio.f];
        let Some(primal) = find(&trio.module, "f.primal") else { return };
        assert_eq!(primal.sig.ret, original.sig.ret);
        let (context, own) = primal.sig.params.split_last().expect("there is a context");
        assert_eq!(own, original.sig.params);
        assert_eq!(context.dir, Dir::Out);
        assert!(matches!(trio.module.types.get(context.ty), Type::Struct(_)));
    });
}

// req: IR-EXT-3, IR-EXT-6, IR-TR-16, IR-UNZIP-6
#[test]
fn the_other_half_takes_the_context_inputs_that_it_needs_and_derivatives() {
    each(|trio| {
        let original = &trio.module.funcs[trio.f];
        let context = find(&trio.module, "f.primal").map(|p| p.sig.params.last().expect("a context").ty);
        for (name, tangents) in [("f.linear", 0), ("f.bwd", 1)] {
            let half = find(&trio.module, name).expect("the half is there");
            assert_eq!(half.sig.ret, None, "{name} gives nothing but derivatives");
            let mut taken = params(half, &[Dir::In, Dir::InOut]).into_iter().peekable();
            assert_eq!(taken.next_if(|(_, ty)| Some(*ty) == context).is_some(), context.is_some());
            // The inputs needed are the function's own, in their order and not split.
            for input in params(original, &[Dir::In, Dir::InOut]) {
                taken.next_if(|taken| *taken == input);
            }
            let rest: Vec<_> = taken.collect();
            let suffix = ["_t", "_ct"][tangents];
            assert!(rest.iter().all(|(name, _)| name.as_str().ends_with(suffix)), "{name}: {rest:?}");
            assert!(half.sig.params.iter().all(|p| p.dir != Dir::InOut));
        }
    });
}

/// The values of a linear half that depend on a tangent.
fn linear_values(half: &Func) -> EntitySet<Value> {
    let inputs = half.sig.inputs().zip(half.inputs());
    let mut linear: EntitySet<Value> =
        inputs.filter(|(p, _)| p.name.as_str().ends_with("_t")).map(|(_, v)| *v).collect();
    loop {
        let before = linear.iter().count();
        for inst in half.all_insts() {
            let data = &half.insts[inst];
            if data.regions.is_empty() && data.operands.iter().any(|v| linear.contains(*v)) {
                linear.extend(data.results.iter().copied());
            }
            // In these halves all that a loop or choice gives is derivatives.
            if !data.regions.is_empty() && gives_linear(half, inst, &linear) {
                linear.extend(data.results.iter().copied());
                let first = usize::from(matches!(data.op, Op::For(_)));
                if data.op.is_loop() {
                    linear.extend(half.regions[data.regions[0]].args[first..].iter().copied());
                }
            }
        }
        if linear.iter().count() == before {
            return linear;
        }
    }
}

fn gives_linear(half: &Func, inst: Inst, linear: &EntitySet<Value>) -> bool {
    let yields = half.insts[inst].regions.iter().flat_map(|r| &half.exit(*r).operands);
    yields.chain(&half.insts[inst].operands).any(|v| linear.contains(*v))
}

// req: IR-UNZIP-1, IR-UNZIP-4, IR-UNZIP-5, IR-UNZIP-11, IR-CKPT-14, IR-CKPT-15
#[test]
fn a_region_of_the_linear_half_computes_values_first_and_derivatives_then() {
    each(|trio| {
        let half = find(&trio.module, "f.linear").expect("the half is there");
        let linear = linear_values(half);
        let is_linear = |inst: &Inst| half.insts[*inst].results.iter().any(|v| linear.contains(*v));
        for region in regions(half) {
            let insts = &half.regions[region].insts;
            let mut behind = insts.iter().skip_while(|i| !is_linear(i));
            let is_primal =
                |i: &&Inst| !is_linear(i) && !half.insts[**i].op.is_exit() && !is_source(half, **i);
            assert_eq!(behind.find(is_primal), None, "a value is computed behind a derivative");
        }
    });
}

/// Whether an instruction makes something from nothing: a constant, or a zero, which is linear if one wants.
fn is_source(func: &Func, inst: Inst) -> bool {
    func.insts[inst].operands.is_empty() && func.insts[inst].regions.is_empty()
}

fn regions(func: &Func) -> Vec<Region> {
    let inner = func.all_insts().into_iter().flat_map(|i| func.insts[i].regions.to_vec());
    std::iter::once(func.body).chain(inner).collect()
}

// req: IR-UNZIP-8, IR-UNZIP-9, IR-UNZIP-10, IR-CFG-1
#[test]
fn what_steers_the_linear_half_is_primal_and_what_it_gives_is_not() {
    each(|trio| {
        let half = find(&trio.module, "f.linear").expect("the half is there");
        let linear = linear_values(half);
        for inst in half.all_insts() {
            let data = &half.insts[inst];
            match data.op.control() {
                Control::If | Control::Switch(_) | Control::For(_) => {
                    assert!(!linear.contains(data.operands[0]), "a derivative steers");
                }
                Control::While(_) => {
                    assert!(
                        data.results.iter().all(|v| !linear.contains(*v)),
                        "a `while` carries derivatives"
                    );
                }
                Control::Plain | Control::Call(_) | Control::DiffCall(_) => {}
                Control::LinCall(_) | Control::Exit(_) => {}
            }
        }
    });
}

// req: IR-UNZIP-3, IR-EXT-5
#[test]
fn the_primal_half_gives_what_the_function_gives() {
    each(|trio| {
        let Some(primal) = trio.module.func_named(Symbol::new("f.primal")) else { return };
        let mut random = Random::new(7);
        for _ in 0..3 {
            let sig = &trio.module.funcs[trio.f].sig;
            let inputs: Vec<_> =
                sig.inputs().map(|p| random_value(&trio.module, p.ty, &mut random)).collect();
            let expected = trio.run(trio.f, inputs.clone()).0;
            let given = trio.run(primal, inputs).0;
            assert_eq!(given[..expected.len()], expected);
        }
    });
}

/// The fields of a context that `func` writes, or reads.
fn fields(func: &Func, context: cotangent_ir::Ty, writes: bool) -> Vec<u32> {
    let mut fields = Vec::new();
    for inst in func.all_insts() {
        let data = &func.insts[inst];
        if writes && data.op == Op::Pack && func.ty(data.results[0]) == context {
            fields.extend(0..data.operands.len() as u32);
        }
        let (Op::Extract(path) | Op::Insert(path)) = &data.op else { continue };
        let wanted = matches!(data.op, Op::Insert(_)) == writes && func.ty(data.operands[0]) == context;
        if let (true, Some(Step::Part(field))) = (wanted, path.0.first()) {
            fields.push(*field);
        }
    }
    fields.sort_unstable();
    fields.dedup();
    fields
}

// req: IR-CKPT-7, IR-CKPT-17, IR-EXT-7, IR-EXT-9, IR-EXT-10
#[test]
fn every_field_of_a_context_is_written_by_one_half_and_read_by_the_other() {
    let seen = std::cell::Cell::new(0);
    each(|trio| {
        let linear = find(&trio.module, "f.linear").expect("the half is there");
        let Some(primal) = find(&trio.module, "f.primal") else {
            assert!(!linear.sig.params.iter().any(|p| p.name.as_str() == "context"));
            return;
        };
        let context = primal.sig.params.last().expect("a context").ty;
        let Type::Struct(id) = trio.module.types.get(context) else { panic!("a context is a structure") };
        let all: Vec<u32> = (0..trio.module.types.struct_def(id).fields.len() as u32).collect();
        assert_eq!(fields(primal, context, true), all, "written");
        assert_eq!(fields(linear, context, false), all, "read");
        seen.set(seen.get() + 1);
    });
    assert!(seen.get() > PROGRAMS, "only {} contexts", seen.get());
}

// req: IR-EXT-13, IR-EXT-12
#[test]
fn what_the_user_calls_runs_one_half_and_then_the_other() {
    each(|trio| {
        let request = &trio.module.funcs[trio.bwd];
        let names: Vec<&str> = request
            .all_insts()
            .into_iter()
            .filter_map(|i| match request.insts[i].op {
                Op::Call(callee) => Some(trio.module.funcs[callee].name.as_str()),
                _ => None,
            })
            .collect();
        match find(&trio.module, "f.primal") {
            Some(_) => assert_eq!(names, ["f.primal", "f.bwd"]),
            // Without a context the values are not needed either; but what may never end runs.
            None => assert!(names == ["f.bwd"] || names == ["f", "f.bwd"], "{names:?}"),
        }
    });
}
