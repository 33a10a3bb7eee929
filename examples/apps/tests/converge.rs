//! The applications learn: after a few rounds the loss is a fraction of what it was, and the picture is nearer the target.

use cotangent_apps::{Application, field, materials, splats};

fn converges(application: Application, rounds: u32, below: f32) {
    let fit = application(rounds, &mut |_, _| {}).unwrap();
    let ratio = fit.losses[fit.losses.len() - 1] / fit.losses[0];
    assert!(ratio < below, "the loss fell to {ratio} of what it was");
    let mean = 3.0 * fit.error() * fit.error();
    assert!(mean < below * fit.losses[0], "the picture's error is {mean}");
}

#[test]
fn splats_match_the_picture_better_and_better() {
    converges(splats::fit, 12, 0.6);
}

#[test]
fn the_network_learns_the_picture() {
    converges(field::fit, 12, 0.6);
}

#[test]
fn the_materials_are_found_through_interface_values() {
    converges(materials::fit, 25, 0.3);
}
