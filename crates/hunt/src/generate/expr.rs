//! Generates random expressions. They are numerically tame: functions are bounded, or their arguments stay where they are
//! smooth.

use super::Generator;
use super::scope::Scope;
use crate::program::{Node, Ty};

/// Forms of each type, with `$` for operands of the types after. One is picked at random.
type Form = (&'static str, &'static [Ty]);

use Ty::{Array, Bool, Float, Inner, Int, Mat, Outer, Pair, Vec2, Vec3};

const FLOAT: &[Form] = &[
    ("($ + $)", &[Float, Float]),
    ("($ - $)", &[Float, Float]),
    ("($ * $)", &[Float, Float]),
    ("($ / (1.5 + $ * 0.2))", &[Float, Float]),
    ("(-$)", &[Float]),
    ("sin($)", &[Float]),
    ("cos($)", &[Float]),
    ("tanh($)", &[Float]),
    ("atan($)", &[Float]),
    ("exp(-abs($))", &[Float]),
    ("sqrt(1.0 + abs($))", &[Float]),
    ("log(2.0 + abs($))", &[Float]),
    ("pow(1.6 + 0.5 * sin($), 1.5 + 0.4 * cos($))", &[Float, Float]),
    ("max($, $)", &[Float, Float]),
    ("min($, $)", &[Float, Float]),
    ("clamp($, -0.4, 0.7)", &[Float]),
    ("lerp($, $, $)", &[Float, Float, Float]),
    ("mad($, $, $)", &[Float, Float, Float]),
    ("($ ? $ : $)", &[Bool, Float, Float]),
    ("select($, $, $)", &[Bool, Float, Float]),
    ("dot($, $)", &[Vec2, Vec2]),
    ("dot($, $)", &[Vec3, Vec3]),
    ("length(float3(1.7) + 0.3 * $)", &[Vec3]),
    ("distance(float2(2.5), sin($))", &[Vec2]),
    ("determinant($)", &[Mat]),
    ("$.x", &[Vec2]),
    ("$.z", &[Vec3]),
    ("$[$ % 3]", &[Vec3, Int]),
    ("$[$ % 2][$ % 2]", &[Mat, Int, Int]),
    ("$[$ % 4]", &[Array, Int]),
    ("$.size($)", &[Inner, Float]),
    ("$.mean", &[Inner]),
    ("$.total()", &[Outer]),
    ("$[$]", &[Outer, Int]),
    ("$.w[$ % 3]", &[Outer, Int]),
    ("$.i.b.y", &[Outer]),
    ("$._0", &[Pair]),
    ("shaped(Disc($), $)", &[Float, Float]),
    ("shaped(Box($), $)", &[Vec2, Float]),
    ("blend($, $)", &[Float, Float]),
    ("added($)", &[Array]),
    ("wave($, $)", &[Float, Float]),
    ("hump($)", &[Float]),
    ("again($, $)", &[Float, Float]),
    ("kept($, $)", &[Float, Float]),
    ("(memo[$ % 4] * $)", &[Int, Float]),
    ("(float($) * 0.2)", &[Int]),
];

const VEC2: &[Form] = &[
    ("($ + $)", &[Vec2, Vec2]),
    ("($ * $)", &[Vec2, Vec2]),
    ("($ * $)", &[Vec2, Float]),
    ("($ * $)", &[Float, Vec2]),
    ("($ - $)", &[Float, Vec2]),
    ("(-$)", &[Vec2]),
    ("sin($)", &[Vec2]),
    ("float2($, $)", &[Float, Float]),
    ("float2($)", &[Float]),
    ("$.yx", &[Vec2]),
    ("$.zx", &[Vec3]),
    ("mul($, $)", &[Mat, Vec2]),
    ("mul($, $)", &[Vec2, Mat]),
    ("max($, $)", &[Vec2, Vec2]),
    ("lerp($, $, $)", &[Vec2, Vec2, Vec2]),
    ("($ ? $ : $)", &[Bool, Vec2, Vec2]),
    ("$[$ % 2]", &[Mat, Int]),
    ("$.b", &[Inner]),
    ("$.i.b", &[Outer]),
    ("$._1", &[Pair]),
    ("normalize(float2(2.2, 1.9) + sin($))", &[Vec2]),
];

const VEC3: &[Form] = &[
    ("($ + $)", &[Vec3, Vec3]),
    ("($ - $)", &[Vec3, Vec3]),
    ("($ * $)", &[Vec3, Float]),
    ("($ / (1.6 + 0.3 * sin($)))", &[Vec3, Vec3]),
    ("cross($, $)", &[Vec3, Vec3]),
    ("cos($)", &[Vec3]),
    ("float3($, $)", &[Vec2, Float]),
    ("float3($, $, $)", &[Float, Float, Float]),
    ("$.zxy", &[Vec3]),
    ("$.xyx", &[Vec2]),
    ("reflect($, $)", &[Vec3, Vec3]),
    ("clamp($, -0.6, 0.5)", &[Vec3]),
];

