#include "run/loop/runner.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "agent_graph/json.h"
#include "base/clock.h"
#include "base/ids.h"
#include "graph/compiled_graph.h"
#include "run/context/client_results.h"
#include "run/context/execution_meta.h"
#include "run/context/initial_state.h"
#include "run/context/open_inputs.h"
#include "run/context/run_meter.h"
#include "run/loop/run_loop.h"
#include "run/nodes/remote_tools.h"
#include "run/run_environment.h"
#include "state/requests.h"
#include "state/service.h"

namespace agent_graph::run {
namespace {

constexpr int kThreadIdAttemptsMax = 8;

using JsonPtr = std::shared_ptr<const json>;

Result<JsonPtr> ObjectOf(const JsonPtr& value, const std::string& name) {
  if (value == nullptr) return std::make_shared<const json>(json::object());
  if (value->is_object()) return value;
  return Status(StatusCode::kInvalidArgument, name + ": must be an object");
}

state::BeginRunRequest BeginOf(const RunRequest& request, const RunEnvironment& environment,
                               const Runner::Options& options) {
  state::BeginRunRequest begin;
  begin.scope = request.scope;
  begin.thread_id = environment.thread_id;
  begin.user_id = request.user_id;
  begin.creation_id = NewHexId();
  begin.run_id = environment.run_id;
  begin.graph_name = environment.graph->name();
  begin.graph_hash = environment.graph->hash();
  begin.window_max = options.window_max;
  begin.new_thread_only = request.thread_id.empty();
  SetBusyPolicy(request, options.enqueue_if_busy, begin);
  begin.queue_max = options.queue_max;
  auto wait_max = options.busy_wait_max;
  if (request.deadline != kNoDeadline) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(request.deadline -
                                                                      MonotonicClock::now());
    wait_max = std::clamp(left, std::chrono::milliseconds(0), wait_max);
  }
  begin.wait_ms_max = wait_max.count();
  begin.run_ms_max = request.cancelled_after.count();
  begin.granted = request.accepted.has_value();
  if (request.accepted) begin.granted_epoch = request.accepted->lease_epoch;
  return begin;
}

std::vector<std::string> FilesOf(const RunRequest& request) {
  std::vector<std::string> files;
  for (const auto* messages : {&request.messages, &request.initial_context}) {
    for (const Message& message : *messages) {
      for (const ContentBlock& block : message.content) {
        const auto* media = std::get_if<MediaBlock>(&block);
        if (media == nullptr || media->media.kind != MediaReference::Kind::kFileId) continue;
        files.push_back(media->media.file_id);
      }
    }
  }
  return files;
}

// Without a checkpointer each run has a new thread, which no later run can use. The thread of a
// transient run is not shown to the client, so it needs no name.
state::BeginRunReply BeginUnstored(const RunRequest& request, const RunEnvironment& environment) {
  state::BeginRunReply reply;
  reply.created = !request.transient;
  reply.state.record.thread_id = environment.thread_id;
  return reply;
}

// Returns the open questions of a paused thread.
OpenInputs InputsOf(const state::ThreadState& state) {
  const std::string& text = state.snapshot.execution_json;
  if (text.find("\"inputs\"") == std::string::npos) return {};
  return OpenInputs::FromJson(ExecutionMeta::FromJson(text).inputs_json);
}

}  // namespace

Runner::Runner(std::shared_ptr<const graph::CompiledGraph> graph, state::Service* state,
               runtime::Runtime& runtime, Options options)
    : graph_(std::move(graph)),
      state_(state),
      runtime_(runtime),
      options_(std::move(options)),
      services_(std::make_shared<const RunServices>(options_.services)) {}

// Retries with a new id: a generated id may already be used by a client or another machine.
Result<state::BeginRunReply> Runner::Lease(const RunRequest& request, RunEnvironment& environment,
                                           const runtime::Cancellation& cancellation,
                                           std::optional<uint64_t> reply_bytes_max,
                                           const std::optional<state::KnownWindow>& known_window) {
  Status taken;
  for (int attempt = 0; attempt < kThreadIdAttemptsMax; ++attempt) {
    environment.thread_id =
        request.thread_id.empty() ? environment.services->ids->Next() : request.thread_id;
    if (StateFor(request) == nullptr) return BeginUnstored(request, environment);
    state::BeginRunRequest begin = BeginOf(request, environment, options_);
    begin.reply_bytes_max = reply_bytes_max;
    begin.known_window = known_window;
    Result<state::BeginRunReply> begun = state_->BeginRun(begin, &cancellation);
    if (begun.ok() || begun.status().code() != StatusCode::kConflict) return begun;
    if (!request.thread_id.empty()) return begun;  // a run with that id is in flight on the thread
    taken = begun.status();
  }
  return taken;
}

