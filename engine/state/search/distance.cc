#include "state/search/distance.h"

#include <cmath>

namespace agent_graph::state {
namespace {

// Independent partial sums, to allow SIMD: two AVX registers or four SSE registers.
constexpr size_t kLanes = 16;

struct Product {
  static float Of(float a, float b) { return a * b; }
};
struct Square {
  static float Of(float a, float b) { return (a - b) * (a - b); }
};
struct Absolute {
  static float Of(float a, float b) { return std::fabs(a - b); }
};

template <typename Term>
[[gnu::always_inline]] inline float Sum(const float* a, const float* b, size_t count) {
  float lanes[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += Term::Of(a[i + lane], b[i + lane]);
  }
  float sum = 0;
  for (; i < count; ++i) sum += Term::Of(a[i], b[i]);
  for (float lane : lanes) sum += lane;
  return sum;
}

using Function = float (*)(const float*, const float*, size_t);

template <typename Term>
float Portable(const float* a, const float* b, size_t count) {
  return Sum<Term>(a, b, count);
}

#if defined(__x86_64__)
template <typename Term>
[[gnu::target("avx2,fma")]] float Avx2(const float* a, const float* b, size_t count) {
  return Sum<Term>(a, b, count);
}
template <typename Term>
Function Choose() {
  const bool has = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  return has ? Avx2<Term> : Portable<Term>;
}
#else
template <typename Term>
Function Choose() {
  return Portable<Term>;
}
#endif

}  // namespace

float DotProduct(const float* a, const float* b, size_t count) {
  static const Function kFunction = Choose<Product>();
  return kFunction(a, b, count);
}
float SquaredDistance(const float* a, const float* b, size_t count) {
  static const Function kFunction = Choose<Square>();
  return kFunction(a, b, count);
}
float ManhattanDistance(const float* a, const float* b, size_t count) {
  static const Function kFunction = Choose<Absolute>();
  return kFunction(a, b, count);
}

}  // namespace agent_graph::state