const MAT: &[Form] = &[
    ("($ + $)", &[Mat, Mat]),
    ("($ - $)", &[Mat, Mat]),
    ("($ * $)", &[Mat, Float]),
    ("($ * $)", &[Mat, Mat]),
    ("mul($, $)", &[Mat, Mat]),
    ("transpose($)", &[Mat]),
    ("sin($)", &[Mat]),
    ("float2x2($, $, $, $)", &[Float, Float, Float, Float]),
    ("float2x2($, $)", &[Vec2, Vec2]),
];

const INNER: &[Form] = &[
    ("Inner($, $)", &[Float, Vec2]),
    ("($ + $)", &[Inner, Inner]),
    ("Inner.join($, $)", &[Inner, Inner]),
    ("$.i", &[Outer]),
];

const PAIR: &[Form] = &[("makeTuple($, $)", &[Float, Vec2])];

const BOOL: &[Form] = &[
    ("($ > 0.1)", &[Float]),
    ("($ < $)", &[Float, Float]),
    ("($ % 2 == 0)", &[Int]),
    ("($ < 2)", &[Int]),
    ("($ && $)", &[Bool, Bool]),
    ("($ || $)", &[Bool, Bool]),
    ("(!$)", &[Bool]),
    ("any($ > $)", &[Vec2, Vec2]),
];

const INT: &[Form] = &[
    ("($ + $)", &[Int, Int]),
    ("($ * 3 + 1)", &[Int]),
    ("(($ > 0.0) ? $ : $)", &[Float, Int, Int]),
    ("int(abs($) * 3.0)", &[Float]),
    ("$.n", &[Outer]),
];

fn forms(ty: Ty) -> &'static [Form] {
    match ty {
        Float => FLOAT,
        Vec2 => VEC2,
        Vec3 => VEC3,
        Mat => MAT,
        Array | Outer => &[],
        Inner => INNER,
        Pair => PAIR,
        Bool => BOOL,
        Int => INT,
    }
}

impl Generator {
    /// An expression of a type, at most about `depth` deep.
    pub fn expr(&mut self, scope: &Scope, ty: Ty, depth: usize) -> Node {
        let forms = forms(ty);
        if depth == 0 || forms.is_empty() || self.random.once_in(4) {
            return self.leaf(scope, ty);
        }
        if self.random.once_in(5)
            && let Some(call) = self.call(scope, ty, depth - 1)
        {
            return call;
        }
        let (text, operands) = *self.random.pick(forms);
        let operands = operands.iter().map(|ty| self.expr(scope, *ty, depth - 1)).collect();
        Node::expr(ty, text, operands)
    }

    /// A call of a function made earlier that writes to nothing and gives `ty`.
    fn call(&mut self, scope: &Scope, ty: Ty, depth: usize) -> Option<Node> {
        let fits = |c: &&super::scope::Callable| c.ret == Some(ty) && c.params.iter().all(|p| !p.1);
        let all: Vec<_> = scope.callables.iter().filter(fits).cloned().collect();
        if all.is_empty() {
            return None;
        }
        let callable = self.random.pick(&all).clone();
        let places = vec!["$"; callable.params.len()].join(", ");
        let operands = callable.params.iter().map(|(ty, _)| self.expr(scope, *ty, depth)).collect();
        Some(Node::expr(ty, &format!("{}({places})", callable.name), operands))
    }

    /// A variable or a constant.
    fn leaf(&mut self, scope: &Scope, ty: Ty) -> Node {
        let names = if ty == Int { scope.ints.iter().map(String::as_str).collect() } else { scope.of(ty) };
        if !(names.is_empty() || ty == Float && self.random.once_in(6)) {
            let name = (*self.random.pick(&names)).to_string();
            return Node::leaf(Some(ty), name);
        }
        match ty {
            Float => {
                let text = format!("{:.2}", self.random.float());
                Node::leaf(Some(ty), if text.starts_with('-') { format!("({text})") } else { text })
            }
            Bool => Node::leaf(Some(ty), *self.random.pick(&["true", "false"])),
            Int => Node::leaf(Some(ty), self.random.below(4).to_string()),
            Vec2 => self.made(scope, ty, "float2($, $)", 2),
            Vec3 => self.made(scope, ty, "float3($, $, $)", 3),
            Mat => self.made(scope, ty, "float2x2($, $, 0.3, $)", 3),
            Array => self.made(scope, ty, "fourOf($, $, $)", 3),
            Inner => self.made(scope, ty, "Inner($, float2($, $))", 3),
            Outer => self.made(scope, ty, "outerOf($, $, $)", 3),
            Pair => self.made(scope, ty, "makeTuple($, float2($, $))", 3),
        }
    }

    fn made(&mut self, scope: &Scope, ty: Ty, text: &str, floats: usize) -> Node {
        let operands = (0..floats).map(|_| self.leaf(scope, Float)).collect();
        Node::expr(ty, text, operands)
    }

    /// A bounded expression, for what is written to a variable.
    pub fn bounded(&mut self, scope: &Scope, ty: Ty) -> Node {
        let depth = 1 + self.random.below(3);
        let inner = self.expr(scope, ty, depth);
        match ty {
            Float | Vec2 | Vec3 | Mat => {
                let text = *self.random.pick(&["sin($)", "0.8 * cos($)", "0.6 * sin($)", "tanh($)"]);
                Node::expr(ty, text, vec![inner])
            }
            Array | Inner | Outer | Pair | Bool | Int => inner,
        }
    }
}
