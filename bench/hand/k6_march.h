// The adjoint of K6 by hand: the distances along the ray are kept; rays that miss have no gradient, and do nothing more.
#include <cmath>

inline void gradient(const float* in, float* grad)
{
    constexpr int most = 64;
    const float cx = in[0] - 0.5f, cy = in[1] - 0.5f, cz = in[2] - 0.5f;
    const float radius = 0.4f + 0.6f * in[3], bumps = 0.1f * in[4];
    float dx = in[5] * 2.5f - 1.25f, dy = in[6] * 2.5f - 1.25f, dz = 2.0f;
    const float scale = 1.0f / std::sqrt(dx * dx + dy * dy + dz * dz);
    dx *= scale;
    dy *= scale;
    dz *= scale;

    float at[most];
    float t = 0.0f;
    int steps = 0;
    bool hits = false;
    for (int i = 0; i < most; i++) {
        const float x = t * dx - cx, y = t * dy - cy, z = -2.5f + t * dz - cz;
        const float d = std::sqrt(x * x + y * y + z * z) - radius - bumps * std::sin(6.0f * x) * std::sin(6.0f * y);
        if (d < 0.002f) {
            hits = true;
            break;
        }
        at[steps++] = t;
        t += 0.8f * d;
        if (t > 6.0f)
            break;
    }
    for (int i = 0; i < 5; i++)
        grad[i] = 0.0f;
    if (!hits)
        return;
    const float x = t * dx - cx, y = t * dy - cy, z = -2.5f + t * dz - cz;
    const float inverse = 1.0f / std::sqrt(x * x + y * y + z * z);
    const float cosine = (0.48f * x + 0.6f * y - 0.64f * z) * inverse;
    if (!(cosine > 0.0f))
        return;
    const float falloff = 1.0f / (1.0f + 0.1f * t * t);
    const float light_ct = 2.0f * (cosine * falloff - in[7]);
    const float cosine_ct = light_ct * falloff * inverse;
    const float x_ct = cosine_ct * (0.48f - cosine * x * inverse);
    const float y_ct = cosine_ct * (0.6f - cosine * y * inverse);
    const float z_ct = cosine_ct * (-0.64f - cosine * z * inverse);
    float t_ct = x_ct * dx + y_ct * dy + z_ct * dz - light_ct * cosine * falloff * falloff * 0.2f * t;
    float cx_ct = -x_ct, cy_ct = -y_ct, cz_ct = -z_ct, radius_ct = 0.0f, bumps_ct = 0.0f;
    for (int i = steps - 1; i >= 0; i--) {
        const float x = at[i] * dx - cx, y = at[i] * dy - cy, z = -2.5f + at[i] * dz - cz;
        const float inverse = 1.0f / std::sqrt(x * x + y * y + z * z);
        float sin_x, cos_x, sin_y, cos_y;
        sincosf(6.0f * x, &sin_x, &cos_x);
        sincosf(6.0f * y, &sin_y, &cos_y);
        const float d_ct = 0.8f * t_ct;
        const float x_ct = d_ct * (x * inverse - 6.0f * bumps * cos_x * sin_y);
        const float y_ct = d_ct * (y * inverse - 6.0f * bumps * sin_x * cos_y);
        const float z_ct = d_ct * z * inverse;
        radius_ct -= d_ct;
        bumps_ct -= d_ct * sin_x * sin_y;
        cx_ct -= x_ct;
        cy_ct -= y_ct;
        cz_ct -= z_ct;
        t_ct += x_ct * dx + y_ct * dy + z_ct * dz;
    }
    // Derivatives by the numbers of the ball, as in the program.
    grad[0] = cx_ct;
    grad[1] = cy_ct;
    grad[2] = cz_ct;
    grad[3] = radius_ct;
    grad[4] = bumps_ct;
}
