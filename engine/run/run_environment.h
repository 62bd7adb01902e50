// The part of a run that does not change and that all node executors need.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "agent_graph/json_fwd.h"
#include "base/clock.h"
#include "base/id_generator.h"
#include "base/status.h"
#include "graph/compiled_graph.h"
#include "run/runner.h"
#include "runtime/cancellation.h"

namespace agent_graph::run {

class RemoteToolSet;

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
