"""What gradients are compared with: the same program in double, by torch's autograd, or by differences where there is no torch."""

import numpy as np

try:
    import torch
except ImportError:
    torch = None


def gradients(f, inputs, cotangent):
    """The gradients of `sum(f(lib, *inputs) * cotangent)` by the inputs; `lib` is torch or numpy."""
    inputs, cotangent = [np.array(x, np.float64) for x in inputs], np.array(cotangent, np.float64)
    if torch is None:
        return [_differences(lambda x, i=i: f(np, *inputs[:i], x, *inputs[i + 1:]), inputs[i], cotangent) for i in range(len(inputs))]
    own = [torch.from_numpy(x).requires_grad_() for x in inputs]
    (f(torch, *own) * torch.from_numpy(cotangent)).sum().backward()
    return [np.zeros(x.shape) if x.grad is None else x.grad.numpy() for x in own]


def _differences(f, x, cotangent, h=1e-6):
    found = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        d = np.zeros_like(x)
        d[i] = h
        found[i] = ((f(x + d) - f(x - d)) * cotangent).sum() / (2 * h)
    return found