Result<std::shared_ptr<RunEnvironment>> Runner::MakeEnvironment(
    const RunRequest& request, const runtime::Cancellation& cancellation) const {
  AG_ASSIGN_OR_RETURN(JsonPtr user, ObjectOf(request.user, "config.user"));
  AG_ASSIGN_OR_RETURN(const JsonPtr client_config, ObjectOf(request.config, "config"));
  json config = *client_config;
  config["user"] = *user;

  auto environment = std::make_shared<RunEnvironment>();
  environment->services = services_;
  environment->graph = graph_;
  environment->runtime = &runtime_;
  environment->scope = request.scope;
  environment->user_id = request.user_id;
  environment->run_id = request.run_id.empty() ? NewUuid() : request.run_id;
  environment->user = std::move(user);
  environment->config = std::make_shared<const json>(std::move(config));
  environment->cancellation = cancellation;
  environment->deadline = request.deadline;
  environment->call_options = request.call_options;
  if (request.accepted) {
    environment->hand_over = request.accepted->hand_over;
    environment->request_files = FilesOf(request);
  }
  if (request.client_tools) {
    environment->remote_tools = ClientToolSet(*graph_, *request.client_tools);
  }
  return environment;
}

// Runs `work` with the thread leased; whatever fails, the lease is released.
template <typename Work>
auto Runner::WhileLeased(const RunRequest& request, const BegunRun& begun, Work work)
    -> decltype(work()) {
  std::string fault;
  try {
    return work();
  } catch (const std::exception& exception) {
    fault = exception.what();
  } catch (...) {
    fault = "an exception of another kind";
  }
  // Outside of the exception handler: a fiber that is suspended there would keep the exception.
  return FailLeased(request, begun, std::move(fault));
}

[[gnu::noinline]] Status Runner::FailLeased(const RunRequest& request, const BegunRun& begun,
                                            std::string fault) const {
  const Status failure =
      Status(StatusCode::kInternal, "the run failed").WithDetail(std::move(fault));
  begun.environment->Log(LogLevel::kError, "", failure.ToString());
  Abandon(request, begun, failure);
  return failure;
}

Result<Runner::BegunRun> Runner::Begin(const RunRequest& request,
                                       const runtime::Cancellation& cancellation,
                                       const AwaitMemory& await_memory) {
  BegunRun begun;
  AG_RETURN_IF_ERROR(BeginUpTo(kReplyBytesMax, request, cancellation, begun));
  const auto load = [&] { return LoadOmitted(request, begun, await_memory); };
  AG_RETURN_IF_ERROR(WhileLeased(request, begun, load));
  return begun;
}

Status Runner::BeginUpTo(uint64_t reply_bytes_max, const RunRequest& request,
                         const runtime::Cancellation& cancellation, BegunRun& begun,
                         const std::optional<state::KnownWindow>& known_window) {
  AG_ASSIGN_OR_RETURN(std::shared_ptr<RunEnvironment> environment,
                      MakeEnvironment(request, cancellation));
  AG_ASSIGN_OR_RETURN(begun.reply,
                      Lease(request, *environment, cancellation, reply_bytes_max, known_window));
  // The run begins when it has its turn, however long it has waited for it.
  environment->meter = StartMeter(*environment->config);
  begun.environment = environment;
  if (options_.remote_tools == nullptr || request.client_tools) return Status::Ok();
  const auto find_tools = [&]() -> Status {
    environment->remote_tools = options_.remote_tools->AsOf(begun.reply.remote_tools_version);
    return Status::Ok();
  };
  return WhileLeased(request, begun, find_tools);
}

struct Runner::Opening {
  InitialState initial;
  BegunRun begun;
  std::vector<Message> window;  // the messages of the state's window, if they are decoded
  OpenInputs inputs;            // the thread's questions, and new answers
};

Status Runner::CheckRequest(const RunRequest& request, Opening& opening) const {
  if (request.messages.empty() && request.tool_decisions.empty()) {
    return Status(StatusCode::kInvalidArgument, "messages: must not be empty");
  }
  if (graph_->live_root() != nullptr) {
    return Status(StatusCode::kInvalidArgument, "the graph is live: use /v1/graph/live");
  }
  AG_ASSIGN_OR_RETURN(opening.initial, ReadInitialState(request.initial_state));
  return CheckResults(request);
}

