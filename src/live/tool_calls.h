// The calls a live model makes, run by the ordinary tool node while sound goes on.
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
#include "run/node_tools.h"
#include "runtime/signal.h"

namespace agent_graph::live {

struct FinishedCalls {
  std::vector<realtime::ToolReply> replies;
  std::vector<Message> messages;  // for the thread
  uint64_t number = 0;
};

// Everything happens on the session's engine thread; a batch that was left alone ends by itself.
class ToolCalls : public std::enable_shared_from_this<ToolCalls> {
 public:
  ToolCalls(std::shared_ptr<Journal> journal, std::function<void()> on_finished);

  // The tools of the agent that speaks now.
  void Offer(std::string tool_node, run::OfferedTools tools);
  const run::OfferedTools& offered() const { return offered_; }

  void Call(std::vector<realtime::ToolCall> calls, uint64_t number);
  std::optional<FinishedCalls> TakeFinished();
  // Nobody wants results any more.
  void Abandon() { on_finished_ = nullptr; }
  // Waits for batches that are under way, which were cancelled.
  void Wait(Deadline deadline);

 private:
  struct Batch {
    std::string tool_node;
    std::vector<realtime::ToolCall> calls;
    FinishedCalls finished;
  };

  void Run(Batch& batch);
  void Finish(FinishedCalls finished);

  const std::shared_ptr<Journal> journal_;
  std::function<void()> on_finished_;
  std::string tool_node_;
  run::OfferedTools offered_;
  std::deque<FinishedCalls> finished_;
  size_t running_ = 0;
  runtime::Signal idle_;
};

}  // namespace agent_graph::live
