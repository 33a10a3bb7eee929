// Builds and runs CUDA programs without a toolkit: NVRTC and the driver are loaded when they are needed.
//
//   driver compile IN.cu OUT.ptx [OPTION..]   by NVRTC (COTANGENT_NVRTC names the library)
//   driver run FOLDER                         runs the cases of FOLDER/cases.txt, compares what they leave, then times the benches
//
// cases.txt has one fact per line; what the words mean is said where they are read. A kernel that stops on purpose takes the whole
// process with it as far as CUDA is concerned, so cases run in a child that is started again behind such a case.

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using std::string;
using std::vector;
using Bytes = vector<unsigned char>;
using Address = unsigned long long;

static void* library(std::initializer_list<const char*> names) {
    for (const char* name : names)
        if (name)
            if (void* found = dlopen(name, RTLD_NOW)) return found;
    return nullptr;
}

template <class R = int, class... A> static R call(void* library, const char* name, A... args) {
    void* found = dlsym(library, name);
    if (!found) { std::fprintf(stderr, "there is no %s\n", name); std::exit(2); }
    return reinterpret_cast<R (*)(A...)>(found)(args...);
}

static string read(const string& path) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

static int compile(const string& from, const string& to, vector<const char*> options) {
    void* nvrtc = library({std::getenv("COTANGENT_NVRTC"), "libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"});
    if (!nvrtc) { std::fprintf(stderr, "NVRTC was not found: %s\n", dlerror()); return 77; }
    string source = read(from);
    void* program = nullptr;
    call(nvrtc, "nvrtcCreateProgram", &program, source.c_str(), from.c_str(), 0, (const char**)nullptr, (const char**)nullptr);
    int wrong = call(nvrtc, "nvrtcCompileProgram", program, int(options.size()), options.data());
    size_t size = 0;
    call(nvrtc, "nvrtcGetProgramLogSize", program, &size);
    string log(size, ' ');
    call(nvrtc, "nvrtcGetProgramLog", program, &log[0]);
    if (wrong) { std::fprintf(stderr, "%s\n", log.c_str()); return 1; }
    call(nvrtc, "nvrtcGetPTXSize", program, &size);
    string ptx(size, ' ');
    call(nvrtc, "nvrtcGetPTX", program, &ptx[0]);
    std::ofstream(to, std::ios::binary) << ptx.c_str();
    return 0;
}

// A block of memory: what it starts with, where in it addresses of others are, and what must be in it in the end.
struct Blob {
    Bytes bytes, expected;
    vector<std::pair<size_t, size_t>> pointers;
    string name;
    size_t stride = 1;
    vector<std::pair<size_t, string>> leaves;
    Address at = 0;
};
struct Case {
    string name, module, kernel, said;
    unsigned grid[3], block[3];
    vector<Blob> blobs;
    int params = -1, own = -1;
    bool traps = false;
    double loose = 1;
};
// A kernel to be timed. `global` is the name of a constant that holds the parameters, where they do not go by value.
struct Bench {
    string name, module, kernel, global;
    size_t in, gradient, threads;
};

static Bytes unhex(const string& text) {
    Bytes out;
    for (size_t i = 0; i + 1 < text.size(); i += 2) out.push_back(std::stoi(text.substr(i, 2), nullptr, 16));
    return out;
}