// Not inlined, so that its stack frame is gone while the run executes.
[[gnu::noinline]] Result<std::unique_ptr<Runner::Opening>> Runner::Open(
    RunRequest& request, const runtime::Cancellation& cancellation, RunSink& sink) {
  auto opening = std::make_unique<Opening>();
  if (Status status = CheckRequest(request, *opening); !status.ok()) {
    // An accepted run holds its lease already.
    if (request.accepted) AG_RETURN_IF_ERROR(EndUnexecuted(request, cancellation, status));
    return status;
  }
  const std::optional<state::KnownWindow> known = KnownWindowOf(request);
  BegunRun& begun = opening->begun;
  if (Status status = BeginUpTo(kReplyBytesMax, request, cancellation, begun, known);
      !status.ok()) {
    const bool is_damaged = request.accepted && status.code() == StatusCode::kDataLoss;
    if (is_damaged) AG_RETURN_IF_ERROR(EndUnread(request, cancellation, status));
    return status;
  }
  const auto await_memory = [&](uint64_t bytes) { return sink.AwaitMemory(bytes); };
  const auto load = [&]() -> Status {
    if (begun.reply.window_is_partial) {
      AG_RETURN_IF_ERROR(TakeKeptWindow(request, begun, opening->window, await_memory));
    }
    return LoadOmitted(request, begun, await_memory);
  };
  AG_RETURN_IF_ERROR(WhileLeased(request, begun, load));
  AG_RETURN_IF_ERROR(WhileLeased(request, begun, [&] { return TakeResults(request, *opening); }));
  return opening;
}

// Matches the results and answers in the request with the calls that wait for them.
Status Runner::TakeResults(RunRequest& request, Opening& opening) const {
  const bool continues = request.accepted && request.accepted->continues();
  const state::ThreadState& thread = opening.begun.reply.state;
  if (continues) RemoveLoaded(request, thread);
  const bool brings_results = BringResults(request.messages);
  opening.inputs = InputsOf(thread);
  AG_RETURN_IF_ERROR(TakeDecisions(request, opening));
  if (!brings_results) return Status::Ok();
  if (IsRepeated(thread, request.messages)) return Status::Ok();
  Status status = MatchResults(thread.window, request.messages, opening.inputs);
  if (status.ok()) return status;
  if (continues) {
    // Answers that an earlier attempt has used: they are not stored as messages.
    std::erase_if(request.messages, [](const Message& message) { return BringResults({message}); });
    return Status::Ok();
  }
  Abandon(request, opening.begun, status);
  return status;
}

// An attempt that continues a run has used decisions of the request already: its calls are settled
// by the log.
Status Runner::TakeDecisions(const RunRequest& request, Opening& opening) const {
  Status taken = opening.inputs.TakeDecisions(request.tool_decisions);
  if (taken.ok() || (request.accepted && request.accepted->continues())) return Status::Ok();
  Abandon(request, opening.begun, taken);
  return taken;
}

// Removes the messages that the window has: an earlier attempt has stored them. RunLoop finds those
// that it has stored elsewhere.
void Runner::RemoveLoaded(RunRequest& request, const state::ThreadState& thread) {
  std::unordered_set<std::string_view> loaded;
  for (const state::StoredMessage& one : thread.window) loaded.insert(one.id);
  const auto is_loaded = [&](const Message& message) {
    return message.id.empty() || loaded.contains(message.id);
  };
  std::erase_if(request.messages, is_loaded);
  std::erase_if(request.initial_context, is_loaded);
}

Result<RunOutcome> Runner::Execute(RunRequest&& request, const runtime::Cancellation& cancellation,
                                   RunSink& sink) {
  Result<std::unique_ptr<Opening>> opened = Open(request, cancellation, sink);
  if (!opened.ok()) return opened.status();
  Opening& opening = **opened;
  // From here on this run holds the thread's lease, and the loop releases it.
  return WhileLeased(request, opening.begun, [&]() -> Result<RunOutcome> {
    const std::unique_ptr<RunLoop> loop = MakeLoop(request, opening, sink);
    return loop->Execute(std::move(opening.begun.reply.state), std::move(opening.window),
                         std::move(opening.initial));
  });
}

[[gnu::noinline]] std::unique_ptr<RunLoop> Runner::MakeLoop(RunRequest& request, Opening& opening,
                                                            RunSink& sink) const {
  const BegunRun& begun = opening.begun;
  return std::make_unique<RunLoop>(begun.environment, request, StateFor(request), begun.reply,
                                   std::move(opening.inputs), sink);
}

// Called before a thread is created: in a new thread no call waits for a result. The text is the
// same if no thread of the caller waits for the result and if several do, and reveals no other
// threads.
Status Runner::CheckResults(const RunRequest& request) const {
  if (request.accepted || !BringResults(request.messages)) return Status::Ok();
  if (state_ != nullptr && !request.thread_id.empty()) {
    const Status found = state_->GetThread(request.scope, request.thread_id).status();
    if (found.code() != StatusCode::kNotFound) return Status::Ok();
  }
  std::vector<Message> messages = request.messages;
  OpenInputs none;
  Status matched = MatchResults({}, messages, none);
  if (matched.ok() || !request.thread_id.empty()) return matched;
  return Status(
      matched.code(),
      "config.thread_id: must name the thread that waits for the result, because no thread "
      "or more than one does; in a new thread, " +
          matched.message());
}

}  // namespace agent_graph::run
