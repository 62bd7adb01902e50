// Administrative operations to re-embed memories after the embedding has changed: list the memories
// whose vectors have another space or length, and store new vectors for them.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "state/memories.h"
#include "state/wire/memory_fields.h"

namespace agent_graph::state {

struct ListUnembeddedRequest {
  std::string space;
  uint64_t dimensions = 0;
  uint64_t limit = 100;
  std::string cursor;  // from the previous page
};

struct UnembeddedMemory {
  std::string id;
  std::string content;
};

struct UnembeddedPage {
  std::vector<UnembeddedMemory> memories;  // newest first; may be empty before the last page
  uint64_t looked_at = 0;
  std::string next_cursor;  // empty: no more
};

struct NewVector {
  std::string id;
  std::string content;  // the text that was embedded; a memory whose text has changed is skipped
  Embedding embedding;
};

struct ReplaceVectorsRequest {
  std::vector<NewVector> vectors;
};

struct ReplacedVectors {
  uint64_t count = 0;
};

template <pack::SameAs<ListUnembeddedRequest> T>
auto Fields(T& s) {
  return std::tie(s.space, s.dimensions, s.limit, s.cursor);
}
template <pack::SameAs<UnembeddedMemory> T>
auto Fields(T& s) {
  return std::tie(s.id, s.content);
}
template <pack::SameAs<UnembeddedPage> T>
auto Fields(T& s) {
  return std::tie(s.memories, s.looked_at, s.next_cursor);
}
template <pack::SameAs<NewVector> T>
auto Fields(T& s) {
  return std::tie(s.id, s.content, s.embedding);
}
template <pack::SameAs<ReplaceVectorsRequest> T>
auto Fields(T& s) {
  return std::tie(s.vectors);
}
template <pack::SameAs<ReplacedVectors> T>
auto Fields(T& s) {
  return std::tie(s.count);
}

}  // namespace agent_graph::state
