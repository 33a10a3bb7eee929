#!/bin/sh
# Runs the programs in this folder on the GPU of this machine and prints a summary. Needs a driver and a C++ compiler.
# Where there is nvcc, it builds the programs; else the driver builds the PTX.
cd "$(dirname "$0")" || exit 1
PATH=$PATH:/usr/local/cuda/bin
rm -f ./*.cubin ./*.log log.txt err.txt
if command -v nvcc >/dev/null; then
    start=$(date +%s)
    arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -1 | tr -cd 0-9)
    build="timeout 150 nvcc -std=c++17 -arch=sm_${arch:-90} -cubin -w"
    {
        for f in [0-9]*.cu; do echo "$build --fmad=false -o ${f%.cu}.cubin $f 2>${f%.cu}.log || rm -f ${f%.cu}.cubin"; done
        for f in bench_*.cu; do echo "$build -o ${f%.cu}.cubin $f 2>${f%.cu}.log"; done
        for f in bench_*.cu; do
            case $f in *_peer.cu) ;; *) echo "$build -DCOTANGENT_UNCHECKED -o ${f%.cu}_unchecked.cubin $f" ;; esac
        done
    } | tr '\n' '\0' | xargs -0 -P "$(nproc)" -n 1 sh -c
    echo "nvcc built $(ls ./*.cubin | wc -l) files in $(($(date +%s) - start)) s; $(find . -name '*.log' -size +0 | wc -l) with messages"
    find . -name '*.log' -size +0 | head -3 | xargs -r head -c 600
fi
start=$(date +%s)
if ${CXX:-g++} -std=c++17 -O1 -o ./driver driver.cpp -ldl 2>build.log || nvcc -std=c++17 -O1 -o ./driver driver.cpp -ldl 2>>build.log; then
    ./driver run . >log.txt 2>err.txt
else
    echo "there is no C++ compiler that builds the driver; see build.log"; exit 1
fi
status=$?
grep '^device' log.txt
grep '^FAIL' log.txt | cut -c1-150 | head -40
grep '^bench' log.txt | cut -c1-150
tail -5 err.txt
echo "$(grep -c '^ok' log.txt) cases right, $(grep -c '^FAIL' log.txt) wrong of $(grep -c '^case' cases.txt) in $(($(date +%s) - start)) s; exit status $status"
