#include "models/provider_options.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace agent_graph::models {

int64_t TokenPrice::CostOf(int64_t input_tokens, int64_t output_tokens) const {
  constexpr double kNanosPerTokenOfPrice = 1e9 / 1e6;
  const double nanos =
      (static_cast<double>(input_tokens) * input + static_cast<double>(output_tokens) * output) *
      kNanosPerTokenOfPrice;
  return nanos > 0 ? std::llround(std::min(nanos, 9e18)) : 0;
}

std::vector<std::string> SecretsOf(const ProviderOptions& options) {
  std::vector<std::string> secrets = {options.api_key};
  for (const auto& [name, value] : options.headers) {
    secrets.push_back(value);
    // A provider shows a token without the name of its scheme.
    for (const std::string_view scheme : {"Bearer ", "Basic "}) {
      if (value.starts_with(scheme)) secrets.push_back(value.substr(scheme.size()));
    }
  }
  return secrets;
}

}  // namespace agent_graph::models
