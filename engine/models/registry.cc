#include "models/registry.h"

#include <algorithm>
#include <utility>

#include "agent_graph/json.h"
#include "base/text.h"
#include "models/demo.h"
#include "models/parameters.h"
#include "models/provider_kind.h"
#include "net/http_client.h"

namespace agent_graph::models {
namespace {

Result<std::unique_ptr<ModelProvider>> MakeProvider(
    const ProviderOptions& options, const std::shared_ptr<const net::HttpClient>& client) {
  AG_RETURN_IF_ERROR(MergeParameters(options.parameters_json, "{}").status());
  const ProviderKind* kind = FindProviderKind(options.provider);
  if (kind != nullptr) return kind->create(options, client);
  return Status(
      StatusCode::kInvalidArgument,
      "provider: \"" + options.provider + "\" is not one of " + JoinNames(ProviderNames(), ", "));
}

}  // namespace

Result<std::unique_ptr<Registry>> Registry::Create(const std::vector<ProviderOptions>& options,
                                                   const Environment& environment) {
  const auto client = std::make_shared<const net::HttpClient>(environment);
  auto registry = std::make_unique<Registry>();
  for (const ProviderOptions& entry : options) {
    Result<std::unique_ptr<ModelProvider>> provider = MakeProvider(entry, client);
    if (!provider.ok()) {
      return Status(StatusCode::kInvalidArgument,
                    "models." + entry.name + ": " + provider.status().message());
    }
    registry->Add(entry.name, *std::move(provider));
  }
  registry->Add("demo", std::make_unique<DemoModel>());
  if (options.empty()) registry->Add("default", std::make_unique<DemoModel>());
  return registry;
}

// If a name is repeated, the first model is kept.
void Registry::Add(const std::string& name, std::unique_ptr<ModelProvider> model) {
  models_.try_emplace(name, Metered(std::move(model), name, counters_));
}

bool Registry::failing() const {
  return std::ranges::any_of(models_, [](const auto& entry) { return entry.second->failing(); });
}

ModelProvider* Registry::Find(std::string_view name) const {
  const auto found = models_.find(name);
  return found != models_.end() ? found->second.get() : nullptr;
}

}  // namespace agent_graph::models
