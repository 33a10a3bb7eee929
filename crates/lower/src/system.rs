//! System values: their names in the source, and the types that they can have.

use cotangent_base::Scalar;
use cotangent_ir::{SystemValue, Type};

/// Whether a semantic is one of the pipeline's own.
pub fn is_system(name: &str) -> bool {
    name.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("SV_"))
}

/// The name of a depth that promises which way it goes, if it is one. It is a depth: the promise saves time only.
pub fn promised(name: &str) -> Option<&'static str> {
    ["SV_DepthGreaterEqual", "SV_DepthLessEqual"].into_iter().find(|depth| depth.eq_ignore_ascii_case(name))
}

/// The system value of that name.
pub fn system_value(name: &str) -> Option<SystemValue> {
    if promised(name).is_some() {
        return Some(SystemValue::Depth);
    }
    SystemValue::ALL.iter().find(|(_, known, _)| known.eq_ignore_ascii_case(name)).map(|(_, _, value)| *value)
}

/// Whether something may have that type and be that system value.
pub fn accepts(value: SystemValue, input: bool, ty: Type) -> bool {
    match (value, ty) {
        (SystemValue::Position, Type::Vector(Scalar::F32, n)) => n == 4 || (input && n > 1),
        (SystemValue::FrontFacing | SystemValue::Depth | SystemValue::Position, _) => value.ty() == ty,
        (SystemValue::Barycentrics | SystemValue::PointSize, _) => value.ty() == ty,
        (SystemValue::ClipDistance | SystemValue::CullDistance, _) => value.ty() == ty,
        (_, Type::Scalar(s)) => s.is_int(),
        (_, Type::Vector(s, n)) => s.is_int() && matches!(value.ty(), Type::Vector(_, most) if n <= most),
        _ => false,
    }
}

pub fn words(value: SystemValue, input: bool) -> &'static str {
    match value {
        SystemValue::Position if input => "a `float4`, or its first components",
        SystemValue::Position => "a `float4`",
        SystemValue::FrontFacing => "a `bool`",
        SystemValue::Depth | SystemValue::PointSize => "a `float`",
        SystemValue::ClipDistance | SystemValue::CullDistance => "a `float`, or an array of them",
        SystemValue::Barycentrics => "a `float3`",
        SystemValue::DispatchThreadId | SystemValue::GroupId | SystemValue::GroupThreadId => {
            "up to three integers"
        }
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
        | SystemValue::DrawIndex => "an integer",
    }
}
