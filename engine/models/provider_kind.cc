#include "models/provider_kind.h"

#include <algorithm>

#include "models/anthropic.h"
#include "models/demo.h"
#include "models/gemini.h"
#include "models/openai.h"

namespace agent_graph::models {
namespace {

constexpr const ProviderKind* kProviderKinds[] = {
    &kDemoProvider,
    &kOpenAiProvider,
    &kAnthropicProvider,
    &kGeminiProvider,
};

}  // namespace

std::span<const ProviderKind* const> ProviderKinds() {
  return kProviderKinds;
}

const ProviderKind* FindProviderKind(std::string_view name) {
  const auto* found = std::ranges::find(kProviderKinds, name, &ProviderKind::name);
  return found != std::end(kProviderKinds) ? *found : nullptr;
}

std::vector<std::string_view> ProviderNames() {
  std::vector<std::string_view> names;
  for (const ProviderKind* kind : kProviderKinds) names.push_back(kind->name);
  return names;
}

}  // namespace agent_graph::models
