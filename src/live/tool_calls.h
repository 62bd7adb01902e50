// Runs the tool calls of a live model with the ordinary tool node, while the audio continues.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent_graph/message.h"
#include "live/journal.h"
#include "realtime/link.h"
#include "run/call_memory.h"
#include "run/nodes/node_tools.h"
#include "runtime/signal.h"

namespace agent_graph::live {

// Results of a batch of calls.
struct FinishedCalls {
  std::vector<realtime::ToolReply> replies;
  std::vector<Message> messages;  // to store in the thread
  uint64_t number = 0;
  uint64_t held_bytes = 0;  // see ToolCalls::TakeFinished
};

// All calls are made on the session's engine thread. Each batch runs on its own fiber, which keeps
// this object alive until it has finished.
class ToolCalls : public std::enable_shared_from_this<ToolCalls> {
 public:
  // `memory` counts what the calls hold, until Abandon.
  ToolCalls(std::shared_ptr<Journal> journal, std::function<void()> on_finished,
            run::CallMemory* memory);

  // Sets the tool node and tools of the current agent.
  void Offer(std::string tool_node, run::OfferedTools tools);
  const run::OfferedTools& offered() const { return offered_; }

  // Starts a batch. Calls that cannot run fail at once. Does not suspend.
  void Call(std::vector<realtime::ToolCall> calls, uint64_t number);
  // Takes the results of a finished batch; nullopt if there is none. Their memory is counted until
  // the next call, so that the session can count what it makes of them.
  std::optional<FinishedCalls> TakeFinished();
  // Discards later results. Call it after Wait, before the session is destroyed.
  void Abandon();
  // Suspends until the batches in progress have ended, or until the deadline if user code does not
  // end; cancel them before.
  void Wait(Deadline deadline);

 private:
  struct Batch {
    std::string tool_node;
    std::vector<realtime::ToolCall> calls;
    FinishedCalls finished;
  };

  class BatchMemory;

  void Run(Batch& batch);
  void Finish(FinishedCalls finished);
  void ReportMemory();

  const std::shared_ptr<Journal> journal_;
  std::function<void()> on_finished_;
  std::string tool_node_;
  run::OfferedTools offered_;
  std::deque<FinishedCalls> finished_;
  size_t running_ = 0;
  run::CallMemory* memory_;     // null: the session has ended
  uint64_t held_bytes_ = 0;     // sum over all batches
  uint64_t taken_bytes_ = 0;    // the part of the batch that was taken last
  size_t awaiting_memory_ = 0;  // fibers in memory_
  runtime::Signal idle_;
};

}  // namespace agent_graph::live
