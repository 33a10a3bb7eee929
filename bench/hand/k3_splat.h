// The adjoint of K3 by hand. The forward loop keeps what is left of the light and the opacity of each Gaussian, up to the last
// one that is seen; the gradient of the others is zero.
#include <cmath>
#include <cstring>

inline void gradient(const float* in, float* grad)
{
    constexpr int count = 64;
    const float px = in[576], py = in[577];
    float light[count], alphas[count], shapes[count];
    float rest = 1.0f, r = 0.0f, g = 0.0f, b = 0.0f;
    int seen = 0;
    while (seen < count) {
        const float* one = in + 9 * seen;
        const float dx = px - one[0], dy = py - one[1];
        const float shape = std::exp(-0.5f * (one[2] * dx * dx + one[4] * dy * dy) - one[3] * dx * dy);
        const float alpha = std::fmin(0.99f, one[8] * shape);
        light[seen] = rest;
        shapes[seen] = shape;
        alphas[seen] = alpha;
        seen++;
        const float weight = alpha * rest;
        r += one[5] * weight;
        g += one[6] * weight;
        b += one[7] * weight;
        rest *= 1.0f - alpha;
        if (rest < 1e-3f)
            break;
    }
    const float r_ct = 2.0f * (r - in[578]), g_ct = 2.0f * (g - in[579]), b_ct = 2.0f * (b - in[580]);
    std::memset(grad + 9 * seen, 0, (count - seen) * 9 * sizeof(float));
    float rest_ct = 0.0f;
    for (int i = seen - 1; i >= 0; i--) {
        const float* one = in + 9 * i;
        float* ct = grad + 9 * i;
        const float alpha = alphas[i], weight = alpha * light[i];
        ct[5] = r_ct * weight;
        ct[6] = g_ct * weight;
        ct[7] = b_ct * weight;
        const float weight_ct = r_ct * one[5] + g_ct * one[6] + b_ct * one[7];
        const float alpha_ct = (weight_ct - rest_ct) * light[i];
        rest_ct = weight_ct * alpha + rest_ct * (1.0f - alpha);
        const bool is_clamped = alpha >= 0.99f;
        const float opacity_ct = is_clamped ? 0.0f : alpha_ct * shapes[i];
        const float power_ct = opacity_ct * one[8];
        const float dx = px - one[0], dy = py - one[1];
        ct[0] = power_ct * (one[2] * dx + one[3] * dy);
        ct[1] = power_ct * (one[4] * dy + one[3] * dx);
        ct[2] = -0.5f * power_ct * dx * dx;
        ct[3] = -power_ct * dx * dy;
        ct[4] = -0.5f * power_ct * dy * dy;
        ct[8] = opacity_ct;
    }
}
