// The adjoint of K8 by hand. The forward pass keeps which outputs of a channel are positive; their cotangents are all the same.
// Innermost loops run along a row. Rows of outputs have two zeros at each end, so that a row of the picture gathers its cotangents.

inline void gradient(const float* in, float* grad)
{
    constexpr int side = 10, size = side - 2;
    float picture_ct[side][side] = {};
    for (int c = 0; c < 4; c++) {
        const float* filter = in + 100 + 10 * c;
        float weights[9];
        for (int i = 0; i < 9; i++)
            weights[i] = filter[i] - 0.5f;
        float is_positive[size][size + 4] = {}, sums[size] = {};
        for (int y = 0; y < size; y++) {
            float row[size];
            for (int x = 0; x < size; x++)
                row[x] = filter[9] - 1.0f;
            for (int j = 0; j < 3; j++) {
                const float *from = in + (y + j) * side, *w = weights + 3 * j;
                for (int x = 0; x < size; x++)
                    row[x] += w[0] * from[x] + w[1] * from[x + 1] + w[2] * from[x + 2];
            }
            for (int x = 0; x < size; x++) {
                is_positive[y][x + 2] = row[x] > 0.0f ? 1.0f : 0.0f;
                sums[x] += row[x] > 0.0f ? row[x] : 0.0f;
            }
        }
        const auto total = [](const float* all) {
            return ((all[0] + all[1]) + (all[2] + all[3])) + ((all[4] + all[5]) + (all[6] + all[7]));
        };
        const float ct = 2.0f / 64.0f * (total(sums) / 64.0f - in[140 + c]);
        float weights_ct[9][size] = {}, bias_ct[size] = {};
        for (int y = 0; y < size; y++) {
            const float* here = is_positive[y];
            for (int x = 0; x < size; x++)
                bias_ct[x] += here[x + 2];
            for (int j = 0; j < 3; j++) {
                const float *from = in + (y + j) * side, *w = weights + 3 * j;
                for (int i = 0; i < 3; i++)
                    for (int x = 0; x < size; x++)
                        weights_ct[3 * j + i][x] += here[x + 2] * from[x + i];
                float* to = picture_ct[y + j];
                for (int x = 0; x < side; x++)
                    to[x] += ct * (here[x + 2] * w[0] + here[x + 1] * w[1] + here[x] * w[2]);
            }
        }
        for (int i = 0; i < 9; i++)
            grad[100 + 10 * c + i] = ct * total(weights_ct[i]);
        grad[100 + 10 * c + 9] = ct * total(bias_ct);
    }
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++)
            grad[y * side + x] = picture_ct[y][x];
}
