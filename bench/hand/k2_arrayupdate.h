// The adjoint of K2 by hand: an update keeps its two partial derivatives, 8 bytes for each element.
#include <cmath>

#ifndef N
#define N 16
#endif
#ifndef OFS
#define OFS 0
#endif

inline void gradient(const float* in, float* grad)
{
    float a[N], by_value[N], by_factor[N];
    for (int i = 0; i < N; i++)
        a[i] = in[i];
    for (int i = 0; i < N; i++) {
        float sine, cosine;
        sincosf(a[i], &sine, &cosine);
        const float factor = a[(i * 7 + OFS) % N];
        by_value[i] = cosine * factor;
        by_factor[i] = sine;
        a[i] = sine * factor;
    }
    for (int i = 0; i < N; i++)
        grad[i] = 1.0f;
    for (int i = N - 1; i >= 0; i--) {
        const float ct = grad[i];
        grad[i] = ct * by_value[i];
        grad[(i * 7 + OFS) % N] += ct * by_factor[i];
    }
}
