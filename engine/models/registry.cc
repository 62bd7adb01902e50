#include "models/registry.h"

#include <utility>

#include "agent_graph/json.h"
#include "models/anthropic.h"
#include "models/demo.h"
#include "models/gemini.h"
#include "models/openai.h"
#include "models/parameters.h"

namespace agent_graph::models {
namespace {

template <typename Model>
Result<std::unique_ptr<ModelProvider>> Create(
    const ProviderOptions& options, const std::shared_ptr<const net::HttpClient>& client) {
  AG_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, Model::Create(options, client));
  return std::unique_ptr<ModelProvider>(std::move(model));
}

Result<std::unique_ptr<ModelProvider>> MakeProvider(
    const ProviderOptions& options, const std::shared_ptr<const net::HttpClient>& client) {
  AG_RETURN_IF_ERROR(MergeParameters(options.parameters_json, "{}").status());
  if (options.provider == "demo") {
    return std::unique_ptr<ModelProvider>(std::make_unique<DemoModel>(options.parameters_json));
  }
  if (options.provider == "openai") return Create<OpenAiModel>(options, client);
  if (options.provider == "anthropic") return Create<AnthropicModel>(options, client);
  if (options.provider == "gemini") return Create<GeminiModel>(options, client);
  return Status(
      StatusCode::kInvalidArgument,
      "provider: \"" + options.provider + "\" is not one of demo, openai, anthropic, gemini");
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
  models_.try_emplace(name, Metered(std::move(model), counters_));
}

ModelProvider* Registry::Find(std::string_view name) const {
  const auto found = models_.find(name);
  return found != models_.end() ? found->second.get() : nullptr;
}

}  // namespace agent_graph::models
