#include "models/provider_options.h"

#include <algorithm>
#include <cmath>

namespace agent_graph::models {

int64_t TokenPrice::CostOf(int64_t input_tokens, int64_t output_tokens) const {
  constexpr double kNanosPerTokenOfPrice = 1e9 / 1e6;
  const double nanos =
      (static_cast<double>(input_tokens) * input + static_cast<double>(output_tokens) * output) *
      kNanosPerTokenOfPrice;
  return nanos > 0 ? std::llround(std::min(nanos, 9e18)) : 0;
}

}  // namespace agent_graph::models
