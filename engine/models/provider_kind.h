// The providers of models. A provider defines its ProviderKind in its own file; provider_kind.cc
// lists them all. The settings, the registry and telemetry read that list.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "models/model.h"
#include "models/provider_options.h"

namespace agent_graph::net {
class HttpClient;
}

namespace agent_graph::models {

// A parameter of a model that must be an integer in a range.
struct IntegerParameter {
  std::string_view name;
  int64_t minimum = 0;
  int64_t maximum = 0;
};

struct ProviderKind {
  std::string_view name;            // `provider` of a model in service.json
  std::string_view telemetry_name;  // `gen_ai.provider.name` in OpenTelemetry's conventions
  std::string_view base_url = {};   // its public address; empty: it runs in process
  // Environment variable with the API key for `base_url`.
  std::string_view key_variable = {};
  // Checked when the configuration is read; other parameters are passed through.
  std::optional<IntegerParameter> checked_parameter = std::nullopt;
  // It understands CallOptions::format.
  bool answers_json = false;
  // Does not connect. kInvalidArgument names the option that cannot work.
  Result<std::unique_ptr<ModelProvider>> (*create)(
      const ProviderOptions& options,
      const std::shared_ptr<const net::HttpClient>& client) = nullptr;
};

std::span<const ProviderKind* const> ProviderKinds();
// Null if there is no such provider.
const ProviderKind* FindProviderKind(std::string_view name);
// The names of all providers, in the order of ProviderKinds.
std::vector<std::string_view> ProviderNames();

}  // namespace agent_graph::models
