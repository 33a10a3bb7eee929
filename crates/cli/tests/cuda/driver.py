"""Runs the cases of a folder as driver.cpp does, where there is no C++ compiler: python3 driver.py FOLDER."""

import ctypes
import os
import struct
import subprocess
import sys
import tempfile

folder = sys.argv[1]


def load():
    cases, benches = [], []
    for line in open(os.path.join(folder, "cases.txt")):
        word, *rest = line.split()
        if word == "case":
            cases.append({"name": rest[0], "blobs": [], "own": -1, "traps": False, "loose": 1.0, "said": ""})
        elif word == "bench":
            benches.append(rest[:3] + [int(n) for n in rest[3:6]])
        elif word == "kernel":
            cases[-1]["kernel"] = rest
        elif word in ("grid", "block"):
            cases[-1][word] = [int(n) for n in rest]
        elif word in ("zeros", "bytes"):
            data = bytes(int(rest[0])) if word == "zeros" else bytes.fromhex(rest[0] if rest else "")
            cases[-1]["blobs"].append({"bytes": bytearray(data), "pointers": []})
        elif word == "pointer":
            cases[-1]["blobs"][-1]["pointers"].append((int(rest[0]), int(rest[1])))
        elif word == "expect":
            cases[-1]["blobs"][-1].update(name=rest[0], expected=bytes.fromhex(rest[1] if len(rest) > 1 else ""))
        elif word == "element":
            leaves = [(int(rest[i]), rest[i + 1]) for i in range(1, len(rest), 2)]
            cases[-1]["blobs"][-1].update(stride=int(rest[0]), leaves=leaves)
        elif word in ("params", "own"):
            cases[-1][word] = int(rest[0])
        elif word == "trap":
            cases[-1]["traps"] = True
        elif word == "loose":
            cases[-1]["loose"] = float(rest[0])
        elif word == "says":
            cases[-1]["said"] = bytes.fromhex(rest[0] if rest else "").decode()
    return cases, benches


FORMATS = {"bool": "B", "i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q",
           "f16": "e", "f32": "f", "f64": "d"}


def difference(blob, found, loose):
    for start in range(0, len(blob["expected"]), blob["stride"]):
        for offset, kind in blob["leaves"]:
            x, y = (struct.unpack_from("<" + FORMATS[kind], data, start + offset)[0] for data in (blob["expected"], found))
            if x == y or (x != x and y != y):
                continue
            relative, absolute = (2e-3, 1e-3) if kind == "f16" else (2e-5, 2e-6)
            if kind[0] == "f" and abs(x - y) <= loose * (absolute + relative * abs(x)):
                continue
            return f"{blob['name']}[{start // blob['stride']}] byte {offset}: {x} expected, {y}"
    return ""


