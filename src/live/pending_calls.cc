#include "live/pending_calls.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "live/transfer_tool.h"

namespace agent_graph::live {
namespace {

bool Contains(const std::vector<realtime::ToolCall>& calls, const std::string& id) {
  return std::ranges::find(calls, id, &realtime::ToolCall::id) != calls.end();
}

}  // namespace

bool PendingCalls::Batch::HasCall(const std::string& id) const {
  return Contains(calls, id);
}

PendingCalls::Batch PendingCalls::Make(std::vector<realtime::ToolCall> calls, bool may_transfer,
                                       uint64_t link_number) {
  Batch batch{.number = ++last_number_, .link_number = link_number};
  for (realtime::ToolCall& call : calls) {
    if (may_transfer && call.name == kTransferTool) {
      batch.transfer = std::move(call);
    } else {
      batch.calls.push_back(std::move(call));
    }
  }
  return batch;
}

void PendingCalls::Add(Batch batch) {
  AG_CHECK(!batch.calls.empty(), "a batch without calls gets no results");
  AG_CHECK(batches_.empty() || batches_.back().number < batch.number, "a batch is added once");
  batches_.push_back(std::move(batch));
}

std::optional<PendingCalls::Batch> PendingCalls::Take(uint64_t number) {
  const auto found = std::ranges::find(batches_, number, &Batch::number);
  if (found == batches_.end()) return std::nullopt;
  Batch batch = std::move(*found);
  batches_.erase(found);
  return batch;
}

std::vector<PendingCalls::Batch> PendingCalls::Cancel(const std::vector<realtime::ToolCall>& calls,
                                                      uint64_t link_number) {
  const auto cancelled = [&](const realtime::ToolCall& call) { return Contains(calls, call.id); };
  std::vector<Batch> over;
  for (auto batch = batches_.begin(); batch != batches_.end();) {
    if (batch->link_number == link_number) {
      std::erase_if(batch->calls, cancelled);
      if (batch->transfer && cancelled(*batch->transfer)) batch->transfer.reset();
    }
    if (batch->calls.empty()) {
      over.push_back(std::move(*batch));
      batch = batches_.erase(batch);
    } else {
      ++batch;
    }
  }
  return over;
}

bool PendingCalls::AnyOfLink(uint64_t link_number) const {
  return std::ranges::any_of(
      batches_, [link_number](const Batch& batch) { return batch.link_number == link_number; });
}

}  // namespace agent_graph::live
