//! Finds the materials of three spheres from a picture of them. `materials ROUNDS`

fn main() -> cotangent_apps::Outcome {
    cotangent_apps::show("materials", 200, cotangent_apps::materials::fit)
}
