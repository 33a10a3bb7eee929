//! Calls of derivatives: those that the model computes, and custom ones.

use super::super::tape::{Custom, Num, Step, Value};
use super::super::tree::{Derivative, Func, Ty, Way};
use super::{Frame, Machine, Mask, Mode, Senseless, Values, lanes};

impl Machine<'_> {
    /// Plays the tape backwards.
    pub(super) fn unwind(&mut self, cotangents: &mut [f64]) -> Result<(), Senseless> {
        self.mode = Mode::Value;
        for step in std::mem::take(&mut self.tape.steps).iter().rev() {
            match step {
                Step::Sum { to, from } => {
                    for (id, slope) in from {
                        cotangents[*id] += slope * cotangents[*to];
                    }
                    self.largest = self.largest.max(cotangents[*to].abs());
                }
                Step::Custom(custom) => self.custom_backward(custom, cotangents)?,
            }
        }
        Ok(())
    }

    fn custom_backward(&mut self, custom: &Custom, cotangents: &mut [f64]) -> Result<(), Senseless> {
        let func = self.tree.func(&custom.func).ok_or(Senseless)?;
        let derivative = func.backward.as_ref().ok_or(Senseless)?;
        let mut frame = Frame::default();
        let constant = |x: f64| vec![Value::Float(Num::constant(x)); self.tree.threads];
        for ((param, arg), written) in func.params.iter().zip(&custom.args).zip(&custom.written) {
            if param.varies() {
                frame.vars.insert(format!("{}_v", param.name), vec![arg.plain(); self.tree.threads]);
                frame.vars.insert(format!("{}_g", param.name), constant(0.0));
                let incoming = written.map_or(0.0, |id| cotangents[id]);
                frame.vars.insert(format!("{}_d", param.name), constant(incoming));
            } else {
                frame.vars.insert(param.name.clone(), vec![arg.plain(); self.tree.threads]);
            }
        }
        frame.vars.insert("d".into(), constant(custom.result.map_or(0.0, |id| cotangents[id])));
        self.constants(&mut frame);
        self.block(&mut frame, &derivative.body, 1 << custom.lane)?;
        for (param, arg) in func.params.iter().zip(&custom.args) {
            if let Some(id) = arg.num().id {
                let gradient = frame.vars[&format!("{}_g", param.name)][custom.lane].num().value;
                cotangents[id] += gradient;
                self.largest = self.largest.max(gradient.abs());
            }
        }
        Ok(())
    }

    pub(super) fn apply_derivative(
        &mut self,
        func: &Func,
        args: &[Values],
        mask: Mask,
    ) -> Result<(Option<Values>, Vec<Option<Values>>), Senseless> {
        let tree = self.tree;
        if let Some(name) = &func.substitute {
            let substitute = tree.func(name).ok_or(Senseless)?;
            return self.apply(substitute, args, mask);
        }
        match self.mode {
            Mode::Forward if func.forward.is_some() => self.custom_forward(func, args, mask),
            Mode::Backward if func.backward.is_some() => {
                let plain: Vec<Values> = args.iter().map(|a| a.iter().map(|v| v.plain()).collect()).collect();
                let (mut result, mut written) = self.valued(|m| m.body(func, &plain, mask))?;
                for lane in lanes(mask) {
                    let mut place = |values: Option<&mut Values>| {
                        let value = &mut values?[lane];
                        let Value::Float(num) = value else { return None };
                        num.id = Some(self.tape.place());
                        num.id
                    };
                    let result = place(result.as_mut());
                    let written = written.iter_mut().map(|w| place(w.as_mut())).collect();
                    let args = args.iter().map(|a| a[lane]).collect();
                    let func = func.name.clone();
                    self.tape.steps.push(Step::Custom(Custom { func, lane, args, result, written }));
                }
                Ok((result, written))
            }
            Mode::Value | Mode::Forward | Mode::Backward if func.marked => self.body(func, args, mask),
            Mode::Value | Mode::Forward | Mode::Backward => Err(Senseless),
        }
    }

    /// Computes a value inside a derivative: substitutes run in all functions whose derivatives come from their bodies.
    pub(super) fn frozen(
        &mut self,
        func: &Func,
        args: &[Values],
        mask: Mask,
    ) -> Result<(Option<Values>, Vec<Option<Values>>), Senseless> {
        let tree = self.tree;
        if let Some(name) = &func.substitute {
            let substitute = tree.func(name).ok_or(Senseless)?;
            return self.frozen(substitute, args, mask);
        }
        let followed = func.marked && func.backward.is_none() && func.forward.is_none();
        let before = std::mem::replace(&mut self.substitutes, followed);
        let result = self.body(func, args, mask);
        self.substitutes = before;
        result
    }

    /// Does something in value mode.
    pub(super) fn valued<T>(&mut self, what: impl FnOnce(&mut Self) -> T) -> T {
        let mode = std::mem::replace(&mut self.mode, Mode::Value);
        let substitutes = std::mem::replace(&mut self.substitutes, false);
        let result = what(self);
        (self.mode, self.substitutes) = (mode, substitutes);
        result
    }

    fn custom_forward(
        &mut self,
        func: &Func,
        args: &[Values],
        mask: Mask,
    ) -> Result<(Option<Values>, Vec<Option<Values>>), Senseless> {
        let derivative: &Derivative = func.forward.as_ref().ok_or(Senseless)?;
        let mut frame = Frame::default();
        for (param, arg) in func.params.iter().zip(args) {
            if param.varies() {
                let tangents = arg.iter().map(|v| Value::Float(Num::constant(v.num().tangent))).collect();
                frame.vars.insert(format!("{}_v", param.name), arg.iter().map(|v| v.plain()).collect());
                frame.vars.insert(format!("{}_d", param.name), tangents);
            } else {
                frame.vars.insert(param.name.clone(), arg.iter().map(|v| v.plain()).collect());
            }
        }
        if let Some(ty) = func.ret {
            frame.vars.insert("r_v".into(), self.blank(ty));
            frame.vars.insert("r_d".into(), self.blank(Ty::Float));
        }
        self.constants(&mut frame);
        self.valued(|m| m.block(&mut frame, &derivative.body, mask))?;
        let pair = |name: &str| -> Values {
            let (values, tangents) = (&frame.vars[&format!("{name}_v")], &frame.vars[&format!("{name}_d")]);
            let both = values.iter().zip(tangents);
            both.map(|(v, d)| match v {
                Value::Float(num) => Value::Float(Num { tangent: d.num().value, ..*num }),
                Value::Int(_) | Value::Bool(_) => *v,
            })
            .collect()
        };
        let result = func.ret.map(|_| pair("r"));
        let written = func.params.iter().map(|p| (p.way == Way::InOut).then(|| pair(&p.name))).collect();
        Ok((result, written))
    }
}
