// Embeddings from a server with OpenAI's POST /embeddings.
//
// Texts that arrive while requests are in flight are sent together in the next one. Vectors of
// short texts are cached.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/recent_map.h"
#include "memory/embedder.h"
#include "net/http_client.h"
#include "runtime/signal.h"

namespace agent_graph::memory {

// A cache with least-recently-used eviction. Not thread-safe.
class VectorCache {
 public:
  static constexpr size_t kEntriesMax = 1024;
  static constexpr size_t kTextBytesMax = 1024;  // longer texts are unlikely to be repeated

  const std::vector<float>* Find(const std::string& text);
  void Add(const std::string& text, const std::vector<float>& vector);

 private:
  RecentMap<std::string, std::vector<float>> vectors_{kEntriesMax};  // by text
};

// Thread-safe. Each caller waits for its own vector; a caller that gives up does not disturb the
// others of its batch.
class HttpEmbedder : public Embedder {
 public:
  // Maximum number of queued texts; beyond it calls fail with kResourceExhausted.
  static constexpr size_t kWaitingMax = 4096;

  HttpEmbedder(EmbeddingOptions options, std::shared_ptr<const net::HttpClient> client);

  Result<std::vector<float>> Embed(const std::string& text,
                                   const runtime::Cancellation& cancellation,
                                   Deadline deadline) override;
  const std::string& space() const override { return space_; }
  void Close() override { closing_.Cancel(runtime::CancelReason::kShutdown); }

 private:
  using Vectors = std::vector<std::vector<float>>;
  struct Waiting {
    std::string text;
    runtime::Promise<Result<std::vector<float>>> answer;
  };

  // Sends the queued texts, batch by batch, until the queue is empty.
  void SendWaiting();
  std::vector<Waiting> TakeBatch();
  void Send(std::span<const Waiting> batch);
  void Answer(std::span<const Waiting> batch, Result<Vectors> vectors);
  // One request, with the retries that the options allow. kInvalidArgument if a text is refused.
  Result<Vectors> Ask(std::span<const Waiting> batch);
  struct Attempt {
    Result<Vectors> vectors = Vectors();
    bool may_repeat = false;
    std::optional<std::chrono::milliseconds> retry_after = {};
    int sends = 0;
  };
  static Attempt LostCall(const Status& status);
  Attempt AskOnce(const net::HttpRequest& request, size_t count) const;
  Attempt ReadReply(net::HttpCall& call, const net::HttpRequest& request, size_t count) const;
  net::HttpRequest MakeRequest(std::span<const Waiting> batch) const;
  Result<Vectors> ReadVectors(const std::string& body, size_t count) const;

  const EmbeddingOptions options_;
  const std::shared_ptr<const net::HttpClient> client_;
  const std::string space_;
  const runtime::Cancellation closing_;

  Mutex mutex_;
  std::deque<Waiting> waiting_ AG_GUARDED_BY(mutex_);
  size_t requests_ AG_GUARDED_BY(mutex_) = 0;  // under way
  VectorCache cache_ AG_GUARDED_BY(mutex_);
};

std::unique_ptr<Embedder> CreateHttpEmbedder(const EmbeddingOptions& options,
                                             const Environment& environment);

}  // namespace agent_graph::memory
