// The adjoint of K7 by hand: the positions of each step are kept; velocities are not needed, since they enter linearly.
#include <cmath>

inline void gradient(const float* in, float* grad)
{
    constexpr int masses = 16, steps = 24;
    constexpr float dt = 0.02f;
    const float stiffness = 100.0f * in[32];
    float x[steps][masses], y[steps][masses], vx[masses], vy[masses];
    float end_x[masses], end_y[masses];
    for (int i = 0; i < masses; i++) {
        end_x[i] = 0.1f * float(i);
        end_y[i] = 0.0f;
        vx[i] = in[2 * i] - 0.5f;
        vy[i] = in[2 * i + 1] - 0.5f;
    }
    for (int step = 0; step < steps; step++) {
        float pull_x[masses], pull_y[masses];
        for (int i = 0; i < masses; i++) {
            x[step][i] = end_x[i];
            y[step][i] = end_y[i];
        }
        for (int i = 0; i < masses - 1; i++) {
            const float dx = end_x[i + 1] - end_x[i], dy = end_y[i + 1] - end_y[i];
            const float r = std::sqrt(dx * dx + dy * dy + 0.0001f);
            const float factor = stiffness * (r - 0.1f) / r;
            pull_x[i] = dx * factor;
            pull_y[i] = dy * factor;
        }
        pull_x[masses - 1] = pull_y[masses - 1] = 0.0f;
        for (int i = 1; i < masses; i++) {
            vx[i] = vx[i] * 0.995f + dt * (pull_x[i] - pull_x[i - 1]);
            vy[i] = vy[i] * 0.995f + dt * (pull_y[i] - pull_y[i - 1] - 1.0f);
            end_x[i] += dt * vx[i];
            end_y[i] += dt * vy[i];
        }
    }
    float x_ct[masses] = {}, y_ct[masses] = {}, vx_ct[masses] = {}, vy_ct[masses] = {};
    x_ct[masses - 1] = 2.0f * (end_x[masses - 1] - in[33]);
    y_ct[masses - 1] = 2.0f * (end_y[masses - 1] - in[34]);
    float stiffness_ct = 0.0f;
    for (int step = steps - 1; step >= 0; step--) {
        const float *at_x = x[step], *at_y = y[step];
        // The first mass does not move: its velocity has no influence.
        for (int i = 1; i < masses; i++) {
            vx_ct[i] += dt * x_ct[i];
            vy_ct[i] += dt * y_ct[i];
        }
        for (int i = 0; i < masses - 1; i++) {
            const float fx = dt * (vx_ct[i] - vx_ct[i + 1]), fy = dt * (vy_ct[i] - vy_ct[i + 1]);
            const float dx = at_x[i + 1] - at_x[i], dy = at_y[i + 1] - at_y[i];
            const float r = std::sqrt(dx * dx + dy * dy + 0.0001f), inverse = 1.0f / r;
            const float along = fx * dx + fy * dy, factor = stiffness * (r - 0.1f) * inverse;
            stiffness_ct += along * (r - 0.1f) * inverse;
            // The derivative of `(r - 0.1) / r` is `0.1 / r^2`, and that of `r` is `d / r`.
            const float r_ct = along * stiffness * 0.1f * inverse * inverse * inverse;
            const float dx_ct = fx * factor + r_ct * dx, dy_ct = fy * factor + r_ct * dy;
            x_ct[i + 1] += dx_ct;
            y_ct[i + 1] += dy_ct;
            x_ct[i] -= dx_ct;
            y_ct[i] -= dy_ct;
        }
        for (int i = 1; i < masses; i++) {
            vx_ct[i] *= 0.995f;
            vy_ct[i] *= 0.995f;
        }
    }
    for (int i = 0; i < masses; i++) {
        grad[2 * i] = vx_ct[i];
        grad[2 * i + 1] = vy_ct[i];
    }
    grad[32] = 100.0f * stiffness_ct;
}