class Gpu:
    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        self.modules = {}
        self.must("cuInit", 0)
        context = ctypes.c_void_p()
        self.must("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.must("cuCtxSetCurrent", context)
        self.lib.cuCtxSetLimit(0, ctypes.c_size_t(32 << 10))

    def must(self, name, *args):
        wrong = getattr(self.lib, name)(*args)
        if wrong:
            sys.exit(f"{name}: error {wrong}")

    def kernel(self, module, name):
        if module not in self.modules:
            loaded = ctypes.c_void_p()
            image = open(os.path.join(folder, module), "rb").read() + b"\0"
            self.must("cuModuleLoadData", ctypes.byref(loaded), image)
            self.modules[module] = loaded
        function = ctypes.c_void_p()
        self.must("cuModuleGetFunction", ctypes.byref(function), self.modules[module], name.encode())
        return function

    def memory(self, size):
        at = ctypes.c_uint64()
        self.must("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(max(size, 16)))
        return at

    def launch(self, function, grid, block, blobs):
        held = [ctypes.create_string_buffer(bytes(b), len(b)) for b in blobs]
        args = (ctypes.c_void_p * len(held))(*[ctypes.addressof(h) for h in held])
        wrong = self.lib.cuLaunchKernel(function, *grid, *block, 0, None, args, None)
        return wrong or self.lib.cuCtxSynchronize()


def run_case(gpu, case):
    blobs = case["blobs"]
    for blob in blobs:
        blob["at"] = gpu.memory(len(blob["bytes"]))
    for blob in blobs:
        for at, to in blob["pointers"]:
            struct.pack_into("<Q", blob["bytes"], at, blobs[to]["at"].value)
        if blob["bytes"]:
            gpu.must("cuMemcpyHtoD_v2", blob["at"], bytes(blob["bytes"]), ctypes.c_size_t(len(blob["bytes"])))
    given = [blobs[case["params"]]["bytes"]] + ([blobs[case["own"]]["bytes"]] if case["own"] >= 0 else [])
    function = gpu.kernel(*case["kernel"])
    sys.stdout.flush()
    kept = os.dup(1)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        wrong = gpu.launch(function, case["grid"], case["block"], given)
        os.dup2(kept, 1)
        os.close(kept)
        file.seek(0)
        said = file.read().decode()
    if case["traps"]:
        return ("" if wrong else "it should have stopped"), bool(wrong)
    if wrong:
        return f"error {wrong} {said}", True
    if sorted(said.splitlines()) != sorted(case["said"].splitlines()):
        return f"it printed: {said}", False
    for blob in blobs:
        if blob.get("expected"):
            found = ctypes.create_string_buffer(len(blob["bytes"]))
            gpu.must("cuMemcpyDtoH_v2", found, blob["at"], ctypes.c_size_t(len(blob["bytes"])))
            wrong = difference(blob, found.raw, case["loose"])
            if wrong:
                return wrong, False
    return "", False


def run_bench(gpu, name, module, kernel, inputs, gradient, threads):
    function = gpu.kernel(module, kernel)
    counts = [inputs * threads, threads, gradient * threads]
    at = [gpu.memory(4 * n) for n in counts]
    # Halves everywhere: any numbers will do for times.
    gpu.must("cuMemsetD32_v2", at[0], 0x3F000000, ctypes.c_size_t(counts[0]))
    params = b"".join(struct.pack("<QQ", a.value, n) for a, n in zip(at, counts))
    start, end, ms, best = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_float(), float("inf")
    gpu.must("cuEventCreate", ctypes.byref(start), 0)
    gpu.must("cuEventCreate", ctypes.byref(end), 0)
    for _ in range(12):
        gpu.must("cuMemsetD8_v2", at[2], 0, ctypes.c_size_t(4 * counts[2]))
        gpu.must("cuEventRecord", start, None)
        gpu.launch(function, [threads // 64, 1, 1], [64, 1, 1], [params])
        gpu.must("cuEventRecord", end, None)
        gpu.must("cuEventSynchronize", end)
        gpu.must("cuEventElapsedTime", ctypes.byref(ms), start, end)
        best = min(best, ms.value * 1e6 / threads)
    print(f"bench {name:<34} {best:10.3f} ns per gradient   {threads} threads", flush=True)
    for a in at:
        gpu.lib.cuMemFree_v2(a)


def child(first):
    cases, benches = load()
    gpu = Gpu()
    for i in range(first, len(cases)):
        wrong, stopped = run_case(gpu, cases[i])
        print(("FAIL " if wrong else "ok   ") + cases[i]["name"] + (f": {wrong}" if wrong else ""), flush=True)
        if stopped:
            with open("/tmp/cotangent-at", "w") as file:
                file.write(str(i))
            os._exit(3)
    for bench in benches:
        run_bench(gpu, *bench)


if len(sys.argv) > 2:
    child(int(sys.argv[2]))
else:
    first = 0
    while subprocess.run([sys.executable, sys.argv[0], folder, str(first)]).returncode == 3:
        first = int(open("/tmp/cotangent-at").read()) + 1
