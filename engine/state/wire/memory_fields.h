// Field lists of the structs in memories.h, for rows and frames. Append new fields at the end.
#pragma once

#include <tuple>

#include "state/memories.h"
#include "state/wire/fields.h"

namespace agent_graph::state {

template <pack::SameAs<Embedding> T>
auto Fields(T& s) {
  return std::tie(s.space, s.values);
}
template <pack::SameAs<MemoryRecord> T>
auto Fields(T& s) {
  return std::tie(s.id, s.owner, s.agent_id, s.thread_id, s.memory_type, s.category, s.content,
                  s.metadata_json, s.created_micros, s.updated_micros, s.message_json);
}
template <pack::SameAs<FieldEquals> T>
auto Fields(T& s) {
  return std::tie(s.key, s.json);
}
template <pack::SameAs<MemoryFilter> T>
auto Fields(T& s) {
  return std::tie(s.equals);
}
template <pack::SameAs<StoreMemoryRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.record, s.embedding);
}
template <pack::SameAs<MemoryName> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.id, s.agent_id);
}
template <pack::SameAs<UpdateMemoryRequest> T>
auto Fields(T& s) {
  return std::tie(s.name, s.content, s.category, s.metadata_json, s.replace_metadata, s.embedding,
                  s.message_json);
}
template <pack::SameAs<ListMemoriesRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.filter, s.limit, s.cursor);
}
template <pack::SameAs<MemoryPage> T>
auto Fields(T& s) {
  return std::tie(s.memories, s.next_cursor);
}
template <pack::SameAs<RemoveMemoriesRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.filter, s.ids);
}
template <pack::SameAs<RemovedMemories> T>
auto Fields(T& s) {
  return std::tie(s.count);
}
template <pack::SameAs<SearchMemoriesRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.filter, s.query, s.embedding, s.ranking, s.metric, s.limit,
                  s.score_min);
}
template <pack::SameAs<MemoryHit> T>
auto Fields(T& s) {
  return std::tie(s.memory, s.score);
}
template <pack::SameAs<MemoryHits> T>
auto Fields(T& s) {
  return std::tie(s.hits);
}

}  // namespace agent_graph::state
