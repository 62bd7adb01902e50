// The options of a configured model.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace agent_graph::models {

inline constexpr size_t kReplyBytesMax = 4 * 1024 * 1024;

// USD for a million tokens.
struct TokenPrice {
  double input = 0;
  double output = 0;

  // Billionths of a USD.
  int64_t CostOf(int64_t input_tokens, int64_t output_tokens) const;
};

// One model of `models` in service.json.
struct ProviderOptions {
  std::string name;      // the name that graphs use
  std::string provider;  // the name of a ProviderKind
  std::string model;     // the provider's name of the model
  std::string base_url;  // empty: the provider's public URL
  std::string api_key;   // never appears in a message or a log line
  // Their values never appear in a message or a log line either.
  std::map<std::string, std::string> headers;
  bool http2 = true;  // false: HTTP/1.1 also if the provider offers HTTP/2
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds first_byte_timeout{60'000};  // until the head of the reply has arrived
  std::chrono::milliseconds idle_timeout{60'000};        // between two pieces of the reply
  size_t reply_bytes_max = kReplyBytesMax;
  int retries_max = 2;
  std::string parameters_json = "{}";
  std::optional<TokenPrice> price;  // nullopt: not known
};

// The texts of the options that no message may show: the key, and the values of headers.
std::vector<std::string> SecretsOf(const ProviderOptions& options);

}  // namespace agent_graph::models
