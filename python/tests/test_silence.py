"""What would be a wrong number, or a gradient that is missing, is an error or a warning that names what is concerned."""

import warnings

import numpy as np
import pytest

import cotangent

FUNCTIONS = """
struct Ray { float t; float3 d; }
struct Path : IDifferentiable { float w; no_diff float k; Ray ray; no_diff Ray camera; Ray rays[2]; }
struct Box<T : IDifferentiable> : IDifferentiable { T value; no_diff float k; }
struct Plain<T> { T value; }
[Differentiable] float along(Ray ray, float x) { return ray.t * x; }
[Differentiable] float pass(Path path, float x) { return path.w * path.k * path.ray.t * path.camera.t * path.rays[1].t * x; }
[Differentiable] float boxed(Box<float> box, float x) { return box.value * box.k * x; }
[Differentiable] float plain(Plain<float> p, float x) { return p.value * x; }
[Differentiable] float still(no_diff Ray ray, float x) { return ray.t * x; }
[Differentiable] float ignored(float x, int n) { return x * n; }
[ForwardDifferentiable] float forward(float x) { return x * x; }
"""
KERNELS = """
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void copy(DiffTensorView a, DiffTensorView b)
{ uint2 i = cudaThreadIdx().xy; b[i] = 2 * a[i]; }
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void once(DiffTensorView a, DiffTensorView b) { uint i = cudaThreadIdx().x; b.storeOnce(i, 2 * a[i]); }
[AutoPyBindCUDA] [CUDAKernel] void rows(TensorView<float> a, TensorView<float> b) { uint i = cudaThreadIdx().x; b[i] = a[i, 0]; }
[AutoPyBindCUDA] [CUDAKernel] void volume(TensorView<float> a, TensorView<float> b) { uint3 i = cudaThreadIdx(); b[i.x] = a[i]; }
[AutoPyBindCUDA] [CUDAKernel] void single(TensorView<float> a, TensorView<float> b) { b[cudaThreadIdx().x] = a[0]; }
[AutoPyBindCUDA] [CUDAKernel] void pairs(TensorView<float2> a, TensorView<float> b) { uint2 i = cudaThreadIdx().xy; b[i.x] = a[i].y; }
StructuredBuffer<float> x; RWStructuredBuffer<float> y;
[numthreads(4, 1, 1)] void twice(uint3 id : SV_DispatchThreadID) { y[id.x] = 2 * x[id.x]; }
"""


@pytest.fixture(scope="module")
def m():
    return cotangent.load(source=FUNCTIONS)


@pytest.fixture(scope="module")
def k():
    return cotangent.load(source=KERNELS)


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


def ray(t, torch):
    return {"t": t, "d": torch.zeros(3)}


def path(torch, **given):
    own = {"w": 1.0, "k": 1.0, "ray": ray(1.0, torch), "camera": ray(1.0, torch), "rays": ray(torch.ones(2), torch)}
    own["rays"]["d"] = torch.zeros(2, 3)
    return {**own, **given}


class TestStructuresWithoutDerivative:
    """A structure without `IDifferentiable` is a constant: a tensor in it that requires a gradient would get none."""

    def test_a_parameter(self, m, torch):
        t, x = torch.rand(3, requires_grad=True), torch.rand(3)
        with pytest.raises(TypeError, match="`ray.t` of along requires a gradient, but `Ray` is not differentiable: declare `struct Ray : IDiff"):
            m.along(ray(t, torch), x)
        assert m.along(ray(t.detach(), torch), x).shape == (3,)
        with torch.no_grad():
            assert m.along(ray(t, torch), x).shape == (3,)
        with pytest.raises(TypeError, match="`ray.t`"):
            m.along(ray(t, torch), x.clone().requires_grad_())

    def test_in_other_structures_and_arrays(self, m, torch):
        t, x = torch.rand((), requires_grad=True), torch.rand(3)
        with pytest.raises(TypeError, match="`path.ray.t` of pass .*`Ray` is not"):
            m["pass"](path(torch, ray=ray(t, torch)), x)
        with pytest.raises(TypeError, match="`path.rays.t` of pass .*`Ray` is not"):
            m["pass"](path(torch, rays=[ray(t, torch), ray(torch.ones(()), torch)]), x)
        with pytest.raises(TypeError, match="`p.value` of plain .*is not differentiable"):
            m.plain({"value": t}, x)

    def test_what_is_no_diff_was_said(self, m, torch):
        t, x = torch.rand((), requires_grad=True), torch.rand(3)
        for call in (
            lambda: m["pass"](path(torch, k=t), x),
            lambda: m["pass"](path(torch, camera=ray(t, torch)), x),
            lambda: m.boxed({"value": 1.0, "k": t}, x),
            lambda: m.still(ray(t, torch), x),
        ):
            assert call().shape == (3,)
        m["pass"](path(torch, w=t), x).sum().backward()
        torch.testing.assert_close(t.grad, x.sum())

    def test_transformations(self, m, torch):
        t, x = torch.rand(3), torch.rand(3)
        f = lambda t: m.along(ray(t, torch), x).sum()
        for transformed in (torch.func.grad(f), torch.func.jacrev(f), lambda t: torch.func.jvp(f, (t,), (t,))):
            with pytest.raises(TypeError, match="`ray.t` of along requires a gradient"):
                transformed(t)
        with torch.autograd.forward_ad.dual_level(), pytest.raises(TypeError, match="`ray.t`"):
            m.along(ray(torch.autograd.forward_ad.make_dual(t, t), torch), x)
        with pytest.raises(Exception, match="`ray.t` of along requires a gradient"):
            torch.compile(f, backend="eager")(t.requires_grad_())

    def test_methods(self, m):
        one = {"t": 1.0, "d": [0, 0, 0]}
        with pytest.raises(ValueError, match="`ray` of along carries no derivative: `Ray` is not differentiable"):
            m.along.grad(one, 1.0, wrt="ray")
        with pytest.raises(ValueError, match="`ray` of along carries no derivative: `Ray` is not differentiable"):
            m.along.jvp(one, 1.0, tangents={"ray": one})
        with pytest.raises(ValueError, match="`n` of ignored carries no derivative; x does"):
            m.ignored.grad(1.0, 2, wrt="n")