static void load(const string& folder, vector<Case>& cases, vector<Bench>& benches) {
    std::ifstream in(folder + "/cases.txt");
    string line;
    while (std::getline(in, line)) {
        std::istringstream words(line);
        string word;
        words >> word;
        if (word == "case") { cases.emplace_back(); words >> cases.back().name; continue; }
        if (word == "bench") {
            Bench b;
            words >> b.name >> b.module >> b.kernel >> b.in >> b.gradient >> b.threads >> b.global;
            benches.push_back(b);
            continue;
        }
        if (cases.empty()) continue;
        Case& c = cases.back();
        if (word == "kernel") words >> c.module >> c.kernel;
        else if (word == "grid") words >> c.grid[0] >> c.grid[1] >> c.grid[2];
        else if (word == "block") words >> c.block[0] >> c.block[1] >> c.block[2];
        else if (word == "zeros") { size_t n; words >> n; c.blobs.emplace_back(); c.blobs.back().bytes.resize(n); }
        else if (word == "bytes") { string hex; words >> hex; c.blobs.emplace_back(); c.blobs.back().bytes = unhex(hex); }
        else if (word == "pointer") { size_t at, to; words >> at >> to; c.blobs.back().pointers.push_back({at, to}); }
        else if (word == "expect") { string hex; words >> c.blobs.back().name >> hex; c.blobs.back().expected = unhex(hex); }
        else if (word == "element") {
            words >> c.blobs.back().stride;
            size_t at; string type;
            while (words >> at >> type) c.blobs.back().leaves.push_back({at, type});
        }
        else if (word == "params") words >> c.params;
        else if (word == "own") words >> c.own;
        else if (word == "trap") c.traps = true;
        else if (word == "loose") words >> c.loose;
        else if (word == "says") { string hex; words >> hex; Bytes b = unhex(hex); c.said.assign(b.begin(), b.end()); }
    }
}

static double number(const string& type, const unsigned char* at) {
    auto as = [&](auto x) { std::memcpy(&x, at, sizeof x); return double(x); };
    if (type == "f32") return as(float());
    if (type == "f64") return as(double());
    if (type == "f16") {
        uint16_t h; std::memcpy(&h, at, 2);
        int e = h >> 10 & 31; double f = h & 1023, sign = h >> 15 ? -1 : 1;
        if (e == 31) return f ? NAN : sign * INFINITY;
        return sign * (e ? std::ldexp(1024 + f, e - 25) : std::ldexp(f, -24));
    }
    return 0;
}

static string compare(const Blob& blob, const Bytes& found, double loose) {
    for (size_t start = 0; start < blob.expected.size(); start += blob.stride)
        for (auto& [offset, type] : blob.leaves) {
            const unsigned char *a = &blob.expected[start + offset], *b = &found[start + offset];
            if (type[0] != 'f') {
                size_t size = type == "bool" ? 1 : std::stoi(type.substr(1)) / 8;
                if (std::memcmp(a, b, size) == 0) continue;
                long long x = 0, y = 0; std::memcpy(&x, a, size); std::memcpy(&y, b, size);
                return blob.name + "[" + std::to_string(start / blob.stride) + "]: " + std::to_string(x) + " expected, " + std::to_string(y);
            }
            double x = number(type, a), y = number(type, b);
            double relative = loose * (type == "f16" ? 2e-3 : 2e-5), absolute = loose * (type == "f16" ? 1e-3 : 2e-6);
            if (x == y || (x != x && y != y) || std::fabs(x - y) <= absolute + relative * std::fabs(x)) continue;
            char text[200];
            std::snprintf(text, sizeof text, "%s[%zu] byte %zu: %.9g expected, %.9g", blob.name.c_str(), start / blob.stride, offset, x, y);
            return text;
        }
    return "";
}

// The device.
struct Gpu {
    void* lib;
    void* context = nullptr;
    std::map<string, void*> modules;
    string folder;

    template <class... A> int cu(const char* name, A... args) { return call(lib, name, args...); }
    template <class... A> void must(const char* name, A... args) {
        if (int wrong = cu(name, args...)) { std::fprintf(stderr, "%s: error %d\n", name, wrong); std::exit(2); }
    }
    explicit Gpu(const string& folder) : folder(folder) {
        lib = library({"libcuda.so.1", "libcuda.so", "/usr/local/nvidia/lib64/libcuda.so.1"});
        if (!lib) { std::fprintf(stderr, "libcuda was not found\n"); std::exit(77); }
        must("cuInit", 0u);
        int device = 0;
        must("cuDeviceGet", &device, 0);
        must("cuDevicePrimaryCtxRetain", &context, device);
        must("cuCtxSetCurrent", context);
        cu("cuCtxSetLimit", 0, size_t(32 << 10));
    }
    string name() { char text[200] = ""; cu("cuDeviceGetName", text, 200, 0); return text; }
    void* kernel(const string& module, const string& name) {
        void*& loaded = modules[module];
        if (!loaded) {
            // What nvcc made of it, if run.sh found one.
            string image = read(folder + "/" + module.substr(0, module.rfind('.')) + ".cubin");
            if (image.empty()) image = read(folder + "/" + module);
            if (int wrong = cu("cuModuleLoadData", &loaded, (const void*)image.c_str())) {
                std::printf("FAIL %s does not load: error %d\n", module.c_str(), wrong);
                loaded = nullptr;
                return nullptr;
            }
        }
        void* function = nullptr;
        return cu("cuModuleGetFunction", &function, loaded, name.c_str()) ? nullptr : function;
    }
    Address memory(size_t size) { Address at = 0; must("cuMemAlloc_v2", &at, std::max<size_t>(size, 16)); return at; }
    int launch(void* function, const unsigned* grid, const unsigned* block, void** args) {
        return cu("cuLaunchKernel", function, grid[0], grid[1], grid[2], block[0], block[1], block[2], 0u, (void*)nullptr, args, (void**)nullptr);
    }
};

