// MemoryStore: the memory store for handlers, graph nodes and tools. It computes embeddings, stores
// records through state::Memories and implements the retrieval strategies.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "memory/embedder.h"
#include "runtime/cancellation.h"
#include "state/memories.h"

namespace agent_graph::memory {

inline constexpr std::array<std::string_view, 7> kMemoryTypes = {
    "episodic", "semantic", "procedural", "entity", "relationship", "custom", "declarative"};

// similarity: by the similarity of vectors. temporal: newest first; the score is the similarity.
// relevance: by words (BM25). hybrid: vectors and words, fused. graph_traversal: similarity, plus
// the memories that the hits' metadata lists in `related_to` (memory ids), with half the score.
enum class Strategy : uint8_t { kSimilarity, kTemporal, kRelevance, kHybrid, kGraphTraversal };
inline constexpr std::array<std::string_view, 5> kStrategies = {
    "similarity", "temporal", "relevance", "hybrid", "graph_traversal"};

// In the order of state::Metric.
inline constexpr std::array<std::string_view, 4> kMetrics = {"cosine", "dot_product", "euclidean",
                                                             "manhattan"};

// The rows that the caller may touch, and the user.
struct Access {
  state::Scope scope;
  std::string user_id;   // owner of stored memories; empty: none
  std::string agent_id;  // empty: any agent
};
// How long the caller waits.
struct WaitOptions {
  const runtime::Cancellation& cancellation;
  Deadline deadline = kNoDeadline;
};

struct NewMemory {
  // Identifies the memory among all; it is stored once. Empty: a new id is generated.
  std::string id = {};
  std::string content;       // the text to embed; may be blank if there is a message
  std::string message_json;  // JSON of the message that `content` is the text of; empty: plain text
  std::string memory_type = "episodic";
  std::string category = "general";
  std::string thread_id;
  std::string metadata_json = "{}";
};

// A new content for a memory; the embedding is computed again.
struct MemoryChange {
  std::string content;
  std::string message_json;  // as in NewMemory
  std::optional<std::string> category;
  std::string metadata_json = "{}";
  // False: metadata_json is merged into the current metadata; null removes a key.
  bool replace_metadata = false;
};

struct MemoryQuery {
  std::string text;
  state::MemoryFilter filter;
  Strategy strategy = Strategy::kSimilarity;
  state::Metric metric = state::Metric::kCosine;
  uint64_t limit = 10;
  std::optional<double> score_min;
  // Limit for the texts of all hits together, in estimated tokens. If the first hit is too long, it
  // is cut, not left out.
  uint64_t tokens_max = 4000;
};

// Thread-safe; calls suspend the calling fiber. Failures are those of state::Memories and of the
// embedder.
class MemoryStore {
 public:
  MemoryStore(state::Memories& memories, Embedder& embedder)
      : memories_(memories), embedder_(embedder) {}

  // Returns the id of the new memory, or of the one that was stored with this id before.
  Result<std::string> Store(const Access& access, const NewMemory& memory, WaitOptions wait);
  // kNotFound if there is no such memory within `access`; so do Update and Delete.
  Result<state::MemoryRecord> Get(const Access& access, const std::string& id);
  Status Update(const Access& access, const std::string& id, const MemoryChange& change,
                WaitOptions wait);
  Status Delete(const Access& access, const std::string& id);
  Result<state::MemoryPage> List(const Access& access, state::MemoryFilter filter, uint64_t limit,
                                 const std::string& cursor);
  // Deletes the matching memories and returns their number. If the state service fails, some may be
  // left; call it again to delete them.
  Result<uint64_t> Forget(const Access& access, state::MemoryFilter filter, WaitOptions wait);
  // Best hit first, except for Strategy::kTemporal. Does the same as the two calls below.
  Result<std::vector<state::MemoryHit>> Search(const Access& access, const MemoryQuery& query,
                                               WaitOptions wait);
  // Computes the embedding of the query, which may take as long as a call of its provider.
  Result<state::SearchMemoriesRequest> PrepareSearch(const Access& access, const MemoryQuery& query,
                                                     WaitOptions wait);
  // Reads the memories, which may take much memory. `search` was prepared with the same query.
  Result<std::vector<state::MemoryHit>> RunSearch(const Access& access, const MemoryQuery& query,
                                                  const state::SearchMemoriesRequest& search);

 private:
  // Returns no vector for a blank text.
  Result<state::Embedding> Embed(const std::string& text, const WaitOptions& wait);
  Status AddRelated(const Access& access, const MemoryQuery& query,
                    std::vector<state::MemoryHit>& hits);

  state::Memories& memories_;
  Embedder& embedder_;
};

}  // namespace agent_graph::memory
