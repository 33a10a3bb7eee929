//! Textures on the command line: from files and to files, and what is said if they do not fit.

mod support;

use cotangent::Scalar;
use cotangent::runtime::npy;
use std::process::Output;
use support::folder::Folder;
use support::{cotangent, words};

const COPY: &str = "Texture2D<float4> image; RWTexture2D<float4> copy; SamplerState s;
[numthreads(1, 1, 1)] void main(uint3 id : SV_DispatchThreadID)
{ copy[id.xy] = id.z == 0 ? image[id.xy] : image.SampleLevel(s, float2(0), 0); }";

/// Runs the program that copies one texture to another in a folder of its own.
fn copy(name: &str, runs: &[&str]) -> Vec<Output> {
    let folder = Folder::new(&format!("textures-{name}"));
    folder.file("empty.npy", npy::write(Scalar::F32, &[]));
    let program = folder.file("copy.slang", COPY);
    let run = |rest: &&str| {
        let rest = rest.replace("DIR", &folder.display().to_string());
        let args = ["run".to_string(), program.clone(), "--groups".into(), "2,2".into()];
        cotangent(&args.into_iter().chain(words(&rest)).collect::<Vec<_>>())
    };
    runs.iter().map(run).collect()
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn images_go_through_files() {
    let runs = copy(
        "files",
        &[
            "--set 'image=image(2x2, f32[1, 0, 0.2, 1, 0.6, 2, -1])' --set 'copy=image(2x2)'",
            "--set 'image=image(2x1, f32[1, 0, 0.2, 1, 0.6, 2, -1, 0])' --set 'copy=image(2x1)' --save copy=DIR/a.png --save copy=DIR/a.npy",
            "--set image=@DIR/a.png --set 'copy=image(2x1)'",
            "--set image=@DIR/a.npy --set 'copy=image(2x1)'",
        ],
    );
    assert_eq!(runs[0].status.code(), Some(2));
    printed(&runs[1]);
    // In a PNG file what is above one is one, and what is below zero is zero.
    assert_eq!(printed(&runs[2]), "copy = f32[1, 0, 0.2, 1, 0.6, 1, 0, 0]\n");
    assert_eq!(printed(&runs[3]), "copy = f32[1, 0, 0.2, 1, 0.6, 2, -1, 0]\n");
}

#[test]
fn lanes_that_an_image_does_not_have_are_zero_and_one() {
    let runs = copy("lanes", &["--set 'image=image(1x2, u8[7, 9])' --set 'copy=image(1x2)'"]);
    assert_eq!(printed(&runs[0]), "copy = f32[7, 0, 0, 1, 9, 0, 0, 1]\n");
}

#[test]
fn what_does_not_fit_is_told() {
    let cases = [
        ("--set image=f32[1]", "`image` is a texture"),
        ("--set 'image=image(2x2x2)'", "an image of shape [2, 2, 2, 1] does not fit"),
        ("--set 'image=image(axb)'", "`axb` is not a size"),
        ("--set 'image=image(65536x65536)'", "an image of 65536x65536 texels is larger than 4 GiB"),
        (
            "--set 'image=image(65536x65536x65536x65536)'",
            "65536x65536x65536x65536 texels is larger than 4 GiB",
        ),
        ("--set image=@DIR/empty.npy", "`image`: an image of shape [0] has no texels"),
        ("--set 's=image(2x2)'", "`s` is a sampler"),
        ("--set 'copy=mips(image(2x2))'", "`copy` is writable and has only one level"),
        ("--set s=cubic", "cannot read the value `cubic`"),
    ];
    let runs = copy("misfits", &cases.map(|(arguments, _)| arguments));
    for ((arguments, message), output) in cases.iter().zip(&runs) {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(message), "{arguments}: {said}");
    }
}
