// Memories: what a node or tool wants to know again in later runs.
//
//   context.memories().Store({.content = "drinks green tea", .category = "taste"});
//   for (const FoundMemory& memory : context.memories().Search({.query = "which tea?"})) ...
//
// They are kept by the service's memory store (`store` in service.json), found by what they say,
// and belong to the user of the run; without authentication they belong to nobody, and everybody's
// are searched.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent_graph/export.h"
#include "agent_graph/message.h"

namespace agent_graph {

struct NewMemory {
  std::string content = {};              // text; not read if there is a message
  std::string memory_type = "episodic";  // or semantic, procedural, entity, relationship, ...
  std::string category = "general";
  std::string agent_id = {};         // whose memory it is, when several agents share the store
  std::string metadata_json = "{}";  // an object
  // Kept whole, with its role and blocks; its text is what searches look at.
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
  std::optional<Message> message;  // what was stored, if it was a message; `content` is its text
};

struct FoundMemory : MemoryRecord {
  double score = 0;  // grows with likeness
};

struct MemorySearch {
  std::string query = {};
  std::string memory_type = {};  // empty: any, like the next two
  std::string category = {};
  std::string agent_id = {};
  std::string strategy = "similarity";  // or hybrid, relevance, temporal, graph_traversal
  uint32_t limit = 10;
  double score_min = 0;  // 0: however unlike
};

// Given by a RunContext or ToolContext for the time of its call. Every call may wait, without
// occupying an engine thread, and throws MemoryError when it fails, RunCancelled when the run was
// cancelled meanwhile.
class AGENT_GRAPH_API MemoryAccess {
 public:
  virtual ~MemoryAccess();

  // The new memory's id.
  virtual std::string Store(const NewMemory& memory) = 0;
  // Best first.
  virtual std::vector<FoundMemory> Search(const MemorySearch& search) = 0;
  virtual std::optional<MemoryRecord> Get(const std::string& id) = 0;
  // False when there is no such memory.
  virtual bool Delete(const std::string& id) = 0;
};

}  // namespace agent_graph
