// Stores and searches memories of test users.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "conformance.h"
#include "state/maintenance.h"
#include "state/memories.h"

namespace agent_graph::state {

inline Embedding VectorOf(std::vector<float> values, const std::string& space = "test") {
  Embedding embedding;
  embedding.space = space;
  if (values.empty()) return embedding;
  embedding.values.resize(values.size() * sizeof(float));
  std::memcpy(embedding.values.data(), values.data(), embedding.values.size());
  return embedding;
}

class MemoriesTest : public ConformanceTest {
 protected:
  Memories& memories() { return *client_; }

  static StoreMemoryRequest NewOf(const std::string& id, const std::string& user,
                                  const std::string& content, std::vector<float> vector) {
    StoreMemoryRequest store;
    store.scope = ScopeOf(user);
    store.record.id = id;
    store.record.owner = user;
    store.record.memory_type = "episodic";
    store.record.category = "general";
    store.record.content = content;
    store.embedding = VectorOf(std::move(vector));
    return store;
  }
  void Add(const StoreMemoryRequest& store) {
    Status status = memories().StoreMemory(store);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  void Add(const std::string& id, const std::string& user, const std::string& content,
           std::vector<float> vector) {
    Add(NewOf(id, user, content, std::move(vector)));
  }

  static SearchMemoriesRequest QueryOf(const std::string& user, std::vector<float> vector) {
    SearchMemoriesRequest search;
    search.scope = ScopeOf(user);
    search.embedding = VectorOf(std::move(vector));
    return search;
  }
  std::vector<MemoryHit> Hits(const SearchMemoriesRequest& search) {
    Result<MemoryHits> hits = memories().SearchMemories(search);
    EXPECT_TRUE(hits.ok()) << hits.status().ToString();
    return hits.ok() ? hits->hits : std::vector<MemoryHit>();
  }
  std::vector<std::string> Found(const SearchMemoriesRequest& search) {
    std::vector<std::string> ids;
    for (const MemoryHit& hit : Hits(search)) ids.push_back(hit.memory.id);
    return ids;
  }
  std::vector<std::string> Listed(const std::string& user, MemoryFilter filter = {}) {
    std::vector<std::string> ids;
    Result<MemoryPage> page = memories().ListMemories({ScopeOf(user), std::move(filter), 100, ""});
    EXPECT_TRUE(page.ok()) << page.status().ToString();
    for (const MemoryRecord& memory : page->memories) ids.push_back(memory.id);
    return ids;
  }
  StatusCode GetCode(const std::string& user, const std::string& id) {
    return memories().GetMemory({ScopeOf(user), id, ""}).status().code();
  }
};

}  // namespace agent_graph::state
