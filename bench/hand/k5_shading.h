// The adjoint of K5 by hand. Directions have no derivatives; colours are treated by channel.
#include <cmath>

inline void gradient(const float* in, float* grad)
{
    const float *albedo = in, roughness = in[3], metalness = in[4];
    const auto length = [](float x, float y, float z) { return std::sqrt(x * x + y * y + z * z); };
    const float il = 1.0f / length(in[5], in[6], in[7]), iv = 1.0f / length(in[8], in[9], in[10]);
    const float lx = in[5] * il, ly = in[6] * il, lz = in[7] * il;
    const float vx = in[8] * iv, vy = in[9] * iv, vz = in[10] * iv;
    const float sx = lx + vx, sy = ly + vy, sz = lz + vz, ih = 1.0f / length(sx, sy, sz);
    const float nl = std::fmax(lz, 0.0f), nv = std::fmax(vz, 0.0001f), nh = std::fmax(sz * ih, 0.0f);
    const float vh = std::fmax((vx * sx + vy * sy + vz * sz) * ih, 0.0f);

    const float a = roughness * roughness, a2 = a * a;
    const float nh2 = nh * nh, q = nh2 * (a2 - 1.0f) + 1.0f, iq = 1.0f / q;
    const float density = a2 * iq * iq * 0.318309886f;
    const float root_v = std::sqrt(nv * nv * (1.0f - a2) + a2), root_l = std::sqrt(nl * nl * (1.0f - a2) + a2);
    const float shadow = 0.5f / (nl * root_v + nv * root_l);
    const float gloss = density * shadow;
    const float m = 1.0f - vh, m2 = m * m, grazing = m2 * m2 * m;

    float gloss_ct = 0.0f, metalness_ct = 0.0f;
    for (int c = 0; c < 3; c++) {
        const float f0 = 0.04f + metalness * (albedo[c] - 0.04f);
        const float fresnel = f0 + (1.0f - f0) * grazing;
        const float base = (1.0f - metalness) * 0.318309886f, body = base * albedo[c];
        const float ct = 2.0f * nl * (((1.0f - fresnel) * body + fresnel * gloss) * nl - in[11 + c]);
        gloss_ct += ct * fresnel;
        const float f0_ct = ct * (gloss - body) * (1.0f - grazing);
        grad[c] = ct * (1.0f - fresnel) * base + f0_ct * metalness;
        metalness_ct += f0_ct * (albedo[c] - 0.04f) - ct * (1.0f - fresnel) * albedo[c] * 0.318309886f;
    }
    const float density_ct = gloss_ct * shadow;
    // The derivative of `0.5 / s` is `-2 (0.5 / s)^2`.
    const float s_ct = gloss_ct * density * -2.0f * shadow * shadow;
    const float a2_ct = density_ct * 0.318309886f * iq * iq * (1.0f - 2.0f * a2 * nh2 * iq)
        + s_ct * 0.5f * (nl * (1.0f - nv * nv) / root_v + nv * (1.0f - nl * nl) / root_l);
    grad[3] = a2_ct * 4.0f * a * roughness;
    grad[4] = metalness_ct;
}
