// The model provider behind graph_test::FakeModel.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "agent_graph/testing.h"
#include "base/mutex.h"
#include "models/model.h"

namespace agent_graph::graph_test {

struct FakeModel::Implementation : models::ModelProvider {
  struct Reply {
    std::string text = {};
    std::vector<ToolCallBlock> calls = {};
    std::string failure = {};
  };

  void Add(Reply reply);
  Result<models::ModelReply> Generate(
      const models::ModelRequest& request, const runtime::Cancellation& cancellation,
      const std::function<Status(const models::ModelDelta&)>& on_delta) override;

  mutable Mutex mutex;
  std::deque<Reply> script AG_GUARDED_BY(mutex);
  std::vector<ModelPrompt> prompts AG_GUARDED_BY(mutex);
  size_t calls_made AG_GUARDED_BY(mutex) = 0;
};

}  // namespace agent_graph::graph_test
