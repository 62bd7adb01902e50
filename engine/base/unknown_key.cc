#include "base/unknown_key.h"

#include <algorithm>

#include "base/nearest_word.h"

namespace agent_graph {
namespace {

bool Contains(std::span<const std::string_view> keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

// Names of a model's parameters, which users write beside `parameters`.
constexpr std::string_view kSampling[] = {
    "temperature", "top_p", "top_k", "max_tokens", "max_completion_tokens", "stop", "seed",
};

// Names that other programs have for the first node of a graph.
constexpr std::string_view kFirstNode[] = {"entry_point", "entrypoint", "entry", "start"};

}  // namespace

std::string AdviceForUnknownKey(std::string_view key, std::span<const std::string_view> known) {
  if (Contains(kSampling, key) && Contains(known, "parameters") && Contains(known, "model")) {
    return "it belongs in parameters: {\"" + std::string(key) + "\": …}";
  }
  if (Contains(kFirstNode, key) && Contains(known, "edges")) {
    return "the edge from START leads to the first node";
  }
  const std::string_view nearest = NearestWord(key, known);
  return nearest.empty() ? "" : "did you mean " + std::string(nearest) + "?";
}

}  // namespace agent_graph
