#include "run/runner.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/ids.h"
#include "base/json.h"
#include "run/initial_state.h"
#include "run/run_environment.h"
#include "run/run_loop.h"
#include "state/service.h"

namespace agent_graph::run {
namespace {

using nlohmann::json;

Result<json> ParseObject(const std::string& text, const std::string& name) {
  AG_ASSIGN_OR_RETURN(json value, ParseJson(text));
  if (!value.is_object()) {
    return Status(StatusCode::kInvalidArgument, name + ": must be an object");
  }
  return value;
}

state::BeginRun BeginOf(const RunRequest& request, const RunEnvironment& environment,
                        const Runner::Options& options) {
  state::BeginRun begin;
  begin.scope = request.scope;
  begin.thread_id = environment.thread_id;
  begin.user_id = request.user_id;
  begin.creation_id = NewHexId();
  begin.run_id = environment.run_id;
  begin.graph_name = environment.graph->name();
  begin.graph_hash = environment.graph->hash();
  begin.window_max = options.window_max;
  begin.enqueue_if_busy = options.enqueue_if_busy;
  begin.queue_max = options.queue_max;
  auto wait_max = options.busy_wait_max;
  if (request.deadline != kNoDeadline) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(request.deadline -
                                                                      MonotonicClock::now());
    wait_max = std::clamp(left, std::chrono::milliseconds(0), wait_max);
  }
  begin.wait_ms_max = wait_max.count();
  return begin;
}

// Without a checkpointer each run has a thread of its own, which nobody will see again.
state::BeginRunReply BeginUnstored(const RunEnvironment& environment) {
  state::BeginRunReply reply;
  reply.created = true;
  reply.state.record.thread_id = environment.thread_id;
  return reply;
}

}  // namespace

Runner::Runner(std::shared_ptr<const graph::CompiledGraph> graph, state::Service* state,
               runtime::Runtime& runtime, Options options)
    : graph_(std::move(graph)), state_(state), runtime_(runtime), options_(std::move(options)) {}

Result<RunEnvironmentPtr> Runner::MakeEnvironment(const RunRequest& request,
                                                  const runtime::Cancellation& cancellation) const {
  AG_ASSIGN_OR_RETURN(json user, ParseObject(request.user_json, "config.user"));
  AG_ASSIGN_OR_RETURN(json config, ParseObject(request.config_json, "config"));
  config["user"] = user;

  auto environment = std::make_shared<RunEnvironment>();
  environment->graph = graph_;
  environment->runtime = &runtime_;
  environment->find_model = options_.find_model;
  environment->catalog = options_.catalog;
  environment->log = options_.log;
  environment->show_exception_text = options_.show_exception_text;
  environment->thread_id = request.thread_id.empty() ? NewUuid() : request.thread_id;
  environment->run_id = request.run_id.empty() ? NewUuid() : request.run_id;
  environment->user = std::make_shared<const json>(std::move(user));
  environment->config = std::make_shared<const json>(std::move(config));
  environment->cancellation = cancellation;
  environment->deadline = request.deadline;
  return RunEnvironmentPtr(std::move(environment));
}

Result<Runner::BegunRun> Runner::Begin(const RunRequest& request,
                                       const runtime::Cancellation& cancellation) {
  BegunRun begun;
  AG_ASSIGN_OR_RETURN(begun.environment, MakeEnvironment(request, cancellation));
  if (state_ == nullptr) {
    begun.reply = BeginUnstored(*begun.environment);
  } else {
    AG_ASSIGN_OR_RETURN(
        begun.reply, state_->Begin(BeginOf(request, *begun.environment, options_), &cancellation));
  }
  return begun;
}

Result<RunOutcome> Runner::Execute(const RunRequest& request,
                                   const runtime::Cancellation& cancellation, RunSink& sink) {
  if (request.messages.empty()) {
    return Status(StatusCode::kInvalidArgument, "messages: must not be empty");
  }
  AG_ASSIGN_OR_RETURN(InitialState initial, ParseInitialState(request.initial_state_json));
  AG_ASSIGN_OR_RETURN(BegunRun begun, Begin(request, cancellation));
  // From here on the thread's lease is ours, and the loop releases it.
  RunLoop loop(std::move(begun.environment), request, state_, begun.reply, sink);
  return loop.Execute(begun.reply.state, initial);
}

}  // namespace agent_graph::run
