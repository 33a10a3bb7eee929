//! Teaches a small network a picture. `field ROUNDS`

fn main() -> cotangent_apps::Outcome {
    cotangent_apps::show("field", 4500, cotangent_apps::field::fit)
}
