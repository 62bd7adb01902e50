// NodeRunner: executes the nodes of one kind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent_graph/node.h"
#include "base/status.h"
#include "graph/definition.h"
#include "run/context/lost_calls.h"
#include "run/context/open_inputs.h"
#include "run/context/working_thread.h"
#include "run/log/run_log.h"
#include "run/nodes/emitter.h"
#include "run/run_environment.h"

namespace agent_graph::run {

// One execution of a node. The references are those of the run and outlive it.
struct NodeRun {
  RunEnvironmentPtr environment;  // `deadline` includes the node's timeout
  const graph::Node& node;
  WorkingThread& thread;  // to read the state and announce ids; the loop applies the result
  Emitter& emitter;
  RunLog& log;
  OpenInputs* inputs = nullptr;  // the calls that wait for the user; null: no call can ask
  int64_t step = 0;              // number of nodes executed before
  // Index in the thread's log of the run's first entry; nullopt: nothing is stored, or not known.
  std::optional<uint64_t> log_begin = {};
  const LostCalls* earlier = nullptr;  // tool calls of earlier attempts; null: the first attempt
  // Id of the message that the node streams; empty: it chooses one. Set if StreamsOneMessage.
  std::string message_id = {};
};

// Stateless: one instance serves all runs.
class NodeRunner {
 public:
  // Executes the node. Call on the run's fiber, which may be suspended.
  virtual Result<NodeResult> Run(const NodeRun& run) const = 0;
  // True if the node never waits: its result is then not worth an append of its own.
  virtual bool IsInstant(const graph::Node& /*node*/) const { return false; }
  // True if the node executes user code in this process: a crash may be its fault.
  virtual bool ExecutesUserCode(const graph::Node& /*node*/) const { return false; }
  // True if the node streams one message and stores it. The run may choose its id before.
  virtual bool StreamsOneMessage(const graph::Node& /*node*/) const { return false; }

 protected:
  ~NodeRunner() = default;
};

// The runner of the node's kind. Each kind declares `const NodeRunner& RunnerFor(const Kind&)` in
// its own header; node_runner.cc includes them all and does not compile if one is missing.
const NodeRunner& RunnerOf(const graph::Node& node);

}  // namespace agent_graph::run
