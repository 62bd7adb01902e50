// Sums and means of scores.
#pragma once

#include <span>

namespace agent_graph::evals {

// Neumaier's compensated sum: 0 + 0.05 + 0.1 + 0.15 is 0.3, not 0.30000000000000004. The language
// of the evaluation programs (Python since 3.12) sums in the same way, so a mean between two
// printed decimals rounds as in those programs.
double Sum(std::span<const double> values);

// Returns 0 if there are no values.
double Mean(std::span<const double> values);

}  // namespace agent_graph::evals
