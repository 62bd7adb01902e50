// Memory that the reply of a tool's service takes while it is read and parsed.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/json_weight.h"
#include "base/status.h"

namespace agent_graph::tools {

// Gives memory to one call of a tool. Implemented by the run that makes the call.
class ReplyMemory {
 public:
  virtual ~ReplyMemory() = default;
  // Waits until the call holds memory for `bytes` of JSON in all; it gives them back at its end.
  // Suspends the calling fiber. kResourceExhausted: other requests took too long to free memory.
  virtual Status Await(uint64_t bytes) = 0;
};

// Waits for memory as a reply grows. Small replies do not wait.
class ReplySize {
 public:
  explicit ReplySize(ReplyMemory* memory) : memory_(memory) {}  // null: nothing waits

  // Adds a piece that was read. kUnavailable: there is too little memory for the reply.
  Status Add(std::string_view piece);
  // Call it when the pieces so far have been freed. The pieces that follow reuse their memory.
  void Restart() { weight_ = {}; }

 private:
  ReplyMemory* const memory_;
  JsonWeight weight_;
  uint64_t awaited_ = 0;
};

}  // namespace agent_graph::tools
