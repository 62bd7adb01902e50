// What stays the same during a run and everything that executes a node needs.
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

// Immutable and shared, so that a user function that was written off never outlives what it uses.
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
  std::shared_ptr<const IdGenerator> ids;  // of threads and messages
  ThreadNamer name_thread;                 // may be empty
  RunListener on_finished;                 // may be empty

  memory::MemoryStore* memories = nullptr;  // null: there is none

  std::string thread_id;
  std::string run_id;
  state::Scope scope;
  std::string user_id;                 // empty: nobody
  std::shared_ptr<const json> user;    // an object
  std::shared_ptr<const json> config;  // an object, `user` included
  runtime::Cancellation cancellation;
  Deadline deadline = kNoDeadline;

  // The earlier of `timeout` from now and the run's deadline.
  Deadline DeadlineOf(std::chrono::milliseconds timeout) const;
  // A line for the operator, marked with run and node.
  void Log(LogLevel level, std::string_view node, std::string_view text) const;
};

using RunEnvironmentPtr = std::shared_ptr<const RunEnvironment>;

}  // namespace agent_graph::run
