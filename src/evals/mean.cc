#include "evals/mean.h"

#include <cmath>

namespace agent_graph::evals {

double Sum(std::span<const double> values) {
  double sum = 0;
  double lost = 0;  // low-order bits that the additions lost
  for (double value : values) {
    double next = sum + value;
    bool sum_is_larger = std::abs(sum) >= std::abs(value);
    lost += sum_is_larger ? (sum - next) + value : (value - next) + sum;
    sum = next;
  }
  return sum + lost;
}

double Mean(std::span<const double> values) {
  return values.empty() ? 0 : Sum(values) / static_cast<double>(values.size());
}

}  // namespace agent_graph::evals
