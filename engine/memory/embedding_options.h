// The options of the embedding provider of a service.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

namespace agent_graph::memory {

struct EmbeddingOptions {
  std::string provider = "hash";  // the name of an EmbedderKind
  size_t dimensions = 0;          // 0: the provider's default; 256 for hash
  // The options below are for `openai`.
  std::string model;
  std::string base_url;  // no trailing slash
  std::string api_key;   // never appears in a message or a log line
  std::map<std::string, std::string> headers;
  bool http2 = true;                          // false: HTTP/1.1 also if the server offers HTTP/2
  std::chrono::milliseconds timeout{30'000};  // for one attempt
  int retries_max = 2;
  size_t batch_max = 64;  // texts in one request
  // Longer texts are cut, because providers refuse them; to a third of it if they still do.
  size_t text_bytes_max = 24 * 1024;
};

}  // namespace agent_graph::memory
