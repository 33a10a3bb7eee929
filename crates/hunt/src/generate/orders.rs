//! Generates functions that use derivatives of `f` along fixed directions and with fixed weights. Their derivatives are of
//! second order.

use super::Parameter;
use crate::program::Ty;

/// One that uses the forward derivative.
pub fn over_forward(parameters: &[Parameter]) -> String {
    let pairs: Vec<String> =
        parameters.iter().map(|p| format!("diffPair({}, {})", p.name, direction(p.ty))).collect();
    format!("{}\n{{\n    return fwd_diff(f)({}, c, n).d;\n}}", head("ff", parameters), pairs.join(", "))
}

/// One that uses the backward derivative.
pub fn over_backward(parameters: &[Parameter]) -> String {
    let pairs: Vec<String> =
        parameters.iter().map(|p| format!("    var {0}_ = diffPair({0});\n", p.name)).collect();
    let names: Vec<String> = parameters.iter().map(|p| format!("{}_", p.name)).collect();
    let weights: Vec<String> = parameters.iter().map(|p| weight(p.ty, &format!("{}_.d", p.name))).collect();
    format!(
        "{}\n{{\n{}    bwd_diff(f)({}, c, n, 1.0);\n    return {};\n}}",
        head("fb", parameters),
        pairs.concat(),
        names.join(", "),
        weights.join(" + ")
    )
}

fn head(name: &str, parameters: &[Parameter]) -> String {
    let all: Vec<String> = parameters.iter().map(|p| format!("{} {}", p.ty.name(), p.name)).collect();
    format!("[Differentiable]\nfloat {name}({}, no_diff float c, int n)", all.join(", "))
}

fn direction(ty: Ty) -> &'static str {
    match ty {
        Ty::Float => "0.8",
        Ty::Vec2 => "float2(0.5, -0.7)",
        Ty::Vec3 => "float3(0.3, 0.6, -0.4)",
        Ty::Mat => "float2x2(0.2, -0.5, 0.7, 0.4)",
        Ty::Array => "arrayStep()",
        Ty::Inner => "innerStep()",
        Ty::Outer => "outerStep()",
        Ty::Pair => "makeTuple(0.6, float2(-0.2, 0.9))",
        Ty::Bool | Ty::Int => unreachable!("they have no derivative"),
    }
}

/// A number made of a differential.
fn weight(ty: Ty, of: &str) -> String {
    match ty {
        Ty::Inner => format!("0.4 * {of}.a + weigh({of}.b)"),
        Ty::Outer => format!("0.4 * {of}.i.a + weigh({of}.i.b) + 0.2 * {of}.w[0] - 0.6 * {of}.w[1]"),
        Ty::Pair => format!("0.7 * {of}._0 + weigh({of}._1)"),
        Ty::Float | Ty::Vec2 | Ty::Vec3 | Ty::Mat | Ty::Array => format!("weigh({of})"),
        Ty::Bool | Ty::Int => unreachable!("they have no derivative"),
    }
}
