// The models of a service, by the names that graphs use.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/status.h"
#include "models/metered.h"
#include "models/model.h"
#include "models/provider_options.h"

namespace agent_graph::models {

// Immutable except for the counters, so it is thread-safe. Connects only when a model is called.
class Registry {
 public:
  // A failure names the model and the reason.
  static Result<std::unique_ptr<Registry>> Create(const std::vector<ProviderOptions>& options,
                                                  const Environment& environment);

  // Null if there is no such model. `demo` always exists. If no model is configured, `default` is
  // the demo model.
  ModelProvider* Find(std::string_view name) const;
  const ModelCounters& counters() const { return counters_; }
  // True while the provider of a model fails. Never blocks.
  bool failing() const;

 private:
  void Add(const std::string& name, std::unique_ptr<ModelProvider> model);

  ModelCounters counters_;  // declared first: it must outlive the models
  std::map<std::string, std::unique_ptr<ModelProvider>, std::less<>> models_;
};

}  // namespace agent_graph::models
