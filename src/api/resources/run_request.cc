#include "api/resources/run_request.h"

#include <algorithm>
#include <optional>

#include "agent_graph/json.h"
#include "api/http/body_config.h"
#include "api/http/errors.h"
#include "api/resources/file_references.h"
#include "api/resources/message_input.h"
#include "api/resources/request_shapes.h"
#include "api/resources/tool_decisions.h"
#include "base/json.h"
#include "base/text.h"
#include "graph/compiled_graph.h"
#include "run/host/direct_sink.h"
#include "run/host/run_host.h"
#include "run/loop/runner.h"

namespace agent_graph::api {
namespace {

constexpr size_t kRunIdBytesMax = 128;
constexpr std::string_view kAnonymousUser = "anonymous";

// Returns the thread id; empty if it is absent or blank: the run then creates a thread.
std::string ThreadIdOf(const json& config) {
  const json* member = FindMember(config, "thread_id");
  std::string thread_id = member != nullptr ? ThreadIdText(*member).value_or("") : "";
  return IsBlank(thread_id) ? "" : thread_id;
}

// Reads the run id that a client may choose. One that cannot be used is ignored.
std::string ReadRunId(const json& config) {
  const json* member = FindMember(config, "run_id");
  if (member == nullptr || !member->is_string()) return "";
  const std::string& run_id = member->get_ref<const std::string&>();
  return IsUsableRunId(run_id) ? run_id : "";
}

std::vector<std::string> InitialContextPath() {
  return {"body", "initial_state", "context"};
}

void ReadInitialState(const json& initial, const MessageLimits& limits, run::RunRequest& run,
                      Problems& problems) {
  json fields = json::object();
  for (const auto& [key, value] : initial.items()) {
    if (key != "context") {
      fields[key] = value;
    } else if (!value.is_null()) {
      run.initial_context = ReadMessageArray(value, InitialContextPath(), limits, problems);
    }
  }
  run.initial_state = std::make_shared<const json>(std::move(fields));
}

}  // namespace

// A stopped run has no error, so it counts as cancelled; a run that has begun never counts as
// rejected.
std::string CountedAs(const run::RunOutcome& outcome, runtime::CancelReason reason) {
  if (outcome.status != run::RunStatus::kError && outcome.status != run::RunStatus::kStopped)
    return "ok";
  const ErrorInfo error = outcome.status == run::RunStatus::kError
                              ? ErrorOf(outcome.error)
                              : ErrorInfo{ApiError::kCancelled, "", {}};
  std::string name = OutcomeOf(error, reason);
  return name == "rejected" ? "error" : name;
}

bool IsUsableRunId(std::string_view run_id) {
  return !run_id.empty() && run_id.size() <= kRunIdBytesMax && !HasDotComponent(run_id) &&
         std::ranges::all_of(run_id, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.' || c == ':';
         });
}

void CheckBudget(const HandlerContext& context, const json& config,
                 std::vector<std::string> config_path, Problems& problems) {
  const json* budget = FindMember(config, kBudget.name);
  if (budget == nullptr || !budget->is_object()) return;
  std::vector<std::string> path = std::move(config_path);
  path.insert(path.end(), {std::string(kBudget.name), ""});
  for (const auto& [name, value] : budget->items()) {
    path.back() = name;
    if (std::ranges::find(kBudgetFields, name, &Field::name) == kBudgetFields.end()) {
      problems.Add(path, "is not a limit of a budget", ProblemType::kValue);
    }
  }
  if (FindMember(*budget, "cost_usd") == nullptr) return;
  path.back() = "cost_usd";
  for (const graph::ModelUse& use : context.api().graph->ModelUses()) {
    if (context.api().settings->PriceOf(use.model)) continue;
    problems.Add(path,
                 "needs models.<name>.price in service.json, and model \"" + use.model + "\" of " +
                     use.asker + " has none",
                 ProblemType::kValue);
    return;
  }
}

std::shared_ptr<const json> GraphConfig(const json* config, const Caller& caller) {
  json seen = ClientConfig(config);
  seen["user_id"] = caller.user_id.empty() ? std::string(kAnonymousUser) : caller.user_id;
  return std::make_shared<const json>(std::move(seen));
}

run::RunRequest RunRequestOf(const HandlerContext& context) {
  run::RunRequest run;
  run.scope = context.caller().scope;
  run.user_id = context.caller().user_id;
  run.user = context.caller().user;
  run.action = auth::NameOf(context.route().permission.action);
  run.trace_parent = context.head().Header("traceparent");
  run.cancelled_after = std::chrono::milliseconds(context.head().run_timeout_ms);
  return run;
}

GraphRequest ReadGraphRequest(const HandlerContext& context, Problems& problems,
                              const std::string& messages_key) {
  const json& body = context.body();
  GraphRequest request;
  run::RunRequest& run = request.run;
  run = RunRequestOf(context);
  run.tool_decisions = ReadToolDecisions(body, problems);
  const bool needs_messages =
      run.tool_decisions.empty() || FindMember(body, messages_key) != nullptr;
  if (needs_messages) {
    run.messages = ReadMessages(body, messages_key, MessageLimitsOf(context), problems);
  }
  const json* config = FindMember(body, "config");
  if (config != nullptr) {
    run.thread_id = ThreadIdOf(*config);
    run.run_id = ReadRunId(*config);
    if (FindMember(*config, kOnBusy.name) != nullptr) {
      run.on_busy = static_cast<run::BusyPolicy>(ChoiceOf(*config, kOnBusy));
    }
    CheckBudget(context, *config, {"body", "config"}, problems);
  }
  run.config = GraphConfig(config, context.caller());
  if (!run.tool_decisions.empty() && run.thread_id.empty()) {
    problems.Add({"body", "config", "thread_id"}, "is required for tool_decisions",
                 ProblemType::kMissing);
  }
  if (const json* initial = FindMember(body, "initial_state")) {
    ReadInitialState(*initial, MessageLimitsOf(context), run, problems);
  }
  run.recursion_limit = static_cast<int>(IntegerOf(body, kRecursionLimit));
  request.granularity = static_cast<Granularity>(ChoiceOf(body, kResponseGranularity));
  return request;
}

std::optional<ErrorInfo> ResolveFiles(HandlerContext& context, GraphRequest& request) {
  run::RunRequest& run = request.run;
  // The messages of a run are new, even if the thread has messages with the same ids.
  if (auto error = ResolveFiles(context, {"body", "messages"}, "", run.messages)) return error;
  if (run.initial_context.empty()) return std::nullopt;
  return ResolveFiles(context, InitialContextPath(), run.thread_id, run.initial_context);
}

Result<run::RunOutcome> RunGraph(HandlerContext& context, run::RunRequest&& request,
                                 const runtime::Cancellation& cancellation, run::RunSink& sink) {
  // Frees the parsed body before a run that may be long. The run counts its own memory.
  context.SetBody(json::object(), 0);
  run::RunHost* const host = context.api().host;
  std::optional<run::DirectSink> shown;  // to those that follow the run
  if (host != nullptr && !request.transient) shown.emplace(sink, host->local());
  run::RunSink& receiver = shown ? static_cast<run::RunSink&>(*shown) : sink;
  Result<run::RunOutcome> outcome =
      context.api().runner->Execute(std::move(request), cancellation, receiver);
  if (outcome.ok()) context.exchange().CountRun(CountedAs(*outcome, cancellation.reason()));
  return outcome;
}

}  // namespace agent_graph::api
