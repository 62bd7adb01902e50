#include "settings/short_secret.h"

#include <cstddef>

namespace agent_graph::settings {

std::optional<std::string> ShortSecretProblem(std::string_view algorithm, std::string_view secret) {
  const size_t hash_bytes = algorithm == "HS256" ? 32 : algorithm == "HS384" ? 48 : 64;
  if (secret.size() >= hash_bytes) return std::nullopt;
  return "is shorter than the " + std::to_string(hash_bytes) + " bytes that " +
         std::string(algorithm) + " needs to be safe";
}

}  // namespace agent_graph::settings
