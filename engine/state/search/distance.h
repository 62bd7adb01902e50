// Distances between two vectors of `count` floats. The loops are written so that compilers
// vectorise them; on x86 an AVX2 version is selected at run time if the processor supports it.
#pragma once

#include <cstddef>

namespace agent_graph::state {

float DotProduct(const float* a, const float* b, size_t count);
float SquaredDistance(const float* a, const float* b, size_t count);
float ManhattanDistance(const float* a, const float* b, size_t count);

}  // namespace agent_graph::state