def test_functions_with_a_forward_derivative_only(m, torch):
    x = torch.rand(3, requires_grad=True)
    with pytest.raises(TypeError, match="`x` requires a gradient, but `forward` has no backward derivative: mark it"):
        m.forward(x)
    assert torch.func.jvp(m.forward, (x.detach(),), (torch.ones(3),))[1].shape == (3,)


class TestIndicesOfTensors:
    """An index with more dimensions than the tensor, or beyond a size of it, is not the index of another element."""

    def stops(self, call, threads):
        with pytest.raises(cotangent.Trap, match="more dimensions than the tensor has"):
            call.launch(1, threads)
            cotangent.synchronize()

    def test_too_few_dimensions(self, k, arrays):
        if arrays.device == "cuda":
            pytest.skip("a trap of a device has no help")
        a, b = arrays(np.arange(4)), arrays.zeros(4)
        self.stops(k.rows(a=a, b=b), 4)
        self.stops(k.volume(a=arrays.zeros((4, 4)), b=b), 4)
        self.stops(k.copy(a=a, b=arrays.zeros((4, 4))), (4, 4))
        self.stops(k.copy.bwd(a=(arrays.zeros((4, 4)),) * 2, b=(a, arrays.zeros(4))), (4, 4))

    def test_beyond_a_size(self, k, arrays):
        if arrays.device == "cuda":
            pytest.skip("a trap of a device has no help")
        self.stops(k.copy(a=arrays.zeros((4, 2)), b=arrays.zeros((4, 4))), (1, 4))
        self.stops(k.volume(a=arrays.zeros((2, 2, 2)), b=arrays.zeros(2)), (1, 1, 3))

    def test_vectors_have_no_index_along_their_numbers(self, k, arrays):
        a, b = arrays(np.arange(6).reshape(3, 2)), arrays.zeros(3)
        k.pairs(a=a, b=b).launch(1, (3, 1))
        np.testing.assert_array_equal(arrays.read(b), [1, 3, 5])
        with pytest.raises(cotangent.Trap):
            k.pairs(a=a, b=b).launch(1, (3, 2))
            cotangent.synchronize()

    def test_a_tensor_without_dimensions_has_one_element(self, k, arrays):
        b = arrays.zeros(3)
        k.single(a=arrays(7), b=b).launch(1, 3)
        np.testing.assert_array_equal(arrays.read(b), [7, 7, 7])


