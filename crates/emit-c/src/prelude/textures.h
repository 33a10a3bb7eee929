#ifndef COTANGENT_TEXTURES
#define COTANGENT_TEXTURES
namespace ct {

// What a texel is made of, and how many of those it has.
template <class T> struct texel_of { using scalar = T; static constexpr int lanes = 1; };
template <class T, int N> struct texel_of<Vec<T, N>> { using scalar = T; static constexpr int lanes = N; };

// A texture that the host owns. Parameters point to it. Texels lie one behind the other: row by row, layer by layer, level by
// level, each level half as large as the one before. A cube has six layers: +x, -x, +y, -y, +z, -z.
// AXES is 1, 2 or 3, or 4 for a cube.
template <class T, int AXES, bool ARRAY> struct Texture {
    T* texels;
    u32 width, height = 1, depth = 1, layers = 1, levels = 1;
};
template <class T> using Texture1D = Texture<T, 1, false>;
template <class T> using Texture2D = Texture<T, 2, false>;
template <class T> using Texture1DArray = Texture<T, 1, true>;
template <class T> using Texture2DArray = Texture<T, 2, true>;
template <class T> using Texture3D = Texture<T, 3, false>;
template <class T> using TextureCube = Texture<T, 4, false>;

// How textures are sampled. Parameters point to it; where they point to nothing it is as it stands here.
enum class Filter : u8 { nearest, linear };
enum class Address : u8 { clamp, repeat, mirror, border };
enum class Compare : u8 { never, less, equal, less_equal, greater, not_equal, greater_equal, always };
struct Sampler {
    Filter mag = Filter::linear, min = Filter::linear, mip = Filter::linear;
    Address address[3] = {Address::clamp, Address::clamp, Address::clamp};
    Compare compare = Compare::less_equal;
};

struct Texel { double v[4]; };
struct Place { double at[3]; u32 layer; };
struct Position { i64 at[3]; u32 layer; };

CT_INLINE bool passes(Compare how, double reference, double texel) {
    switch (how) {
    case Compare::never: return false;
    case Compare::less: return reference < texel;
    case Compare::equal: return reference == texel;
    case Compare::less_equal: return reference <= texel;
    case Compare::greater: return reference > texel;
    case Compare::not_equal: return reference != texel;
    case Compare::greater_equal: return reference >= texel;
    case Compare::always: break;
    }
    return true;
}
// What is sampled as it is, or whether a reference passes against it.
struct Plain { CT_INLINE Texel operator()(const Texel& t) const { return t; } };
struct Passes {
    Compare how;
    double reference;
    CT_INLINE Texel operator()(const Texel& t) const { return {{passes(how, reference, t.v[0]) ? 1.0 : 0.0, 0, 0, 0}}; }
};

// The face that a direction leads to and where on it, and the way back.
CT_FN Place face_of(const double* d) {
    const double ax = CT_D(fabs)(d[0]), ay = CT_D(fabs)(d[1]), az = CT_D(fabs)(d[2]);
    u32 face; double s, t, m;
    if (az >= ax && az >= ay) { face = d[2] >= 0 ? 4 : 5; s = d[2] >= 0 ? d[0] : -d[0]; t = -d[1]; m = az; }
    else if (ay >= ax) { face = d[1] >= 0 ? 2 : 3; s = d[0]; t = d[1] >= 0 ? d[2] : -d[2]; m = ay; }
    else { face = d[0] >= 0 ? 0 : 1; s = d[0] >= 0 ? -d[2] : d[2]; t = -d[1]; m = ax; }
    if (m == 0) return {{0.5, 0.5, 0}, face};
    return {{(s / m + 1) / 2, (t / m + 1) / 2, 0}, face};
}
CT_FN void direction_of(u32 face, double s, double t, double* d) {
    s = 2 * s - 1; t = 2 * t - 1;
    switch (face) {
    case 0: d[0] = 1; d[1] = -t; d[2] = -s; break;
    case 1: d[0] = -1; d[1] = -t; d[2] = s; break;
    case 2: d[0] = s; d[1] = 1; d[2] = t; break;
    case 3: d[0] = s; d[1] = -1; d[2] = -t; break;
    case 4: d[0] = s; d[1] = -t; d[2] = 1; break;
    default: d[0] = -s; d[1] = -t; d[2] = -1; break;
    }
}

// Numbers of a scalar or vector.
struct Numbers { double v[4]; };
template <class T> CT_INLINE enable_if_t<is_scalar<T>, Numbers> numbers(T a) { return {{double(a), 0, 0, 0}}; }
template <class T, int N> CT_INLINE Numbers numbers(const Vec<T, N>& a) {
    Numbers out{};
    for (int i = 0; i < N; i++) out.v[i] = double(a.v[i]);
    return out;
}

// A texture and how it is looked at. What is sampled is computed in double and rounded once.
template <class T, int AXES, bool ARRAY> struct View {
    const Texture<T, AXES, ARRAY>& texture;
    const Sampler& sampler;
    // By how many texels of a level the location is moved.
    Numbers offset = {};
    static constexpr int axes = AXES == 4 ? 2 : AXES;

    CT_INLINE u32 size(int axis, u32 level) const {
        const u32 n = axis == 0 ? texture.width : axis == 1 ? texture.height : texture.depth;
        const u32 small = n >> (level < 31 ? level : 31);
        return small ? small : 1;
    }
    CT_FN usize index(u32 level, const Position& p) const {
        usize start = 0;
        for (u32 l = 0; l < level; l++) start += usize(size(0, l)) * size(1, l) * size(2, l) * texture.layers;
        const usize row = (p.layer * usize(size(2, level)) + usize(p.at[2])) * size(1, level) + usize(p.at[1]);
        return start + row * size(0, level) + usize(p.at[0]);
    }
    CT_FN Texel fetch(u32 level, const Position& p) const {
        Texel out{};
        const T& from = texture.texels[index(level, p)];
        if constexpr (is_scalar<T>) out.v[0] = double(from);
        else for (int i = 0; i < texel_of<T>::lanes; i++) out.v[i] = double(from.v[i]);
        return out;
    }
    // The texel at a position that may lie outside, or on the next face of a cube.
    CT_FN Texel wrapped(u32 level, Position p) const {
        if constexpr (AXES == 4) {
            const i64 n = size(0, level);
            if (p.at[0] < 0 || p.at[0] >= n || p.at[1] < 0 || p.at[1] >= n) {
                double d[3];
                direction_of(p.layer % 6, (double(p.at[0]) + 0.5) / double(n), (double(p.at[1]) + 0.5) / double(n), d);
                const Place to = face_of(d);
                for (int i = 0; i < 2; i++) {
                    const i64 at = convert<i64>(to.at[i] * double(n));
                    p.at[i] = at < 0 ? 0 : at < n ? at : n - 1;
                }
                p.layer = p.layer / 6 * 6 + to.layer;
            }
        } else {
            for (int axis = 0; axis < axes; axis++) {
                const i64 n = size(axis, level);
                i64& i = p.at[axis];
                i += i64(offset.v[axis]);
                switch (sampler.address[axis]) {
                case Address::clamp: i = i < 0 ? 0 : i < n ? i : n - 1; break;
                case Address::repeat: i = (i % n + n) % n; break;
                case Address::mirror: i = (i % (2 * n) + 2 * n) % (2 * n); if (i >= n) i = 2 * n - 1 - i; break;
                case Address::border: if (i < 0 || i >= n) return Texel{}; break;
                }
            }
        }
        return fetch(level, p);
    }
    template <class F> CT_FN Texel filtered(Filter filter, u32 level, const Place& place, F of) const {
        double scaled[3] = {};
        Position p{{0, 0, 0}, place.layer};
        for (int axis = 0; axis < axes; axis++) scaled[axis] = place.at[axis] * double(size(axis, level));
        if (filter == Filter::nearest) {
            for (int axis = 0; axis < axes; axis++) p.at[axis] = convert<i64>(CT_D(floor)(scaled[axis]));
            return of(wrapped(level, p));
        }
        Texel sum{};
        for (int corner = 0; corner < 1 << axes; corner++) {
            double weight = 1;
            for (int axis = 0; axis < axes; axis++) {
                const int far = corner >> axis & 1;
                const double low = CT_D(floor)(scaled[axis] - 0.5), part = scaled[axis] - 0.5 - low;
                weight *= far ? part : 1 - part;
                const i64 first = convert<i64>(low);
                p.at[axis] = far && first < 0x7fffffffffffffffLL ? first + 1 : first;
            }
            const Texel texel = of(wrapped(level, p));
            for (int i = 0; i < 4; i++) sum.v[i] += weight * texel.v[i];
        }
        return sum;
    }
    template <class F> CT_FN Texel at_level(const Place& place, double level, F of) const {
        const Filter filter = level <= 0 ? sampler.mag : sampler.min;
        const double last = double((texture.levels ? texture.levels : 1) - 1);
        level = !(level > 0) ? 0 : level < last ? level : last;
        if (sampler.mip == Filter::nearest) {
            const double near = CT_D(floor)(level + 0.5);
            return filtered(filter, u32(near < last ? near : last), place, of);
        }
        const double low = CT_D(floor)(level), part = level - low;
        const Texel a = filtered(filter, u32(low), place, of);
        if (part == 0) return a;
        const Texel b = filtered(filter, u32(low) + 1, place, of);
        Texel out;
        for (int i = 0; i < 4; i++) out.v[i] = a.v[i] * (1 - part) + b.v[i] * part;
        return out;
    }
    CT_FN double level_of(const double* dx, const double* dy, int count) const {
        double x = 0, y = 0;
        for (int i = 0; i < count; i++) {
            const double n = double(i == 0 ? texture.width : i == 1 ? texture.height : texture.depth);
            x += dx[i] * n * (dx[i] * n);
            y += dy[i] * n * (dy[i] * n);
        }
        x = CT_D(sqrt)(x); y = CT_D(sqrt)(y);
        return CT_D(log2)(x > y ? x : y);
    }
    CT_FN Place place(const double* c) const {
        Place out{{0, 0, 0}, 0};
        const u32 count = AXES == 4 ? texture.layers / 6 : texture.layers;
        if constexpr (ARRAY) {
            const double n = CT_D(nearbyint)(c[AXES == 4 ? 3 : AXES]), last = count ? count - 1 : 0;
            out.layer = u32(!(n > 0) ? 0 : n < last ? n : last);
        }
        if constexpr (AXES == 4) {
            const Place on = face_of(c);
            return {{on.at[0], on.at[1], 0}, out.layer * 6 + on.layer};
        }
        for (int axis = 0; axis < axes; axis++) out.at[axis] = c[axis];
        return out;
    }
};

template <class S> CT_INLINE S lane(double x) {
    if constexpr (is_same_v<S, half>) return half_of(x);
    else if constexpr (is_integral_v<S>) return S(convert<i64>(x));
    else return S(x);
}
template <class T> CT_INLINE T texel_value(const Texel& t) {
    if constexpr (is_scalar<T>) return lane<T>(t.v[0]);
    else {
        T out{};
        for (int i = 0; i < texel_of<T>::lanes; i++) out.v[i] = lane<typename texel_of<T>::scalar>(t.v[i]);
        return out;
    }
}
template <class T, int A, bool L> CT_INLINE bool is_empty(const Texture<T, A, L>* t) {
    return !t || !t->texels || !t->width || !t->height || !t->depth || !t->layers || !t->levels;
}

template <class T, int A, bool L, class C, class O = i32>
CT_FN T sample_level(const Texture<T, A, L>* t, const Sampler* s, C at, double level, O offset = {}) {
    if (is_empty(t)) return T{};
    const Sampler usual{};
    const View<T, A, L> view{*t, s ? *s : usual, numbers(offset)};
    return texel_value<T>(view.at_level(view.place(numbers(at).v), level, Plain{}));
}
template <class T, int A, bool L, class C, class D, class O = i32>
CT_FN T sample_gradient(const Texture<T, A, L>* t, const Sampler* s, C at, D dx, D dy, O offset = {}) {
    if (is_empty(t)) return T{};
    const Sampler usual{};
    const View<T, A, L> view{*t, s ? *s : usual, numbers(offset)};
    const double level = view.level_of(numbers(dx).v, numbers(dy).v, texel_of<D>::lanes);
    return texel_value<T>(view.at_level(view.place(numbers(at).v), level, Plain{}));
}
template <class T, int A, bool L, class C, class O = i32>
CT_FN float sample_compare(const Texture<T, A, L>* t, const Sampler* s, C at, float reference, O offset = {}) {
    if (is_empty(t)) return 0;
    const Sampler usual{};
    const View<T, A, L> view{*t, s ? *s : usual, numbers(offset)};
    return float(view.at_level(view.place(numbers(at).v), 0, Passes{view.sampler.compare, reference}).v[0]);
}
// One lane of the four texels around a place, from the one at the lower left against the clock.
template <int LANE, class T, int A, bool L, class C, class O = i32>
CT_FN auto gather(const Texture<T, A, L>* t, const Sampler* s, C at, O offset = {}) {
    Vec<typename texel_of<T>::scalar, 4> out{};
    if (is_empty(t)) return out;
    const Sampler usual{};
    const View<T, A, L> view{*t, s ? *s : usual, numbers(offset)};
    const Place place = view.place(numbers(at).v);
    for (int corner = 0; corner < 4; corner++) {
        Position p{{0, 0, 0}, place.layer};
        for (int axis = 0; axis < 2; axis++) {
            p.at[axis] = convert<i64>(CT_D(floor)(place.at[axis] * double(view.size(axis, 0)) - 0.5));
            const bool far = axis == 0 ? corner == 1 || corner == 2 : corner < 2;
            if (far && p.at[axis] < 0x7fffffffffffffffLL) p.at[axis]++;
        }
        out.v[corner] = lane<typename texel_of<T>::scalar>(view.wrapped(0, p).v[LANE]);
    }
    return out;
}
template <class T, int A, bool L>
CT_FN bool inside(const View<T, A, L>& view, const Numbers& at, double level, Position& p) {
    if (level < 0 || level >= view.texture.levels) return false;
    for (int axis = 0; axis < view.axes; axis++) {
        if (at.v[axis] < 0 || at.v[axis] >= view.size(axis, u32(level))) return false;
        p.at[axis] = i64(at.v[axis]);
    }
    if constexpr (L || A == 4) {
        if (at.v[view.axes] < 0 || at.v[view.axes] >= view.texture.layers) return false;
        p.layer = u32(at.v[view.axes]);
    }
    return true;
}
// One texel; outside there is zero.
template <class T, int A, bool L, class C> CT_FN T texel(const Texture<T, A, L>* t, C at, double level = 0) {
    Position p{{0, 0, 0}, 0};
    if (is_empty(t)) return T{};
    const Sampler usual{};
    const View<T, A, L> view{*t, usual};
    return inside(view, numbers(at), level, p) ? texel_value<T>(view.fetch(u32(level), p)) : T{};
}
// Writes one texel; outside nothing happens.
template <class T, int A, bool L, class C> CT_FN void store_texel(const Texture<T, A, L>* t, C at, const T& value) {
    Position p{{0, 0, 0}, 0};
    if (is_empty(t)) return;
    const Sampler usual{};
    const View<T, A, L> view{*t, usual};
    if (!inside(view, numbers(at), 0, p)) return;
    t->texels[view.index(0, p)] = value;
}
// Width, height, depth or number of layers, number of levels.
template <class T, int A, bool L> CT_FN uint4 dimensions(const Texture<T, A, L>* t, u32 level) {
    if (!t) return {{0, 0, 0, 0}};
    const Sampler usual{};
    const View<T, A, L> view{*t, usual};
    const u32 third = L ? A == 4 ? t->layers / 6 : t->layers : view.size(2, level);
    return {{view.size(0, level), view.size(1, level), third, t->levels}};
}

} // namespace ct
#endif