static vector<string> sorted_lines(const string& text) {
    vector<string> out; std::istringstream in(text); string line;
    while (std::getline(in, line)) out.push_back(line);
    std::sort(out.begin(), out.end());
    return out;
}

// Runs a case and gives what is wrong, if anything. `stopped` is set if the device is of no use any more.
static string run_case(Gpu& gpu, Case& c, bool& stopped) {
    void* function = gpu.kernel(c.module, c.kernel);
    if (!function) return "there is no kernel " + c.kernel;
    for (Blob& b : c.blobs) b.at = gpu.memory(b.bytes.size());
    for (Blob& b : c.blobs) {
        for (auto& [at, to] : b.pointers) std::memcpy(&b.bytes[at], &c.blobs[to].at, 8);
        if (!b.bytes.empty()) gpu.must("cuMemcpyHtoD_v2", b.at, (const void*)b.bytes.data(), b.bytes.size());
    }
    void* args[2] = {c.blobs[c.params].bytes.data(), c.own >= 0 ? c.blobs[c.own].bytes.data() : nullptr};
    std::fflush(stdout);
    int kept = dup(1), file = -1;
    string path = gpu.folder + "/said-XXXXXX";
    file = mkstemp(&path[0]);
    if (file < 0) { std::fprintf(stderr, "%s cannot be written\n", path.c_str()); std::exit(2); }
    dup2(file, 1);
    int wrong = gpu.launch(function, c.grid, c.block, args);
    if (!wrong) wrong = gpu.cu("cuCtxSynchronize");
    std::fflush(stdout);
    dup2(kept, 1);
    close(kept); close(file);
    string said = read(path);
    unlink(path.c_str());
    stopped = wrong != 0;
    if (c.traps) return wrong ? "" : "it should have stopped";
    if (wrong) return "error " + std::to_string(wrong) + " " + said;
    if (sorted_lines(said) != sorted_lines(c.said)) return "it printed: " + said;
    for (Blob& b : c.blobs) {
        if (!b.expected.empty()) {
            Bytes found(b.bytes.size());
            gpu.must("cuMemcpyDtoH_v2", (void*)found.data(), b.at, found.size());
            string difference = compare(b, found, c.loose);
            if (!difference.empty()) return difference;
        }
    }
    for (Blob& b : c.blobs) gpu.cu("cuMemFree_v2", b.at);
    return "";
}

