// The socket between a worker and the state server: ordered both ways, and cut as a whole. A
// worker's process that has died still delivers what it had sent.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "state/calls/executor.h"
#include "state/pack/pack.h"

namespace agent_graph::simulation {

namespace pack = state::pack;

// A message from a worker.
struct Frame {
  enum class Kind : uint8_t { kHello, kRequest, kPong, kRefuseGrants, kLeave, kEnd };
  Kind kind = Kind::kRequest;
  state::ClientHello hello = {};
  state::RequestHeader header = {};
  std::string body = {};
};

struct Wire {
  uint64_t id = 0;
  std::string client;
  std::deque<Frame> up;                   // to the state server
  std::deque<state::ClientMessage> down;  // to the worker
  bool cut = false;
};
using WirePtr = std::shared_ptr<Wire>;

}  // namespace agent_graph::simulation
