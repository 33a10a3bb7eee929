// The adjoint of K9 by hand. Activations are kept; cotangents of weights are sums over tokens, in the order of the tokens.
#include <cmath>
#include <cstring>

namespace block {
constexpr int tokens = 4, width = 8, hidden = 16;

/// `y = (W - 0.5) x`, with a row of `I` weights for each of `O` outputs.
template <int I, int O>
inline void forward(const float* w, const float* x, float* y)
{
    for (int o = 0; o < O; o++) {
        // Four sums, so that additions do not wait for each other.
        float sums[4] = {};
        for (int i = 0; i < I; i += 4)
            for (int k = 0; k < 4; k++)
                sums[k] += (w[o * I + i + k] - 0.5f) * x[i + k];
        y[o] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
}

/// Adds the cotangents of weights, and those of `x` if they are asked for.
template <int I, int O>
inline void backward(const float* w, const float* x, const float* y_ct, float* w_ct, float* x_ct)
{
    for (int o = 0; o < O; o++) {
        const float ct = y_ct[o];
        for (int i = 0; i < I; i++)
            w_ct[o * I + i] += ct * x[i];
        if (x_ct)
            for (int i = 0; i < I; i++)
                x_ct[i] += ct * (w[o * I + i] - 0.5f);
    }
}
}

inline void gradient(const float* in, float* grad)
{
    using namespace block;
    constexpr float scale = 0.353553391f;
    const float *w = in, *x = in + 512;
    float q[tokens][width], k[tokens][width], v[tokens][width];
    for (int t = 0; t < tokens; t++) {
        forward<width, width>(w, x + t * width, q[t]);
        forward<width, width>(w + 64, x + t * width, k[t]);
        forward<width, width>(w + 128, x + t * width, v[t]);
    }
    float weights[tokens][tokens], mixed[tokens][width], attended[tokens][width], active[tokens][hidden];
    float total = 0.0f;
    for (int t = 0; t < tokens; t++) {
        float sum = 0.0f;
        for (int u = 0; u < tokens; u++) {
            float s = 0.0f;
            for (int d = 0; d < width; d++)
                s += q[t][d] * k[u][d];
            weights[t][u] = std::exp(s * scale);
            sum += weights[t][u];
        }
        for (int u = 0; u < tokens; u++)
            weights[t][u] /= sum;
        for (int d = 0; d < width; d++) {
            float s = 0.0f;
            for (int u = 0; u < tokens; u++)
                s += weights[t][u] * v[u][d];
            mixed[t][d] = s;
        }
        forward<width, width>(w + 192, mixed[t], attended[t]);
        for (int d = 0; d < width; d++)
            attended[t][d] += x[t * width + d];
        forward<width, hidden>(w + 256, attended[t], active[t]);
        for (int h = 0; h < hidden; h++)
            active[t][h] = active[t][h] > 0.0f ? active[t][h] : 0.0f;
        float given[width];
        forward<hidden, width>(w + 384, active[t], given);
        for (int d = 0; d < width; d++)
            total += given[d] + attended[t][d];
    }
    std::memset(grad, 0, 512 * sizeof(float));
    float ones[width];
    for (int d = 0; d < width; d++)
        ones[d] = 2.0f * (total - in[544]);
    float q_ct[tokens][width] = {}, k_ct[tokens][width] = {}, v_ct[tokens][width] = {};
    for (int t = 0; t < tokens; t++) {
        float active_ct[hidden] = {}, attended_ct[width], mixed_ct[width] = {};
        backward<hidden, width>(w + 384, active[t], ones, grad + 384, active_ct);
        for (int h = 0; h < hidden; h++)
            active_ct[h] = active[t][h] > 0.0f ? active_ct[h] : 0.0f;
        for (int d = 0; d < width; d++)
            attended_ct[d] = ones[d];
        backward<width, hidden>(w + 256, attended[t], active_ct, grad + 256, attended_ct);
        backward<width, width>(w + 192, mixed[t], attended_ct, grad + 192, mixed_ct);
        float weights_ct[tokens], mean = 0.0f;
        for (int u = 0; u < tokens; u++) {
            float s = 0.0f;
            for (int d = 0; d < width; d++) {
                s += mixed_ct[d] * v[u][d];
                v_ct[u][d] += mixed_ct[d] * weights[t][u];
            }
            weights_ct[u] = s;
            mean += s * weights[t][u];
        }
        for (int u = 0; u < tokens; u++) {
            const float ct = scale * weights[t][u] * (weights_ct[u] - mean);
            for (int d = 0; d < width; d++) {
                q_ct[t][d] += ct * k[u][d];
                k_ct[u][d] += ct * q[t][d];
            }
        }
    }
    for (int t = 0; t < tokens; t++) {
        backward<width, width>(w, x + t * width, q_ct[t], grad, nullptr);
        backward<width, width>(w + 64, x + t * width, k_ct[t], grad + 64, nullptr);
        backward<width, width>(w + 128, x + t * width, v_ct[t], grad + 128, nullptr);
    }
}
