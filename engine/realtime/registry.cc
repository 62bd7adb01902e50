#include "realtime/registry.h"

#include <utility>

#include "net/websocket_client.h"
#include "realtime/demo.h"
#include "realtime/gemini.h"
#include "realtime/openai.h"
#include "realtime/protocol.h"

namespace agent_graph::realtime {

Result<std::unique_ptr<Registry>> Registry::Create(
    const std::vector<models::ProviderOptions>& options, const models::Environment& environment) {
  const auto connector = std::make_shared<const net::WebSocketConnector>(environment);
  auto registry = std::make_unique<Registry>();
  for (const models::ProviderOptions& entry : options) {
    std::unique_ptr<Provider>& provider = registry->models_[entry.name];
    if (entry.provider == "demo") {
      provider = std::make_unique<DemoProvider>();
    } else if (entry.provider == "openai") {
      provider = std::make_unique<RemoteProvider>(entry, OpenAiDialect(), connector);
    } else if (entry.provider == "gemini") {
      provider = std::make_unique<RemoteProvider>(entry, GeminiDialect(), connector);
    }
  }
  registry->models_.try_emplace("demo", std::make_unique<DemoProvider>());
  if (options.empty()) registry->models_["default"] = std::make_unique<DemoProvider>();
  return registry;
}

Provider* Registry::Find(std::string_view name) const {
  const auto found = models_.find(name);
  return found != models_.end() ? found->second.get() : nullptr;
}

}  // namespace agent_graph::realtime
