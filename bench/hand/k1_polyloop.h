// The adjoint of K1 by hand. The sine of the product does not change, so one is enough; the forward loop keeps each value and its
// sine, which comes with the cosine.
#include <cmath>

inline void gradient(const float* in, float* grad)
{
    constexpr int steps = 64;
    const float x = in[0], y = in[1], s = std::sin(x * y);
    float values[steps], sines[steps];
    float p = x;
    for (int i = 0; i < steps; i++) {
        float sine, cosine;
        sincosf(p, &sine, &cosine);
        values[i] = p;
        sines[i] = sine;
        p = p * s + 0.5f * cosine;
    }
    float p_ct = 1.0f, s_ct = 0.0f;
    for (int i = steps - 1; i >= 0; i--) {
        s_ct += p_ct * values[i];
        p_ct *= s - 0.5f * sines[i];
    }
    const float product_ct = s_ct * std::cos(x * y);
    grad[0] = p_ct + product_ct * y;
    grad[1] = product_ct * x;
}
