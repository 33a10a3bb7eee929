//! Checks `[require(..)]` of SPIR-V features.
//!
//! A function that states features, as in `[require(spvRayQueryKHR)]`, may use only functions that require no others, whether those
//! functions or their callees state them. Input: the checked bodies. Output: diagnostics at the functions.
//!
//! Some features imply others ([`implied`]). A version (`sm_6_5`) or an unknown name may imply any feature, so a function that
//! states one is not checked.

use crate::Checked;
use crate::capability::{capability_name, is_place};
use crate::codes;
use crate::facts::Facts;
use crate::hir::{Expr, ExprKind, FuncId, each_expr};
use cotangent_base::{Diagnostic, EntitySet, Span, Symbol};

/// Features, with those that each implies.
const FEATURES: &[(&str, &[&str])] = &[
    ("shaderclock", &["spvShaderClockKHR"]),
    ("subgroup_basic", &["spvGroupNonUniform"]),
    ("subgroup_ballot", &["spvGroupNonUniformBallot"]),
    ("subgroup_basic_ballot", &["spvGroupNonUniform", "spvGroupNonUniformBallot"]),
    ("subgroup_vote", &["spvGroupNonUniformVote"]),
    ("subgroup_arithmetic", &["spvGroupNonUniformArithmetic"]),
    ("subgroup_shuffle", &["spvGroupNonUniformShuffle"]),
    ("subgroup_shufflerelative", &["spvGroupNonUniformShuffleRelative"]),
    ("subgroup_clustered", &["spvGroupNonUniformClustered"]),
    ("subgroup_quad", &["spvGroupNonUniformQuad"]),
    ("subgroup_rotate", &["spvGroupNonUniformRotateKHR"]),
    ("rayquery", &["spvRayQueryKHR"]),
    ("raytracing", &["spvRayTracingKHR"]),
    ("meshshading", &["spvMeshShadingEXT"]),
    ("atomic64", &["spvInt64Atomics"]),
    ("helper_lane", &["spvDemoteToHelperInvocationEXT"]),
    ("cooperative_matrix", &["spvCooperativeMatrixKHR"]),
    ("cooperative_vector", &["spvCooperativeVectorNV"]),
    ("printf", &[]),
    ("memorybarrier", &[]),
    ("bufferreference", &[]),
    ("spvShaderNonUniform", &["spvShaderNonUniformEXT"]),
    ("spvDemoteToHelperInvocation", &["spvDemoteToHelperInvocationEXT"]),
    ("spvRayQueryPositionFetchKHR", &["spvRayQueryKHR"]),
    ("spvRayTracingPositionFetchKHR", &["spvRayTracingKHR"]),
    ("spvShaderInvocationReorderNV", &["spvShaderInvocationReorderEXT"]),
    ("spvShaderInvocationReorderMotionEXT", &["spvRayTracingMotionBlurNV", "spvShaderInvocationReorderEXT"]),
    (
        "spvShaderInvocationReorderMotionNV",
        &[
            "spvRayTracingMotionBlurNV",
            "spvShaderInvocationReorderEXT",
            "spvShaderInvocationReorderMotionEXT",
            "spvShaderInvocationReorderNV",
        ],
    ),
];

/// What a name of `[require(..)]` implies, itself included; nothing if it may be anything.
fn implied(name: &str) -> Option<Vec<&str>> {
    let known = FEATURES.iter().find(|(feature, _)| *feature == name).map(|(_, implied)| *implied);
    if known.is_none() && !is_feature(name) && !is_place(name) {
        return None;
    }
    Some(std::iter::once(name).chain(known.unwrap_or_default().iter().copied()).collect())
}

/// Whether a name is a feature of SPIR-V.
fn is_feature(name: &str) -> bool {
    name.strip_prefix("spv").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// Something that a function requires, and where: the call, and what was called there.
struct Required {
    feature: Symbol,
    call: Span,
    callee: FuncId,
}

impl Checked {
    /// Reports the functions of the user that use a feature which they do not state, and those that use one which the requirement
    /// that they meet does not state.
    pub(crate) fn check_features(&mut self) {
        for id in self.tables.funcs.user().to_vec() {
            self.check_features_of(id, id);
        }
        for (requirement, func) in self.tables.conformances.take_met() {
            if self.facts().stated(func).is_empty() {
                self.check_features_of(func, requirement);
            }
        }
    }

    /// Reports a function that uses a feature which `stating` does not state: the function itself, or the requirement that it meets.
    fn check_features_of(&mut self, id: FuncId, stating: FuncId) {
        let stated = self.facts().stated(stating);
        let allowed = stated.iter().map(|name| implied(name.as_str())).collect::<Option<Vec<_>>>();
        let Some(allowed) = allowed.filter(|_| !stated.is_empty()).map(|all| all.concat()) else { return };
        let mut required = vec![];
        self.required_below(id, &mut EntitySet::new(), None, &mut required);
        let undeclared = required.into_iter().find(|r| !allowed.contains(&r.feature.as_str()));
        let Some(Required { feature, call, callee }) = undeclared else { return };
        let (func, other) = (&self.program.funcs[id], &self.program.funcs[stating]);
        let whose = if id == stating { "its `[require]`" } else { "the requirement that it meets" };
        let message = format!("`{}` requires `{feature}`, which {whose} does not state", func.name);
        let callee = self.program.funcs[callee].name;
        let mut diagnostic = Diagnostic::new(codes::UNDECLARED_FEATURE, func.span, message)
            .label(call, format!("`{callee}` requires it"));
        if id != stating {
            diagnostic = diagnostic.label(other.span, "the requirement");
        }
        let help = format!("add `{feature}` to the attribute, or leave the attribute out");
        self.diagnostics.push(diagnostic.help(help));
    }

    /// The features that the callees of a function require. A callee that states what it requires needs no look inside.
    fn required_below(
        &mut self,
        id: FuncId,
        seen: &mut EntitySet<FuncId>,
        outer: Option<Span>,
        found: &mut Vec<Required>,
    ) {
        if !seen.insert(id) {
            return;
        }
        let Some(body) = self.check_body(id) else { return };
        let mut calls: Vec<(FuncId, Span)> = vec![];
        let mut switches = false;
        each_expr(&body.block, &mut |expr: &Expr| match &expr.kind {
            ExprKind::Call(call) => calls.push((call.callee.func, expr.span)),
            ExprKind::Property { get: Some(get), .. } => calls.push((get.func, expr.span)),
            // What a case for another target calls does not count.
            ExprKind::Platform(_) => switches = true,
            _ => {}
        });
        if switches {
            return;
        }
        for (callee, span) in calls {
            if self.tables.scopes[self.tables.funcs[callee].scope].is_library() {
                continue;
            }
            let call = outer.unwrap_or(span);
            let stated = self.facts().stated(callee);
            if stated.is_empty() {
                self.required_below(callee, seen, Some(call), found);
            }
            let features = stated.into_iter().filter(|name| is_feature(name.as_str()));
            found.extend(features.map(|feature| Required { feature, call, callee }));
        }
    }
}

impl Facts<'_> {
    /// The names in the only `[require(..)]` of a function; of several one has to hold, so they state nothing.
    fn stated(self, id: FuncId) -> Vec<Symbol> {
        let attributes = &self.tables.funcs[id].prefix.attributes;
        let mut all = attributes.iter().filter(|a| a.name.name.as_str().eq_ignore_ascii_case("require"));
        match (all.next(), all.next()) {
            (Some(only), None) => only.args.iter().filter_map(capability_name).collect(),
            _ => vec![],
        }
    }
}
