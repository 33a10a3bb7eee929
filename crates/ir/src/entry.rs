//! Entry points: their stages, inputs and outputs.

use crate::Type;
use cotangent_base::{Scalar, Symbol};

/// How the host starts a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Where in the pipeline it stands.
    pub stage: Stage,
    /// Threads in a group, of a compute shader.
    pub threads: [u32; 3],
    /// What each input is.
    pub inputs: Vec<Link>,
    /// What each output is.
    pub outputs: Vec<Link>,
}

/// A stage of the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stage {
    /// Alone.
    Compute,
    /// Once for each corner of a triangle.
    Vertex,
    /// Once for each pixel of a triangle.
    Fragment,
}

impl Stage {
    /// All of them.
    pub const ALL: [Stage; 3] = [Stage::Compute, Stage::Vertex, Stage::Fragment];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Compute => "compute",
            Stage::Vertex => "vertex",
            Stage::Fragment => "fragment",
        }
    }
}

/// What an input or output of an entry point is connected to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Link {
    /// Something that the pipeline itself knows.
    System(SystemValue),
    /// A place of that number: a vertex attribute, a value that goes from vertices to pixels, or a target.
    Location(Location),
}

/// A numbered place between stages, for a scalar or vector.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Location {
    /// Its number.
    pub index: u32,
    /// What becomes of it between vertices.
    pub interpolation: Interpolation,
    /// Its semantic, with its number.
    pub semantic: Symbol,
}

/// How a value for a pixel is made of those of vertices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Interpolation {
    /// With perspective.
    Perspective,
    /// Linear on the screen.
    Linear,
    /// That of one vertex.
    Flat,
    /// With perspective, at a place inside the triangle.
    Centroid,
    /// With perspective, for each sample.
    Sample,
}

impl Interpolation {
    /// All of them, with their names in IR text.
    pub const ALL: [(&str, Interpolation); 5] = [
        ("perspective", Interpolation::Perspective),
        ("linear", Interpolation::Linear),
        ("flat", Interpolation::Flat),
        ("centroid", Interpolation::Centroid),
        ("sample", Interpolation::Sample),
    ];
}

/// A value the host gives to a thread, or that a thread gives to the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SystemValue {
    /// Over the whole dispatch.
    DispatchThreadId,
    /// The group's.
    GroupId,
    /// Within the group.
    GroupThreadId,
    /// The number within the group, x fastest.
    GroupIndex,
    /// The number of the vertex, from the first that is drawn.
    VertexId,
    /// The number of the instance, from the first that is drawn.
    InstanceId,
    /// The number of the vertex, with the first that is drawn added.
    VulkanVertexId,
    /// The number of the instance, with the first that is drawn added.
    VulkanInstanceId,
    /// Of a vertex, in clip space; of a pixel, on the screen.
    Position,
    /// Whether the triangle shows its front.
    FrontFacing,
    /// The number of the sample within the pixel.
    SampleIndex,
    /// Which samples of the pixel are covered.
    Coverage,
    /// The number of the triangle.
    PrimitiveId,
    /// How far away the pixel is.
    Depth,
    /// The number of the view that is drawn.
    ViewId,
    /// The number of the first vertex that is drawn.
    FirstVertex,
    /// The number of the first instance that is drawn.
    FirstInstance,
    /// The number of the draw call among those of one command.
    DrawIndex,
    /// Where in the triangle the pixel is.
    Barycentrics,
    /// How wide the point is that is drawn for a vertex.
    PointSize,
    /// How far a vertex is inside a plane that cuts triangles off. There are several: the first that has this link is the first.
    ClipDistance,
    /// How far a vertex is inside a plane that a triangle is dropped behind of, as a whole. There are several, too.
    CullDistance,
}

