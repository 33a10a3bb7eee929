import pytest

try:
    import torch
except ImportError:
    torch = None


@pytest.fixture(params=["numpy", "cpu", "cuda"])
def device(request):
    """Where the arrays of a test live: numpy, torch on the CPU, torch on CUDA."""
    if request.param != "numpy" and torch is None:
        pytest.skip("torch is not installed")
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    return request.param


@pytest.fixture
def arrays(device):
    """Makes arrays for a device, and reads them back."""
    return Arrays(device)


class Arrays:
    def __init__(self, device):
        self.device = device

    def __call__(self, values, dtype="float32"):
        import numpy as np

        array = np.array(values, dtype=dtype)
        return array if self.device == "numpy" else torch.from_numpy(array).to(self.device)

    def zeros(self, shape, dtype="float32"):
        import numpy as np

        return self(np.zeros(shape), dtype)

    def read(self, array):
        return array if self.device == "numpy" else array.detach().cpu().numpy()
