// Embeddings: texts become vectors that are near each other when the texts are about the same.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/environment.h"
#include "base/status.h"
#include "runtime/cancellation.h"

namespace agent_graph::memory {

// Thread-safe.
class Embedder {
 public:
  virtual ~Embedder() = default;

  // On a fiber or a thread of the user pool. kUnavailable when the provider fails, kInvalidArgument
  // when it refuses the text, kCancelled and kDeadlineExceeded as they say. Never an empty vector.
  virtual Result<std::vector<float>> Embed(const std::string& text,
                                           const runtime::Cancellation& cancellation,
                                           Deadline deadline) = 0;
  // Names the space the vectors are in: those of different spaces cannot be compared.
  virtual const std::string& space() const = 0;
  // No further calls will be waited for.
  virtual void Close() = 0;
};

struct EmbeddingOptions {
  std::string provider = "hash";  // hash | openai
  size_t dimensions = 0;          // 0: the provider's own; 256 for hash
  // Of `openai`.
  std::string model;
  std::string base_url;  // no trailing slash
  std::string api_key;   // never part of a message or a log line
  std::map<std::string, std::string> headers;
  std::chrono::milliseconds timeout{30'000};  // of one attempt
  int retries_max = 2;
  size_t batch_max = 64;              // texts of one request
  size_t text_bytes_max = 24 * 1024;  // of a text, the rest is cut: providers refuse longer ones
};

// Starts nothing. kInvalidArgument names the option that cannot work.
Result<std::unique_ptr<Embedder>> MakeEmbedder(const EmbeddingOptions& options,
                                               const Environment& environment);

}  // namespace agent_graph::memory
