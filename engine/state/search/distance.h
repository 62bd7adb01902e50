// How near two vectors are; `count` floats each. The loops are written so that compilers make
// SIMD code of them, on x86 in a version for AVX2 that is taken where the processor has it.
#pragma once

#include <cstddef>

namespace agent_graph::state {

float DotProduct(const float* a, const float* b, size_t count);
float SquaredDistance(const float* a, const float* b, size_t count);
float ManhattanDistance(const float* a, const float* b, size_t count);

}  // namespace agent_graph::state