impl SystemValue {
    /// All of them, with their names in IR text and in the language.
    pub const ALL: [(&str, &str, SystemValue); 22] = [
        ("dispatch_thread_id", "SV_DispatchThreadID", SystemValue::DispatchThreadId),
        ("group_id", "SV_GroupID", SystemValue::GroupId),
        ("group_thread_id", "SV_GroupThreadID", SystemValue::GroupThreadId),
        ("group_index", "SV_GroupIndex", SystemValue::GroupIndex),
        ("vertex_id", "SV_VertexID", SystemValue::VertexId),
        ("instance_id", "SV_InstanceID", SystemValue::InstanceId),
        ("vulkan_vertex_id", "SV_VulkanVertexID", SystemValue::VulkanVertexId),
        ("vulkan_instance_id", "SV_VulkanInstanceID", SystemValue::VulkanInstanceId),
        ("position", "SV_Position", SystemValue::Position),
        ("front_facing", "SV_IsFrontFace", SystemValue::FrontFacing),
        ("sample_index", "SV_SampleIndex", SystemValue::SampleIndex),
        ("coverage", "SV_Coverage", SystemValue::Coverage),
        ("primitive_id", "SV_PrimitiveID", SystemValue::PrimitiveId),
        ("depth", "SV_Depth", SystemValue::Depth),
        ("view_id", "SV_ViewID", SystemValue::ViewId),
        ("first_vertex", "SV_StartVertexLocation", SystemValue::FirstVertex),
        ("first_instance", "SV_StartInstanceLocation", SystemValue::FirstInstance),
        ("draw_index", "SV_DrawIndex", SystemValue::DrawIndex),
        ("barycentrics", "SV_Barycentrics", SystemValue::Barycentrics),
        ("point_size", "SV_PointSize", SystemValue::PointSize),
        ("clip_distance", "SV_ClipDistance", SystemValue::ClipDistance),
        ("cull_distance", "SV_CullDistance", SystemValue::CullDistance),
    ];

    /// Its name in the language.
    pub fn semantic(self) -> &'static str {
        Self::ALL.iter().find(|(_, _, value)| *value == self).map_or("?", |(_, semantic, _)| semantic)
    }

    /// Whether shaders of a stage take it.
    pub const fn is_input(self, stage: Stage) -> bool {
        match self {
            SystemValue::DispatchThreadId
            | SystemValue::GroupId
            | SystemValue::GroupThreadId
            | SystemValue::GroupIndex => matches!(stage, Stage::Compute),
            SystemValue::VertexId
            | SystemValue::InstanceId
            | SystemValue::VulkanVertexId
            | SystemValue::VulkanInstanceId
            | SystemValue::FirstVertex
            | SystemValue::FirstInstance
            | SystemValue::DrawIndex => matches!(stage, Stage::Vertex),
            SystemValue::ViewId => matches!(stage, Stage::Vertex | Stage::Fragment),
            SystemValue::Position
            | SystemValue::FrontFacing
            | SystemValue::SampleIndex
            | SystemValue::Coverage
            | SystemValue::PrimitiveId
            | SystemValue::Barycentrics
            | SystemValue::ClipDistance
            | SystemValue::CullDistance => matches!(stage, Stage::Fragment),
            SystemValue::Depth | SystemValue::PointSize => false,
        }
    }

    /// Whether shaders of a stage give it.
    pub const fn is_output(self, stage: Stage) -> bool {
        match stage {
            Stage::Compute => false,
            Stage::Vertex => {
                self.is_distance() || matches!(self, SystemValue::Position | SystemValue::PointSize)
            }
            Stage::Fragment => matches!(self, SystemValue::Depth | SystemValue::Coverage),
        }
    }

    /// Whether it is a distance from a plane, of which a shader has several.
    pub const fn is_distance(self) -> bool {
        matches!(self, SystemValue::ClipDistance | SystemValue::CullDistance)
    }

    /// Its type; that of each where there are several.
    pub fn ty(self) -> Type {
        match self {
            SystemValue::DispatchThreadId | SystemValue::GroupId | SystemValue::GroupThreadId => {
                Type::Vector(Scalar::U32, 3)
            }
            SystemValue::Position => Type::Vector(Scalar::F32, 4),
            SystemValue::FrontFacing => Type::Scalar(Scalar::Bool),
            SystemValue::Barycentrics => Type::Vector(Scalar::F32, 3),
            SystemValue::Depth
            | SystemValue::PointSize
            | SystemValue::ClipDistance
            | SystemValue::CullDistance => Type::Scalar(Scalar::F32),
            SystemValue::GroupIndex
            | SystemValue::VertexId
            | SystemValue::InstanceId
            | SystemValue::VulkanVertexId
            | SystemValue::VulkanInstanceId
            | SystemValue::SampleIndex
            | SystemValue::Coverage
            | SystemValue::PrimitiveId
            | SystemValue::ViewId
            | SystemValue::FirstVertex
            | SystemValue::FirstInstance
            | SystemValue::DrawIndex => Type::Scalar(Scalar::U32),
        }
    }
}
