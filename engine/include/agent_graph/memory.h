// Memories: what a node or tool stores for later runs.
//
//   context.memories().Store({.content = "drinks green tea", .category = "taste"});
//   for (const FoundMemory& memory : context.memories().Search({.query = "which tea?"})) ...
//
// The service's memory store (`store` in service.json) keeps them; searches compare their content
// with the query. A memory belongs to the user of the run. Without authentication memories have no
// owner, and a search covers all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent_graph/export.h"
#include "agent_graph/message.h"

namespace agent_graph {

struct NewMemory {
  std::string content = {};              // text; ignored if `message` is set
  std::string memory_type = "episodic";  // or semantic, procedural, entity, relationship, ...
  std::string category = "general";
  std::string agent_id = {};         // for stores that several agents share
  std::string metadata_json = "{}";  // a JSON object
  // Stored completely, with its role and blocks; searches use its text.
  std::optional<Message> message = {};
};

struct MemoryRecord {
  std::string id;
  std::string content;
  std::string memory_type;
  std::string category;
  std::string agent_id;
  std::string user_id;
  std::string metadata_json;
  double timestamp = 0;            // Unix seconds
  std::optional<Message> message;  // the stored message, if it was one; `content` is then its text
};

struct FoundMemory : MemoryRecord {
  double score = 0;  // higher is more similar
};

struct MemorySearch {
  std::string query = {};
  std::string memory_type = {};  // empty: any; the same holds for the next two
  std::string category = {};
  std::string agent_id = {};
  std::string strategy = "similarity";  // or hybrid, relevance, temporal, graph_traversal
  uint32_t limit = 10;
  double score_min = 0;  // results with a lower score are left out; 0: no limit
};

// Access to the memory store, valid during the call that provided the RunContext or ToolContext.
// Every function may wait without occupying an engine thread. They throw MemoryError on failure and
// RunCancelled if the run was cancelled meanwhile.
class AGENT_GRAPH_API MemoryAccess {
 public:
  virtual ~MemoryAccess();

  // Returns the id of the new memory.
  virtual std::string Store(const NewMemory& memory) = 0;
  // Best match first.
  virtual std::vector<FoundMemory> Search(const MemorySearch& search) = 0;
  // nullopt if there is no such memory.
  virtual std::optional<MemoryRecord> Get(const std::string& id) = 0;
  // False if there is no such memory.
  virtual bool Delete(const std::string& id) = 0;
};

}  // namespace agent_graph
