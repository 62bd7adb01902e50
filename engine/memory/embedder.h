// Embeddings: vectors of texts. Texts with similar meaning have vectors that are close to each
// other.
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

  // Call it on a fiber or on a thread of the user pool; it waits. kUnavailable: the provider
  // failed. kInvalidArgument: the provider refused the text. kCancelled, kDeadlineExceeded: of the
  // arguments. Never returns an empty vector.
  virtual Result<std::vector<float>> Embed(const std::string& text,
                                           const runtime::Cancellation& cancellation,
                                           Deadline deadline) = 0;
  // The name of the vector space: vectors of different spaces cannot be compared.
  virtual const std::string& space() const = 0;
  // Ends calls in progress; later calls fail at once.
  virtual void Close() = 0;
};

struct EmbeddingOptions {
  std::string provider = "hash";  // hash | openai
  size_t dimensions = 0;          // 0: the provider's default; 256 for hash
  // The options below are for `openai`.
  std::string model;
  std::string base_url;  // no trailing slash
  std::string api_key;   // never appears in a message or a log line
  std::map<std::string, std::string> headers;
  std::chrono::milliseconds timeout{30'000};  // for one attempt
  int retries_max = 2;
  size_t batch_max = 64;              // texts in one request
  size_t text_bytes_max = 24 * 1024;  // longer texts are cut, because providers refuse them
};

// Creates the embedder; does not connect. kInvalidArgument names the option that cannot work.
Result<std::unique_ptr<Embedder>> MakeEmbedder(const EmbeddingOptions& options,
                                               const Environment& environment);

}  // namespace agent_graph::memory
