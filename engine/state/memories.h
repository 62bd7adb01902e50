// state::Memories: stores memory records and searches them.
//
// A memory belongs to an owner, like every other row; its id is unique across all owners. The
// caller computes the vectors; this service only compares them. Implementations are thread-safe.
// Calls suspend the calling fiber (a plain thread blocks). Acknowledged changes are as durable as
// the `sync` level promises. Errors are those of state::Service: kNotFound, kUnavailable,
// kResourceExhausted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "state/pack/fields.h"
#include "state/types.h"

namespace agent_graph::state {

// A vector and the name of its embedding space. Vectors of different spaces are never compared.
struct Embedding {
  std::string space;
  std::string values;  // float32 values in this machine's byte order; empty: no vector
};
template <pack::SameAs<Embedding> T>
auto Fields(T& s) {
  return std::tie(s.space, s.values);
}

// A stored memory, without its vector. Times are in microseconds since the Unix epoch.
struct MemoryRecord {
  std::string id;
  std::string owner;      // user id; empty: no owner
  std::string agent_id;   // may be empty
  std::string thread_id;  // the thread that it comes from; may be empty
  std::string memory_type;
  std::string category;
  std::string content;  // text
  std::string metadata_json = "{}";
  int64_t created_micros = 0;
  int64_t updated_micros = 0;
  // The stored message, as the message codec writes it; `content` is then its text, which may be
  // empty. Empty: the memory is plain text.
  std::string message_json;
};
template <pack::SameAs<MemoryRecord> T>
auto Fields(T& s) {
  return std::tie(s.id, s.owner, s.agent_id, s.thread_id, s.memory_type, s.category, s.content,
                  s.metadata_json, s.created_micros, s.updated_micros, s.message_json);
}

// Requires that a field has this value. The key names a field of the record (memory_type, category,
// agent_id, thread_id, user_id, content) or else a key of the metadata.
struct FieldEquals {
  std::string key;
  std::string json;  // a string, boolean or number as compact JSON text
};
template <pack::SameAs<FieldEquals> T>
auto Fields(T& s) {
  return std::tie(s.key, s.json);
}

// A memory must match every condition. Empty: every memory matches.
struct MemoryFilter {
  std::vector<FieldEquals> equals;
};
template <pack::SameAs<MemoryFilter> T>
auto Fields(T& s) {
  return std::tie(s.equals);
}

// Stores a new memory.
struct StoreMemoryRequest {
  Scope scope;
  MemoryRecord record;  // record.id is set by the caller, the times by the store
  Embedding embedding;
};
template <pack::SameAs<StoreMemoryRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.record, s.embedding);
}

// Names one memory. It is found only if it belongs to the owner of `scope` and, if given, to the
// agent.
struct MemoryName {
  Scope scope;
  std::string id;
  std::string agent_id;  // empty: any agent
};
template <pack::SameAs<MemoryName> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.id, s.agent_id);
}

// Replaces the contents and the vector of an existing memory; without `category` the category is
// kept.
struct UpdateMemoryRequest {
  MemoryName name;
  std::string content;
  std::optional<std::string> category;
  std::string metadata_json = "{}";
  bool replace_metadata = false;  // false: merged, where null removes a key
  Embedding embedding;
  std::string message_json;  // as in MemoryRecord
};
template <pack::SameAs<UpdateMemoryRequest> T>
auto Fields(T& s) {
  return std::tie(s.name, s.content, s.category, s.metadata_json, s.replace_metadata, s.embedding,
                  s.message_json);
}

struct ListMemoriesRequest {
  Scope scope;
  MemoryFilter filter;
  uint64_t limit = 100;
  std::string cursor;  // from the previous page
};
template <pack::SameAs<ListMemoriesRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.filter, s.limit, s.cursor);
}

struct MemoryPage {
  std::vector<MemoryRecord> memories;  // newest first
  std::string next_cursor;             // empty: no more
};
template <pack::SameAs<MemoryPage> T>
auto Fields(T& s) {
  return std::tie(s.memories, s.next_cursor);
}

// Deletes those of `ids` that match the filter; the others are skipped.
struct RemoveMemoriesRequest {
  Scope scope;
  MemoryFilter filter;
  std::vector<std::string> ids;
};
template <pack::SameAs<RemoveMemoriesRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.filter, s.ids);
}

struct RemovedMemories {
  uint64_t count = 0;
};
template <pack::SameAs<RemovedMemories> T>
auto Fields(T& s) {
  return std::tie(s.count);
}

enum class Metric : uint8_t { kCosine, kDotProduct, kEuclidean, kManhattan };

// How a search ranks. kHybrid: reciprocal rank fusion of kVector and kWords.
enum class Ranking : uint8_t { kVector, kWords, kHybrid, kNewest };

struct SearchMemoriesRequest {
  Scope scope;
  MemoryFilter filter;
  std::string query;
  Embedding embedding;
  Ranking ranking = Ranking::kVector;
  Metric metric = Metric::kCosine;
  uint64_t limit = 10;
  std::optional<double> score_min;
};
template <pack::SameAs<SearchMemoriesRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.filter, s.query, s.embedding, s.ranking, s.metric, s.limit,
                  s.score_min);
}

// A higher `score` is more similar. It is the cosine, the dot product, 1 / (1 + distance), for
// kWords BM25 mapped to 0…1, for kHybrid the fused rank, where 1 means first in both rankings.
struct MemoryHit {
  MemoryRecord memory;
  double score = 0;
};
template <pack::SameAs<MemoryHit> T>
auto Fields(T& s) {
  return std::tie(s.memory, s.score);
}

struct MemoryHits {
  std::vector<MemoryHit> hits;  // best first; newest first for kNewest
};
template <pack::SameAs<MemoryHits> T>
auto Fields(T& s) {
  return std::tie(s.hits);
}

// Interface of the memory service.
class Memories {
 public:
  virtual ~Memories() = default;

  // Returns kConflict if the id exists.
  virtual Status StoreMemory(const StoreMemoryRequest& store) = 0;
  // Returns kNotFound if no memory has this name, as Update and DeleteMemory do.
  virtual Result<MemoryRecord> GetMemory(const MemoryName& name) = 0;
  // Changes an existing memory; see UpdateMemoryRequest.
  virtual Status UpdateMemory(const UpdateMemoryRequest& update) = 0;
  // Deletes one memory.
  virtual Status DeleteMemory(const MemoryName& name) = 0;
  // Returns one page of the matching memories, newest first.
  virtual Result<MemoryPage> ListMemories(const ListMemoriesRequest& list) = 0;
  // Deletes several memories; returns how many.
  virtual Result<RemovedMemories> RemoveMemories(const RemoveMemoriesRequest& remove) = 0;
  // Returns kResourceExhausted if the scope has more memories than the index may hold.
  virtual Result<MemoryHits> SearchMemories(const SearchMemoriesRequest& search) = 0;
};

}  // namespace agent_graph::state
