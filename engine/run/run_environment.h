// The part of a run that does not change and that all node executors need.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "agent_graph/message.h"
#include "agent_graph/run_context.h"
#include "base/clock.h"
#include "base/id_generator.h"
#include "base/named_durations.h"
#include "base/status.h"
#include "graph/compiled_graph.h"
#include "runtime/cancellation.h"
#include "state/types.h"

namespace agent_graph::runtime {
class Runtime;
}
namespace agent_graph::models {
class ModelProvider;
struct CallOptions;
}  // namespace agent_graph::models
namespace agent_graph::tools {
class Catalog;
}
namespace agent_graph::memory {
class MemoryStore;
}

namespace agent_graph::run {

class HandOver;
class RemoteToolSet;
class RunMeter;
class WindowCache;
struct RunEnvironment;
struct RunRecord;

// Limit on what a run may hold of its thread, in bytes of JSON: window, state and what nodes add.
inline constexpr size_t kRunBytesMax = 64 * 1024 * 1024;

// Returns the provider of a configured model; null if there is none with that name. A provider
// outlives every run. Thread-safe.
using ModelLookup = std::function<models::ModelProvider*(const std::string& name)>;
// Returns the cost of tokens of a configured model, in billionths of a USD; nullopt: it has no
// price.
using CostFunction = std::function<std::optional<int64_t>(
    const std::string& model, int64_t input_tokens, int64_t output_tokens)>;
// Generates the name of a new thread from the texts of its first run. May block and throw.
using ThreadNamer = std::function<std::string(const std::vector<std::string>& texts)>;
// Writes a line to the operator's log. Called from any thread.
using LogFunction = std::function<void(LogLevel level, const std::string& line)>;

inline constexpr std::string_view kFileGoneReason = "FILE_GONE";  // of a run that lacks a file

// Adds the contents of referenced files to the messages that a model receives. Call on a fiber,
// which may be suspended. Keep the returned object until the model call has ended. kGraph, with a
// text that begins with kFileGoneReason: a file of RunEnvironment::request_files is not there.
using FileLoader = std::function<Result<std::shared_ptr<void>>(const RunEnvironment& environment,
                                                               std::vector<Message>& messages)>;

// Called once for each run that started, on its fiber. It must neither block nor throw.
using RunListener = std::function<void(RunRecord&& record)>;

// The services that a worker provides to all of its runs. Pointers must stay valid as long as there
// are runs.
struct RunServices {
  ModelLookup find_model;                   // required by graphs that call a model
  CostFunction cost_of;                     // may be empty: then no model has a price
  memory::MemoryStore* memories = nullptr;  // for functions and tools; null: none
  tools::Catalog* catalog = nullptr;        // the graph's HTTP tools and MCP servers
  // Checks the tokens of a user before a model call, and charges them after it. Both or none.
  std::function<Status(const std::string& user_id)> check_tokens;
  std::function<void(const std::string& user_id, int64_t tokens)> charge_tokens;
  FileLoader load_files;    // may be empty: models then receive only the names of files
  LogFunction log;          // may be empty
  ThreadNamer name_thread;  // may be empty: threads then have no names
  RunListener on_finished;  // may be empty
  NamedDurations* tool_calls = nullptr;  // counts the calls of tools; may be null
  // Counts tool calls whose effect is unknown because their worker died; may be null.
  std::atomic<uint64_t>* unknown_effects = nullptr;
  // Generates the ids of threads and messages.
  std::shared_ptr<const IdGenerator> ids = std::make_shared<const IdGenerator>();
  // Send the texts of user code's exceptions to the client, and not only to the log.
  bool show_exception_text = true;
  size_t run_bytes_max = kRunBytesMax;
  // A call that may have taken effect before its worker died pauses the run: the client decides.
  // False: the model gets a failed result.
  bool ask_about_lost_calls = false;
  WindowCache* windows = nullptr;  // null: each run loads its window
};

// Immutable and shared, so that an abandoned user function never outlives what it uses.
struct RunEnvironment {
  std::shared_ptr<const RunServices> services = std::make_shared<const RunServices>();
  std::shared_ptr<const graph::CompiledGraph> graph;
  runtime::Runtime* runtime = nullptr;
  std::shared_ptr<const RemoteToolSet> remote_tools;  // null: none

  std::string thread_id;
  std::string run_id;
  state::Scope scope;
  std::string user_id;                 // empty: no user
  std::shared_ptr<const json> user;    // an object
  std::shared_ptr<const json> config;  // an object, including `user`
  runtime::Cancellation cancellation;
  Deadline deadline = kNoDeadline;
  std::shared_ptr<RunMeter> meter;                          // null: the run has no budget
  std::shared_ptr<const models::CallOptions> call_options;  // null: none
  // The client's demand for a tool call was already passed to a model, which has replied.
  std::shared_ptr<std::atomic<bool>> tool_was_forced = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<HandOver> hand_over;  // null: another worker cannot continue the run
  // Ids of the files in an accepted run's request. The run fails if one of them is gone when a
  // model is to see it.
  std::vector<std::string> request_files;

  // Null if there is no model of that name.
  models::ModelProvider* FindModel(const std::string& name) const;
  // Returns the earlier of now + `timeout` and the run's deadline.
  Deadline DeadlineOf(std::chrono::milliseconds timeout) const;
  // Logs a line for the operator, with the ids of run and node. Thread-safe.
  void Log(LogLevel level, std::string_view node, std::string_view text) const;
};

using RunEnvironmentPtr = std::shared_ptr<const RunEnvironment>;

}  // namespace agent_graph::run
