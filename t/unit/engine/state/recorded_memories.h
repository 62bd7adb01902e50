// Memories that record the requests of the code under test.
#pragma once

#include "state/memories.h"

namespace agent_graph::state {

// Records each request, and answers with what the test has set.
class RecordedMemories final : public Memories {
 public:
  Status StoreMemory(const StoreMemoryRequest& store) override {
    stored = store;
    return failure;
  }
  Result<MemoryRecord> GetMemory(const MemoryName& name) override {
    named = name;
    if (!failure.ok()) return failure;
    return record;
  }
  Status UpdateMemory(const UpdateMemoryRequest& update) override {
    updated = update;
    return failure;
  }
  Status DeleteMemory(const MemoryName& name) override {
    named = name;
    return failure;
  }
  Result<MemoryPage> ListMemories(const ListMemoriesRequest& list) override {
    listed = list;
    if (!failure.ok()) return failure;
    return page;
  }
  Result<RemovedMemories> RemoveMemories(const RemoveMemoriesRequest& remove) override {
    removed = remove;
    if (!failure.ok()) return failure;
    return RemovedMemories{remove.ids.size()};
  }
  Result<MemoryHits> SearchMemories(const SearchMemoriesRequest& search) override {
    searched = search;
    if (!failure.ok()) return failure;
    return found;
  }

  Status failure;
  MemoryRecord record;
  MemoryPage page;
  MemoryHits found;
  StoreMemoryRequest stored;
  UpdateMemoryRequest updated;
  MemoryName named;
  ListMemoriesRequest listed;
  RemoveMemoriesRequest removed;
  SearchMemoriesRequest searched;
};

}  // namespace agent_graph::state
