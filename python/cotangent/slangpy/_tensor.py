"""Tensors as slangpy has them: an array of elements, which may be vectors, with its gradients beside it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._values import element


class Tensor:
    """An array of elements of a type of the language.

    Its `shape` is that of the elements; the numbers of a vector are further dimensions of `to_numpy()`. It is memory of numpy, or a
    tensor of torch, and functions that write it do so in place.
    """

    def __init__(self, storage: Any, dtype: Any = None, grad_in: Tensor | None = None, grad_out: Tensor | None = None):
        self.storage, self.grad_in, self.grad_out = storage, grad_in, grad_out
        if dtype is None:
            dtype = storage.dtype if isinstance(storage, np.ndarray) else str(storage.dtype).removeprefix("torch.")
            dtype = np.dtype(dtype)
        found = element(dtype)
        if found is None:
            raise TypeError(f"{getattr(dtype, 'name', dtype)} is a structure: use InstanceTensor, or a dictionary of tensors")
        #: The name of the type of elements.
        self.dtype: str = found[0]
        self.element_shape: tuple[int, ...] = found[2]
        own = len(self.element_shape)
        if own and tuple(storage.shape[-own:]) != self.element_shape:
            raise ValueError(f"elements of type {self.dtype} have shape {self.element_shape}, but the array has {tuple(storage.shape)}")

    @classmethod
    def of(cls, storage: Any, dtype: str, element_shape: tuple[int, ...]) -> Tensor:
        """The same where the type of elements is known to be that of the array."""
        self = cls.__new__(cls)
        self.storage, self.dtype, self.element_shape, self.grad_in, self.grad_out = storage, dtype, element_shape, None, None
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        whole = tuple(self.storage.shape)
        return whole[: len(whole) - len(self.element_shape)]

    @property
    def strides(self) -> tuple[int, ...]:
        """The distances of neighbours, in elements."""
        if isinstance(self.storage, np.ndarray):
            steps = [step // self.storage.itemsize for step in self.storage.strides]
        else:
            steps = list(self.storage.stride())
        return tuple(step // math.prod(self.element_shape) for step in steps[: len(self.shape)])

    @property
    def element_count(self) -> int:
        return math.prod(self.shape)

    @property
    def offset(self) -> int:
        return 0

    @property
    def grad(self) -> Tensor | None:
        """The gradient, of which `grad_in` is read and to which `grad_out` is added."""
        return self.grad_out if self.grad_out is not None else self.grad_in

    def __repr__(self) -> str:
        return f"Tensor(shape={self.shape}, dtype={self.dtype})"

    def __len__(self) -> int:
        return len(self.storage)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.to_numpy(), dtype)

    # How tensors are made.

    @staticmethod
    def empty(device=None, shape=(), dtype=None, **_options) -> Tensor:
        return Tensor.zeros(device, shape, dtype)

    @staticmethod
    def zeros(device=None, shape=(), dtype=None, **_options) -> Tensor:
        found = element(dtype)
        if found is None:
            raise TypeError(f"{getattr(dtype, 'name', dtype)} is a structure: use InstanceTensor, or a dictionary of tensors")
        name, numbers, own = found
        shape = (shape,) if hasattr(shape, "__index__") else tuple(shape)
        return Tensor(np.zeros((*shape, *own), numbers), name)

    @staticmethod
    def empty_like(other: Tensor) -> Tensor:
        return Tensor.zeros_like(other)

    @staticmethod
    def zeros_like(other: Tensor) -> Tensor:
        if isinstance(other.storage, np.ndarray):
            return Tensor(np.zeros_like(other.storage, order="C", subok=False), other.dtype)
        return Tensor(other.storage.new_zeros(other.storage.shape), other.dtype)

    @staticmethod
    def from_numpy(device, array, dtype=None, **_options) -> Tensor:
        found = element(dtype) if dtype is not None else None
        return Tensor(np.array(array, found[1] if found else None, order="C"), dtype)

    @staticmethod
    def from_torch(device, tensor, dtype=None) -> Tensor:
        return Tensor(tensor, dtype)

    @staticmethod
    def load_from_image(
        device, path, flip_y: bool = False, linearize: bool = False, scale: float = 1.0, offset: float = 0.0, grayscale: bool = False
    ) -> Tensor:
        """Reads a picture, by Pillow. Its elements are `float` to `float4`."""
        try:
            from PIL import Image
        except ImportError:
            raise ImportError("load_from_image reads pictures by Pillow: pip install pillow, or use Tensor.from_numpy") from None
        picture = np.asarray(Image.open(path))
        pixels = picture.astype(np.float32) / (np.iinfo(picture.dtype).max if picture.dtype.kind in "iu" else 1)
        if linearize:
            low, high = pixels / 12.92, ((pixels + 0.055) / 1.055) ** 2.4
            pixels = np.where(pixels <= 0.04045, low, high)
        if pixels.ndim == 3 and grayscale:
            pixels = pixels[..., :3].mean(-1)
        pixels = (pixels[::-1] if flip_y else pixels) * scale + offset
        lanes = pixels.shape[2] if pixels.ndim == 3 else 1
        return Tensor(np.ascontiguousarray(pixels, np.float32), f"float{lanes}" if lanes > 1 else "float")

    # What is in them.

    def to_numpy(self) -> np.ndarray:
        """A copy of the numbers."""
        return np.array(self.storage if isinstance(self.storage, np.ndarray) else self.storage.detach().cpu().numpy())

    def to_torch(self):
        """The same memory as a tensor of torch."""
        if not isinstance(self.storage, np.ndarray):
            return self.storage
        import torch

        return torch.from_numpy(self.storage)

    def copy_from_numpy(self, array) -> None:
        write(self.storage, np.asarray(array).reshape(tuple(self.storage.shape)), "the tensor")

    def copy_from_torch(self, tensor) -> None:
        write(self.storage, tensor.reshape(tuple(self.storage.shape)), "the tensor")

    def clear(self, command_encoder=None) -> None:
        """Sets all numbers to zero."""
        write(self.storage, np.zeros((), np.float32), "the tensor")

    def is_contiguous(self) -> bool:
        storage = self.storage
        return bool(storage.flags.c_contiguous) if isinstance(storage, np.ndarray) else storage.is_contiguous()

    def __getitem__(self, index) -> Tensor:
        index = index if isinstance(index, tuple) else (index,)
        if len(index) - sum(i is None or i is Ellipsis for i in index) > len(self.shape):
            raise IndexError(f"a tensor of shape {self.shape} has no element {index}")
        return Tensor(self.storage[index], self.dtype)

    def view(self, shape, strides=None, offset: int = 0) -> Tensor:
        """The same memory in another shape."""
        if strides is not None or offset:
            raise NotImplementedError("view with strides or an offset: use indices, or views of numpy")
        return Tensor(self.storage.reshape((*shape, *self.element_shape)), self.dtype)

    def broadcast_to(self, shape) -> Tensor:
        whole = (*shape, *self.element_shape)
        return Tensor(np.broadcast_to(self.storage, whole) if isinstance(self.storage, np.ndarray) else self.storage.expand(whole), self.dtype)

    # Gradients.

    def with_grads(self, grad_in: Tensor | None = None, grad_out: Tensor | None = None, zero: bool = True) -> Tensor:
        """The same memory, with gradients: one for both directions if none is given."""
        if grad_in is None and grad_out is None:
            grad_in = grad_out = Tensor.zeros_like(self)
        elif zero:
            for grad in (grad_in, grad_out):
                if grad is not None:
                    grad.clear()
        return Tensor(self.storage, self.dtype, grad_in, grad_out)

    def detach(self) -> Tensor:
        """The same memory without gradients."""
        return Tensor(self.storage, self.dtype)


def write(storage, values, where: str) -> None:
    """Replaces the numbers of an array or tensor."""
    if np.shape(values) and tuple(values.shape) != tuple(storage.shape):
        raise ValueError(f"{where} has shape {tuple(storage.shape)}, but was to be written with {tuple(values.shape)}")
    if isinstance(storage, np.ndarray):
        if not storage.flags.writeable:
            raise ValueError(f"{where} is read-only: pass a copy")
        storage[...] = values if isinstance(values, np.ndarray) or not hasattr(values, "detach") else values.detach().cpu().numpy()
        return
    import torch

    storage.copy_(values if isinstance(values, torch.Tensor) else torch.as_tensor(values))
