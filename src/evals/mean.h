// Sums and means of scores.
#pragma once

#include <span>

namespace agent_graph::evals {

// Neumaier's compensated sum: 0 + 0.05 + 0.1 + 0.15 is 0.3, not 0.30000000000000004. A mean that
// lies between two printed decimals then rounds as the evaluation programs round it, whose language
// (Python since 3.12) sums like this.
double Sum(std::span<const double> values);

// 0 for no values.
double Mean(std::span<const double> values);

}  // namespace agent_graph::evals