static void run_bench(Gpu& gpu, const Bench& b) {
    void* function = gpu.kernel(b.module, b.kernel);
    if (!function) { std::printf("bench %-34s no kernel\n", b.name.c_str()); return; }
    vector<float> in(b.threads * b.in);
    unsigned seed = 1;
    for (float& x : in) { seed = seed * 1664525u + 1013904223u; x = 0.1f + 0.8f * float(seed >> 8) / 16777216.0f; }
    size_t counts[3] = {in.size(), b.threads, b.threads * b.gradient};
    struct { Address at; size_t count; } params[3];
    for (int i = 0; i < 3; i++) params[i] = {gpu.memory(counts[i] * 4), counts[i]};
    gpu.must("cuMemcpyHtoD_v2", params[0].at, (const void*)in.data(), in.size() * 4);
    unsigned grid[3] = {unsigned(b.threads / 64), 1, 1}, block[3] = {64, 1, 1};
    void* args[1] = {params};
    if (!b.global.empty()) {
        Address constant = 0;
        size_t size = 0;
        gpu.must("cuModuleGetGlobal_v2", &constant, &size, gpu.modules[b.module], b.global.c_str());
        gpu.must("cuMemcpyHtoD_v2", constant, (const void*)params, sizeof params);
    }
    void *start, *end;
    gpu.must("cuEventCreate", &start, 0u);
    gpu.must("cuEventCreate", &end, 0u);
    double best = 1e300, sum = 0;
    for (int round = 0; round < 12; round++) {
        gpu.must("cuMemsetD8_v2", params[2].at, (unsigned char)0, counts[2] * 4);
        gpu.must("cuEventRecord", start, (void*)nullptr);
        if (gpu.launch(function, grid, block, args)) { std::printf("bench %-34s does not start\n", b.name.c_str()); return; }
        gpu.must("cuEventRecord", end, (void*)nullptr);
        gpu.must("cuEventSynchronize", end);
        float ms = 0;
        gpu.must("cuEventElapsedTime", &ms, start, end);
        if (round >= 2) best = std::min(best, ms * 1e6 / double(b.threads));
    }
    vector<float> gradient(counts[2]);
    gpu.must("cuMemcpyDtoH_v2", (void*)gradient.data(), params[2].at, gradient.size() * 4);
    for (float x : gradient) sum += x;
    int registers = 0, local = 0;
    gpu.cu("cuFuncGetAttribute", &registers, 4, function);
    gpu.cu("cuFuncGetAttribute", &local, 3, function);
    std::printf("bench %-34s %10.3f ns per gradient   %8zu threads  %3d registers  %6d bytes local   sum %.7g\n", b.name.c_str(), best, b.threads, registers, local, sum);
    std::fflush(stdout);
    for (auto& p : params) gpu.cu("cuMemFree_v2", p.at);
}

// Exit status of a child: 0 is the end, 3 says that the device stopped at the case whose number is in the file `at`.
static int child(const string& folder, size_t from, const string& at) {
    vector<Case> cases; vector<Bench> benches;
    load(folder, cases, benches);
    Gpu gpu(folder);
    if (from == 0) { std::printf("device: %s\n", gpu.name().c_str()); std::fflush(stdout); }
    for (size_t i = from; i < cases.size(); i++) {
        std::ofstream(at) << i;
        alarm(120);
        bool stopped = false;
        string wrong = run_case(gpu, cases[i], stopped);
        std::printf("%s %s%s%s\n", wrong.empty() ? "ok  " : "FAIL", cases[i].name.c_str(), wrong.empty() ? "" : ": ", wrong.c_str());
        std::fflush(stdout);
        if (stopped) _exit(3);
    }
    for (const Bench& b : benches) { alarm(120); run_bench(gpu, b); }
    std::fflush(stdout);
    _exit(0);
}

static int run(const string& folder, const char* self) {
    string at = folder + "/at-" + std::to_string(getpid());
    size_t from = 0;
    for (int starts = 0; starts < 1000; starts++) {
        pid_t pid = fork();
        if (pid == 0) {
            string number = std::to_string(from);
            execl(self, self, "child", folder.c_str(), number.c_str(), at.c_str(), nullptr);
            _exit(2);
        }
        int status = 0;
        waitpid(pid, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) { unlink(at.c_str()); return 0; }
        if (WIFEXITED(status) && WEXITSTATUS(status) != 3) return WEXITSTATUS(status);
        size_t stopped = std::stoul("0" + read(at));
        if (WIFSIGNALED(status)) std::printf("FAIL case %zu: signal %d\n", stopped, WTERMSIG(status));
        from = stopped + 1;
    }
    return 1;
}

int main(int count, char** args) {
    vector<string> words(args + 1, args + count);
    if (words.size() >= 3 && words[0] == "compile") return compile(words[1], words[2], vector<const char*>(args + 4, args + count));
    if (words.size() == 2 && words[0] == "run") return run(words[1], args[0]);
    if (words.size() == 4 && words[0] == "child") return child(words[1], std::stoul(words[2]), words[3]);
    std::fprintf(stderr, "usage: driver compile IN.cu OUT.ptx [OPTION..] | driver run FOLDER\n");
    return 2;
}
