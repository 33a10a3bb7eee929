"""Compiles HLSL files with the DirectX compiler: python3 dxc.py LIBRARY FILE..

LIBRARY is a `libdxcompiler` for Linux; the source package `compushady` on PyPI has one. One process takes all files. Prints
what was refused, and exits with 1 if anything was.
"""

import ctypes
import re
import sys


class Guid(ctypes.Structure):
    _fields_ = [("a", ctypes.c_uint32), ("b", ctypes.c_uint16), ("c", ctypes.c_uint16), ("d", ctypes.c_uint8 * 8)]

    @staticmethod
    def of(text):
        a, b, c, d, e = text.split("-")
        return Guid(int(a, 16), int(b, 16), int(c, 16), (ctypes.c_uint8 * 8)(*bytes.fromhex(d + e)))


class Buffer(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("encoding", ctypes.c_uint32)]


COMPILER_CLASS = Guid.of("73e22d93-e6ce-47f3-b5bf-f0664f39c1b0")
COMPILER3 = Guid.of("228B4687-5A6A-4730-900C-9702B2203F54")
RESULT = Guid.of("58346CDA-DDE7-4497-9461-6F87AF5E0659")
UTF8 = 65001
# Three methods of IUnknown and two destructors come first in every table.
FIRST = 5


def call(thing, number, gives, *arguments):
    """Calls a method of an object by its number."""
    table = ctypes.cast(thing, ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p)))[0]
    types = [type(a) for a in arguments]
    method = ctypes.CFUNCTYPE(gives, ctypes.c_void_p, *types)(table[FIRST + number])
    return method(thing, *arguments)


def pointer(to):
    return ctypes.cast(ctypes.byref(to), ctypes.c_void_p)


def refusal(compiler, source, entry, profile):
    """What the compiler has against an entry point, or nothing."""
    words = ["-T", profile, "-E", entry, "-enable-16bit-types", "-Vd"]
    words = (ctypes.c_wchar_p * len(words))(*words)
    text = Buffer(ctypes.cast(ctypes.c_char_p(source), ctypes.c_void_p), len(source), UTF8)
    result, status, errors = ctypes.c_void_p(), ctypes.c_int32(), ctypes.c_void_p()
    none = ctypes.c_void_p()
    count = ctypes.c_uint32(len(words))
    call(compiler, 0, ctypes.c_int32, pointer(text), ctypes.cast(words, ctypes.c_void_p), count, none, pointer(RESULT), pointer(result))
    call(result, 0, ctypes.c_int32, pointer(status))
    if status.value == 0:
        return None
    call(result, 2, ctypes.c_int32, pointer(errors))
    data, size = call(errors, 0, ctypes.c_void_p), call(errors, 1, ctypes.c_size_t)
    return ctypes.string_at(data, size).decode(errors="replace")


def entries(source):
    """The entry points of a file: compute by `numthreads`, the others by what they give."""
    for name in re.findall(rb"\[numthreads[^\]]*\]\s*void (\w+)\(", source):
        yield name.decode(), "cs_6_2"
    for gives, name, takes, is_a in re.findall(rb"^(\w+) (\w+)\(([^\n]*)\)(?: : (\w+))?$", source, re.M):
        if gives.startswith(b"VertexOutput_") or is_a == b"SV_Position":
            yield name.decode(), "vs_6_2"
        elif b"FragmentInput_" in takes or is_a.startswith((b"SV_Target", b"SV_Depth")):
            yield name.decode(), "ps_6_2"


def main(library, files):
    create = ctypes.CDLL(library).DxcCreateInstance
    compiler = ctypes.c_void_p()
    create(pointer(COMPILER_CLASS), pointer(COMPILER3), pointer(compiler))
    refused = 0
    for file in files:
        with open(file, "rb") as opened:
            source = opened.read()
        for entry, profile in entries(source):
            said = refusal(compiler, source, entry, profile)
            if said is not None:
                refused += 1
                print(f"{file}: {entry}: {said}")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