class TestMemory:
    def test_what_is_read_may_be_expanded_or_read_only(self, k, arrays):
        b, ga = arrays.zeros(4), arrays.zeros(4)
        one = arrays([1])
        wide = np.broadcast_to(one, 4) if arrays.device == "numpy" else one.expand(4)
        k.once(a=wide, b=b).launch(1, 4)
        np.testing.assert_array_equal(arrays.read(b), [2] * 4)
        # The gradient of a sum is expanded.
        k.once.bwd(a=(arrays([1, 2, 3, 4]), ga), b=(b, wide)).launch(1, 4)
        np.testing.assert_array_equal(arrays.read(ga), [2] * 4)

    def test_what_is_written_may_not(self, k, arrays):
        a, line = arrays.zeros((3, 3)), arrays.zeros(5)
        with pytest.raises(RuntimeError, match=r"^b(: dimension 0 has stride 0;| is read-only).*\(an argument of once\)"):
            k.once(a=arrays.zeros(4), b=np.broadcast_to(line[:1], 4) if arrays.device == "numpy" else line[:1].expand(4))
        strided = np.lib.stride_tricks.as_strided(line, (3, 3), (4, 4)) if arrays.device == "numpy" else line.as_strided((3, 3), (1, 1))
        with pytest.raises(RuntimeError, match="b: its elements share memory"):
            k.copy(a=a, b=strided)

    def test_arrays_of_numpy(self, k):
        constant = np.arange(4, dtype=np.float32)
        constant.flags.writeable = False
        b = np.zeros(4, np.float32)
        k.once(a=constant, b=b).launch(1, 4)
        assert b[3] == 6
        for a, own, message in (
            (constant, constant, "b is read-only"),
            (constant[::-1], b, "a: dimension 0 has stride -1"),
            (np.zeros(4), b, "a takes elements of type float32, but was given float64"),
            (np.zeros((2,) * 6, np.float32), b, "a has 6 dimensions"),
        ):
            with pytest.raises(RuntimeError, match=rf"^{message}.*\(an argument of once\)"):
                k.once(a=a, b=own)
        with pytest.raises(ValueError, match=r"x is a buffer: its array must be contiguous \(an argument of twice\)"):
            k.twice(x=constant[::-1], y=b)

    def test_one_gradient_for_a_result_and_something_else(self, k, arrays):
        """The derivative would read and clear what it adds to."""
        x, y, g = arrays([1, 2, 3, 4]), arrays.zeros(4), arrays([1, 1, 1, 1])
        with pytest.raises(ValueError, match=r"a.grad and b.grad are the same memory, .*: pass a copy \(an argument of once.bwd\)"):
            k.once.bwd(a=(x, g), b=(y, g))
        with pytest.raises(ValueError, match="the derivatives of (x and y|y and x) are the same memory, but one of them is a result of twice"):
            k.twice.bwd(x=(x, g), y=(y, g))
        # Two inputs may share theirs: both are added.
        m = cotangent.load(source="""
[AutoPyBindCUDA] [CUDAKernel] [Differentiable]
void product(DiffTensorView a, DiffTensorView b, DiffTensorView c) { uint i = cudaThreadIdx().x; c.storeOnce(i, a[i] * b[i]); }""")
        both = arrays.zeros(4)
        m.product.bwd(a=(x, both), b=(x, both), c=(y, g)).launch(1, 4)
        np.testing.assert_array_equal(arrays.read(both), [2, 4, 6, 8])

    def test_the_same_tensor_twice(self, k, arrays):
        a = arrays([1, 2, 3, 4])
        k.once(a=a, b=a).launch(1, 4)
        np.testing.assert_array_equal(arrays.read(a), [2, 4, 6, 8])


