// state::Memories: the memory records of the state service and the search through them.
//
// A memory belongs to a row owner, like everything else; its id is unique over all owners. Vectors
// are made by the caller and only compared here. Calls suspend the calling fiber (a plain thread
// blocks); what is acknowledged is durable as `sync` promises; failures are those of
// state::Service. Implementations are thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "state/types.h"

namespace agent_graph::state {

// A vector and the name of the space it is in. Vectors of different spaces are never compared.
struct Embedding {
  std::string space;
  std::string values;  // float32, in the byte order of this machine; empty: no vector
};

struct MemoryRecord {
  std::string id;
  std::string owner;      // user id; empty: no owner
  std::string agent_id;   // may be empty
  std::string thread_id;  // where it was learnt; may be empty
  std::string memory_type;
  std::string category;
  std::string content;  // text
  std::string metadata_json = "{}";
  int64_t created_micros = 0;
  int64_t updated_micros = 0;
  // The message that was stored, as the message codec writes it; `content` is its text, which may
  // be empty. Empty: the memory is plain text.
  std::string message_json;
};

// A field of the record (memory_type, category, agent_id, thread_id, user_id, content) or else a
// key of the metadata, and the value it must have.
struct FieldEquals {
  std::string key;
  std::string json;  // compact text of a string, a boolean or a number
};

// All of it must match. Empty: everything.
struct MemoryFilter {
  std::vector<FieldEquals> equals;
};

struct StoreMemory {
  Scope scope;
  MemoryRecord record;  // with the id it shall have; times are set by the store
  Embedding embedding;
};

// The owner of `scope` and, when given, the agent decide which memory `id` may name.
struct MemoryName {
  Scope scope;
  std::string id;
  std::string agent_id;  // empty: of any agent
};

struct UpdateMemory {
  MemoryName name;
  std::string content;
  std::optional<std::string> category;
  std::string metadata_json = "{}";
  bool replace_metadata = false;  // else merged: null removes a key
  Embedding embedding;
  std::string message_json;  // as in MemoryRecord
};

struct ListMemories {
  Scope scope;
  MemoryFilter filter;
  uint64_t limit = 100;
  std::string cursor;  // from an earlier page
};

struct MemoryPage {
  std::vector<MemoryRecord> memories;  // newest first
  std::string next_cursor;             // empty: no more
};

// Of `ids`, deletes what matches the filter; others are passed over.
struct RemoveMemories {
  Scope scope;
  MemoryFilter filter;
  std::vector<std::string> ids;
};

struct RemovedMemories {
  uint64_t count = 0;
};

enum class Metric : uint8_t { kCosine, kDotProduct, kEuclidean, kManhattan };

// What a search goes by. kHybrid: places in the orders of kVector and kWords, fused.
enum class Ranking : uint8_t { kVector, kWords, kHybrid, kNewest };

struct SearchMemories {
  Scope scope;
  MemoryFilter filter;
  std::string query;
  Embedding embedding;
  Ranking ranking = Ranking::kVector;
  Metric metric = Metric::kCosine;
  uint64_t limit = 10;
  std::optional<double> score_min;
};

// `score` grows with likeness: the cosine, the dot product, 1 / (1 + distance), for kWords BM25
// mapped to 0…1, for kHybrid the fused places with 1 for the first of both.
struct MemoryHit {
  MemoryRecord memory;
  double score = 0;
};

struct MemoryHits {
  std::vector<MemoryHit> hits;  // best first; for kNewest newest first
};

class Memories {
 public:
  virtual ~Memories() = default;

  // kConflict when the id is taken.
  virtual Status Store(const StoreMemory& store) = 0;
  virtual Result<MemoryRecord> GetMemory(const MemoryName& name) = 0;
  virtual Status Update(const UpdateMemory& update) = 0;
  virtual Status DeleteMemory(const MemoryName& name) = 0;
  virtual Result<MemoryPage> List(const ListMemories& list) = 0;
  virtual Result<RemovedMemories> Remove(const RemoveMemories& remove) = 0;
  // kResourceExhausted when there are more memories in the scope than the index may hold.
  virtual Result<MemoryHits> Search(const SearchMemories& search) = 0;
};

}  // namespace agent_graph::state
