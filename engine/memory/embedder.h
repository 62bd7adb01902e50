// Embeddings: vectors of texts. Texts with similar meaning have vectors that are close to each
// other.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/environment.h"
#include "base/status.h"
#include "memory/embedding_options.h"
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

// A provider of embeddings. embedder.cc lists them all.
struct EmbedderKind {
  std::string_view name;           // `embedding.provider` in service.json
  std::string_view base_url = {};  // its public address; empty: it runs in process
  // Environment variable with the API key for `base_url`.
  std::string_view key_variable = {};
  std::unique_ptr<Embedder> (*create)(const EmbeddingOptions& options,
                                      const Environment& environment) = nullptr;
};

// Null if there is no such provider.
const EmbedderKind* FindEmbedderKind(std::string_view name);
// The names of all providers.
std::vector<std::string_view> EmbedderNames();

// Creates the embedder; does not connect. kInvalidArgument names the option that cannot work.
Result<std::unique_ptr<Embedder>> MakeEmbedder(const EmbeddingOptions& options,
                                               const Environment& environment);

}  // namespace agent_graph::memory
