// PendingCalls: tool calls of the model whose results have not arrived.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "realtime/link.h"

namespace agent_graph::live {

// The calls of one reply of the model form a batch. A batch is pending from Add until its results
// arrive (Take) or the model cancels all its calls (Cancel). Not thread-safe; never blocks.
class PendingCalls {
 public:
  struct Batch {
    uint64_t number = 0;       // as in SessionPorts::CallTools; never used twice
    uint64_t link_number = 0;  // number of the link that made the calls
    std::vector<realtime::ToolCall> calls = {};
    std::optional<realtime::ToolCall> transfer = {};  // handover, carried out after the other calls

    bool HasCall(const std::string& id) const;
  };

  // Makes a batch, which is not pending yet. `may_transfer`: kTransferTool hands over.
  Batch Make(std::vector<realtime::ToolCall> calls, bool may_transfer, uint64_t link_number);
  void Add(Batch batch);
  // Removes and returns a batch; nullopt if it is not pending any more.
  std::optional<Batch> Take(uint64_t number);
  // The link cancels calls: removes them. Returns the batches without further calls, which are not
  // pending any more.
  std::vector<Batch> Cancel(const std::vector<realtime::ToolCall>& calls, uint64_t link_number);

  bool empty() const { return batches_.empty(); }
  bool AnyOfLink(uint64_t link_number) const;

 private:
  std::vector<Batch> batches_;
  uint64_t last_number_ = 0;
};

}  // namespace agent_graph::live
