// The part of a run that does not change and that all node executors need.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "agent_graph/message.h"
#include "agent_graph/run_context.h"
#include "base/clock.h"
#include "base/id_generator.h"
#include "base/status.h"
#include "graph/compiled_graph.h"
#include "runtime/cancellation.h"
#include "state/types.h"

namespace agent_graph::runtime {
class Runtime;
}
namespace agent_graph::models {
class ModelProvider;
}
namespace agent_graph::tools {
class Catalog;
}
namespace agent_graph::memory {
class MemoryStore;
}

namespace agent_graph::run {

class RemoteToolSet;
struct RunEnvironment;
struct RunRecord;

// Limit on what a run may hold of its thread, in bytes of JSON: window, state and what nodes add.
inline constexpr size_t kRunBytesMax = 64 * 1024 * 1024;

// Returns the provider of a configured model; null if there is none with that name. A provider
// outlives every run. Thread-safe.
using ModelLookup = std::function<models::ModelProvider*(const std::string& name)>;
// Generates the name of a new thread from the texts of its first run. May block and throw.
using ThreadNamer = std::function<std::string(const std::vector<std::string>& texts)>;
// Writes a line to the operator's log. Called from any thread.
using LogFunction = std::function<void(LogLevel level, const std::string& line)>;

// Adds the contents of referenced files to the messages that a model receives. Call on a fiber,
// which may be suspended. Keep the returned object until the model call has ended.
using FileShower = std::function<Result<std::shared_ptr<void>>(const RunEnvironment& environment,
                                                               std::vector<Message>& messages)>;

// Called once for each run that started, on its fiber. It must neither block nor throw.
using RunListener = std::function<void(RunRecord&& record)>;

// Immutable and shared, so that an abandoned user function never outlives what it uses.
struct RunEnvironment {
  std::shared_ptr<const graph::CompiledGraph> graph;
  runtime::Runtime* runtime = nullptr;
  ModelLookup find_model;
  tools::Catalog* catalog = nullptr;
  std::shared_ptr<const RemoteToolSet> remote_tools;  // null: none
  FileShower show_files;
  LogFunction log;
  bool show_exception_text = true;
  size_t run_bytes_max = kRunBytesMax;
  std::shared_ptr<const IdGenerator> ids;  // generates ids of threads and messages
  ThreadNamer name_thread;                 // may be empty
  RunListener on_finished;                 // may be empty

  memory::MemoryStore* memories = nullptr;  // null: no memory store

  std::string thread_id;
  std::string run_id;
  state::Scope scope;
  std::string user_id;                 // empty: no user
  std::shared_ptr<const json> user;    // an object
  std::shared_ptr<const json> config;  // an object, including `user`
  runtime::Cancellation cancellation;
  Deadline deadline = kNoDeadline;

  // Returns the earlier of now + `timeout` and the run's deadline.
  Deadline DeadlineOf(std::chrono::milliseconds timeout) const;
  // Logs a line for the operator, with the ids of run and node. Thread-safe if `log` is.
  void Log(LogLevel level, std::string_view node, std::string_view text) const;
};

using RunEnvironmentPtr = std::shared_ptr<const RunEnvironment>;

}  // namespace agent_graph::run
