// Memory that the calls of a tool node take until their outputs are part of the thread.
#pragma once

#include <cstdint>
#include <list>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "run/call_memory.h"
#include "runtime/cancellation.h"
#include "runtime/signal.h"
#include "tools/call/reply_memory.h"

namespace agent_graph::run {

// Counts what the calls of one node hold, and lets one of them at a time receive a large reply, so
// that a run waits for memory once. The fibers of the calls are all on one thread.
class ToolMemory {
 public:
  ToolMemory(CallMemory& calls, const runtime::Cancellation& cancellation)
      : calls_(calls), cancellation_(cancellation) {}
  ToolMemory(const ToolMemory&) = delete;
  ToolMemory& operator=(const ToolMemory&) = delete;

  // The part of one call, for as long as it is executed.
  class Reply final : public tools::ReplyMemory {
   public:
    Reply(ToolMemory& memory, Deadline deadline) : memory_(memory), deadline_(deadline) {}
    ~Reply() override;
    Status Await(uint64_t bytes) override;

   private:
    ToolMemory& memory_;
    const Deadline deadline_;
    bool has_turn_ = false;
  };

  // Counts the output of a call until the node has ended.
  void Keep(std::string_view output_json);

 private:
  struct Waiter {
    bool has_turn = false;
    runtime::Signal signal = {};
  };

  Status BeginTurn(Deadline deadline);
  void EndTurn();
  void Report();

  CallMemory& calls_;
  const runtime::Cancellation& cancellation_;
  uint64_t kept_bytes_ = 0;
  uint64_t turn_bytes_ = 0;  // bytes of the call that has the turn
  bool is_taken_ = false;
  std::list<Waiter> waiters_;
};

}  // namespace agent_graph::run
