//! Fits Gaussian splats to a picture. `splats ROUNDS`

fn main() -> cotangent_apps::Outcome {
    cotangent_apps::show("splats", 600, cotangent_apps::splats::fit)
}
