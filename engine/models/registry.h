// The models of a service, by the names that graphs use.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "models/metered.h"
#include "models/model.h"

namespace agent_graph::models {

inline constexpr size_t kReplyBytesMax = 4 * 1024 * 1024;

// One configured model.
struct ProviderOptions {
  std::string name;
  std::string provider;  // demo | openai | anthropic | gemini
  std::string model;     // the provider's name of the model
  std::string base_url;  // empty: the provider's public URL
  std::string api_key;   // never appears in a message or a log line
  std::map<std::string, std::string> headers;
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds first_byte_timeout{60'000};  // until the head of the reply has arrived
  std::chrono::milliseconds idle_timeout{60'000};        // between two pieces of the reply
  size_t reply_bytes_max = kReplyBytesMax;
  int retries_max = 2;
  std::string parameters_json = "{}";
};

// The captured environment variables: they give the proxies and the CA file.
using Environment = std::map<std::string, std::string, std::less<>>;

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

 private:
  void Add(const std::string& name, std::unique_ptr<ModelProvider> model);

  ModelCounters counters_;  // declared first: it must outlive the models
  std::map<std::string, std::unique_ptr<ModelProvider>, std::less<>> models_;
};

}  // namespace agent_graph::models
