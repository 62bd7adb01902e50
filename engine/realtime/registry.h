// The realtime models of a service, by the names that graphs use.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/status.h"
#include "models/provider_options.h"
#include "realtime/link.h"

namespace agent_graph::realtime {

// The names of the providers that have a realtime API.
std::vector<std::string_view> ProviderNames();

// Immutable, so it is thread-safe. Connects only when a link is opened.
class Registry {
 public:
  // Models whose provider has no realtime API are skipped. A failure names the model and the
  // reason.
  static Result<std::unique_ptr<Registry>> Create(
      const std::vector<models::ProviderOptions>& options, const Environment& environment);

  // Null if there is no such realtime model. `demo` always exists. If no model is configured,
  // `default` is the demo model.
  Provider* Find(std::string_view name) const;

 private:
  std::map<std::string, std::unique_ptr<Provider>, std::less<>> models_;
};

}  // namespace agent_graph::realtime
