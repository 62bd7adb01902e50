#include "realtime/registry.h"

#include <algorithm>
#include <utility>

#include "net/websocket_client.h"
#include "realtime/demo.h"
#include "realtime/gemini.h"
#include "realtime/openai.h"
#include "realtime/protocol.h"

namespace agent_graph::realtime {

namespace {

using ConnectorPtr = std::shared_ptr<const net::WebSocketConnector>;

// A provider of realtime models.
struct RealtimeKind {
  std::string_view name;  // `provider` of a model in service.json
  std::unique_ptr<Provider> (*create)(const models::ProviderOptions& options,
                                      const ConnectorPtr& connector);
};

std::unique_ptr<Provider> CreateDemo(const models::ProviderOptions&, const ConnectorPtr&) {
  return std::make_unique<DemoProvider>();
}

template <Dialect (*kDialect)()>
std::unique_ptr<Provider> CreateRemote(const models::ProviderOptions& options,
                                       const ConnectorPtr& connector) {
  return std::make_unique<RemoteProvider>(options, kDialect(), connector);
}

constexpr RealtimeKind kRealtimeKinds[] = {
    {.name = "demo", .create = &CreateDemo},
    {.name = "openai", .create = &CreateRemote<OpenAiDialect>},
    {.name = "gemini", .create = &CreateRemote<GeminiDialect>},
};

}  // namespace

std::vector<std::string_view> ProviderNames() {
  std::vector<std::string_view> names;
  for (const RealtimeKind& kind : kRealtimeKinds) names.push_back(kind.name);
  return names;
}

Result<std::unique_ptr<Registry>> Registry::Create(
    const std::vector<models::ProviderOptions>& options, const Environment& environment) {
  const auto connector = std::make_shared<const net::WebSocketConnector>(environment);
  auto registry = std::make_unique<Registry>();
  for (const models::ProviderOptions& entry : options) {
    const auto* kind = std::ranges::find(kRealtimeKinds, entry.provider, &RealtimeKind::name);
    // A model without a realtime API occupies its name, too: the name must not lead to the demo
    // model below.
    std::unique_ptr<Provider>& provider = registry->models_[entry.name];
    if (kind != std::end(kRealtimeKinds)) provider = kind->create(entry, connector);
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
