// The adjoint of K4 by hand: the activations are all that is kept. Loops run along the rows of the weights, in both passes.

namespace layers {
/// `y = W x + b`, with a row of `I` weights for each of `O` outputs.
template <int I, int O>
inline void forward(const float* w, const float* b, const float* x, float* y)
{
    for (int o = 0; o < O; o++) {
        // Four sums, so that additions do not wait for each other.
        float sums[4] = {b[o], 0.0f, 0.0f, 0.0f};
        for (int i = 0; i < I; i += 4)
            for (int k = 0; k < 4; k++)
                sums[k] += w[o * I + i + k] * x[i + k];
        y[o] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
}

/// Writes the cotangents of weights and biases; adds those of `x`, if they are asked for.
template <int I, int O>
inline void backward(const float* w, const float* x, const float* y_ct, float* w_ct, float* b_ct, float* x_ct)
{
    for (int o = 0; o < O; o++) {
        const float ct = y_ct[o];
        b_ct[o] = ct;
        for (int i = 0; i < I; i++)
            w_ct[o * I + i] = ct * x[i];
        if (x_ct)
            for (int i = 0; i < I; i++)
                x_ct[i] += ct * w[o * I + i];
    }
}

template <int N>
inline void relu(float* x)
{
    for (int i = 0; i < N; i++)
        x[i] = x[i] > 0.0f ? x[i] : 0.0f;
}

template <int N>
inline void relu_backward(const float* y, float* ct)
{
    for (int i = 0; i < N; i++)
        ct[i] = y[i] > 0.0f ? ct[i] : 0.0f;
}
}

inline void gradient(const float* in, float* grad)
{
    const float *x = in + 484, *target = in + 492;
    float h1[16], h2[16], y[4];
    layers::forward<8, 16>(in, in + 128, x, h1);
    layers::relu<16>(h1);
    layers::forward<16, 16>(in + 144, in + 400, h1, h2);
    layers::relu<16>(h2);
    layers::forward<16, 4>(in + 416, in + 480, h2, y);
    float y_ct[4], h2_ct[16] = {}, h1_ct[16] = {};
    for (int i = 0; i < 4; i++)
        y_ct[i] = 2.0f * (y[i] - target[i]);
    layers::backward<16, 4>(in + 416, h2, y_ct, grad + 416, grad + 480, h2_ct);
    layers::relu_backward<16>(h2, h2_ct);
    layers::backward<16, 16>(in + 144, h1, h2_ct, grad + 144, grad + 400, h1_ct);
    layers::relu_backward<16>(h1, h1_ct);
    layers::backward<8, 16>(in, x, h1_ct, grad, grad + 128, nullptr);
}
