//! Finds the materials of three spheres from a picture of them. `materials ROUNDS`

fn main() -> cotangent_apps::Outcome {
    cotangent_apps::show("materials", 1500, cotangent_apps::materials::fit)
}