class TestAutograd:
    """A launch records no gradient, and changes tensors behind torch's back."""

    def test_tensors_that_require_gradients(self, k, torch):
        a, b = torch.rand(4, requires_grad=True), torch.zeros(4)
        with pytest.warns(UserWarning, match=r"a requires a gradient, but a launch of once records none: use once.function"):
            k.once(a=a, b=b).launch(1, 4)
        with pytest.warns(UserWarning, match=r"x requires a gradient, but a launch of twice records none: use twice.function"):
            k.twice(x=a, y=b).launch(1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with torch.no_grad():
                k.once(a=a, b=b).launch(1, 4)
            k.once(a=a.detach(), b=b).launch(1, 4)
            k.once.bwd(a=(a, torch.zeros(4)), b=(b, torch.ones(4))).launch(1, 4)

    def test_tangents(self, k, torch):
        with torch.autograd.forward_ad.dual_level():
            a = torch.autograd.forward_ad.make_dual(torch.ones(4), torch.ones(4))
            with pytest.warns(UserWarning, match="a requires a gradient, but a launch of once records none"):
                k.once(a=a, b=torch.zeros(4)).launch(1, 4)
            with pytest.raises(NotImplementedError, match="forward mode"):
                k.twice.function(out={"y": 4}, blocks=1)(x=a)

    def test_compiled_graphs(self, k, torch):
        """Functions of kernels are beside the graph, and gradients are the same."""
        f = k.twice.function(out={"y": 4}, blocks=1)

        def both(x, b):
            return f(x=x * x) + b

        x, b = torch.rand(4, requires_grad=True), torch.full((4,), 4.0)
        y = torch.compile(both, backend="eager")(x, b)
        y.sum().backward()
        torch.testing.assert_close(y, 2 * x * x + 4)
        torch.testing.assert_close(x.grad, 4 * x.detach())

    def test_results_that_require_gradients(self, k, torch):
        a, b = torch.zeros(4), torch.rand(4, requires_grad=True)
        with pytest.raises(RuntimeError, match="once writes b, which requires a gradient: launch it under torch.no_grad"):
            k.once(a=a, b=b)
        with pytest.raises(RuntimeError, match="twice writes y, which requires a gradient"):
            k.twice(x=a, y=b * 2)

    @pytest.mark.parametrize("name", ["once", "twice"])
    def test_a_saved_tensor_that_a_kernel_writes(self, k, torch, name):
        x = torch.rand(4, requires_grad=True)
        y, z = x.exp(), torch.ones(4)
        if name == "once":
            k.once(a=z, b=y.detach()).launch(1, 4)
        else:
            k.twice(x=z, y=y.detach()).launch(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()

    def test_a_saved_tensor_that_a_kernel_reads(self, k, torch):
        x = torch.rand(4, requires_grad=True)
        y, z = x.exp(), torch.ones(4)
        k.once(a=y.detach(), b=z).launch(1, 4)
        k.once.bwd(a=(y.detach(), z), b=(torch.zeros(4), torch.ones(4))).launch(1, 4)
        y.sum().backward()
        torch.testing.assert_close(x.grad, y.detach())

    def test_an_input_of_a_function_that_is_changed(self, m, torch):
        x = torch.rand(3, requires_grad=True)
        h = x * 2
        y = m.ignored(h, 3)
        h.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


class TestMessages:
    """Messages name what the user wrote, and none of our names."""

    def test_derivatives_of_functions(self, m):
        with pytest.raises(ValueError, match=r"arguments of the vjp of ignored do not fit together: `x` \(2,\), .*`the cotangent of the result` \(3,\)"):
            m.ignored.vjp(np.ones(2), 1, cotangents=np.ones(3))
        with pytest.raises(ValueError, match=r"arguments of the jvp of ignored do not fit together: .*`the tangent of x` \(3,\)"):
            m.ignored.jvp(np.ones(2), 1, tangents=np.ones(3))

    def test_functions_that_have_no_name_of_their_own(self):
        m = cotangent.load(source="float f<T : IFloat>(T x) { return 1; } float g(int x) { return 1; } float g(float x) { return 2; }")
        with pytest.raises(AttributeError, match="`f` is a method or generic: call it from a function that is neither"):
            m.f
        with pytest.raises(ValueError, match="`g` is overloaded"):
            m.g

    def test_what_load_takes(self):
        with pytest.raises(TypeError, match="give a text as source="):
            cotangent.load("float f(float x) { return x; }")
        with pytest.raises(TypeError, match="defines are a dictionary of macros, as in .*, not list"):
            cotangent.load(source="", defines=["N"])

    def test_kernels(self, k):
        x, y = np.ones(4, np.float32), np.zeros(4, np.float32)
        with pytest.raises(ValueError, match="twice.bwd was given no pair of an array and its gradient"):
            k.twice.bwd(x=x, y=y)
        with pytest.raises(RuntimeError, match=r"a.grad takes elements of type float32, but was given float64 \(an argument of once.bwd\)"):
            k.once.bwd(a=(x, np.zeros(4)), b=y)
        with pytest.raises(ValueError, match="once.bwd lacks b; it has a, b"):
            k.once.bwd(a=x)
        call = k.once(a=x, b=y)
        assert repr(call) == "<call of once, to be launched>"
        call.launch(1, 4)


class TestCopies:
    """Dense values are passed as they are."""

    def test_arguments_of_functions(self, m, arrays, monkeypatch):
        if arrays.device == "cuda":
            pytest.skip("test_cuda.py has it")
        seen, x = [], arrays(np.ones(100))
        entry = m.ignored._points.entry
        launch = entry.launch
        monkeypatch.setattr(entry, "launch", lambda groups, shared, own, device: (seen.append(own), launch(groups, shared, own, device)))
        y = m.ignored(x, 2)
        address = lambda a: (a.ctypes.data if arrays.device == "numpy" else a.data_ptr()).to_bytes(8, "little")
        assert address(x) in seen[0] and address(y) in seen[0]

    def test_arguments_of_kernels(self, k, arrays):
        a, b = arrays(np.ones((4, 6))), arrays.zeros((4, 3))
        call = k.copy(a=a[:, ::2], b=b)
        address = lambda a: (a.ctypes.data if arrays.device == "numpy" else a.data_ptr()).to_bytes(8, "little")
        assert address(a) in bytes(call._own.block) and address(b) in bytes(call._own.block)
        call.launch(1, (4, 3))
