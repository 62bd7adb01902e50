// Tables of the bodies and query parameters of all routes. The route table refers to them, dispatch
// checks requests against them, and the OpenAPI document describes them.
#pragma once

#include <array>
#include <span>

#include "api/http/fields.h"

namespace agent_graph::api {

inline constexpr std::array<std::string_view, 3> kGranularities = {"low", "partial", "full"};
inline constexpr std::array<std::string_view, 2> kInvokeTypes = {"fresh", "resume"};

inline constexpr Field kRecursionLimit{.name = "recursion_limit",
                                       .type = FieldType::kInteger,
                                       .description = "Nodes that the run may execute",
                                       .minimum = 1,
                                       .maximum = 100,
                                       .fallback = 25,
                                       .has_fallback = true};
inline constexpr Field kResponseGranularity{
    .name = "response_granularity",
    .type = FieldType::kChoice,
    .description =
        "low: messages; partial: the state, too; full: its summary and snapshots as well",
    .fallback = 0,
    .has_fallback = true,
    .choices = kGranularities};
inline constexpr std::array<std::string_view, 2> kDisconnects = {"cancel", "continue"};
inline constexpr Field kOnDisconnect{
    .name = "on_disconnect",
    .type = FieldType::kChoice,
    .description =
        "continue: the run goes on without its connection, also after the loss of its "
        "worker. Default: cancel; continue with an Idempotency-Key",
    .choices = kDisconnects};
// In the order of run::BusyPolicy.
inline constexpr std::array<std::string_view, 3> kBusyPolicies = {"enqueue", "reject", "interrupt"};
inline constexpr Field kOnBusy{
    .name = "on_busy",
    .type = FieldType::kChoice,
    .description =
        "If the thread has a run in flight. enqueue: wait for it; reject: 409; interrupt: stop it, "
        "keep what it did, and run next. Default: the service's `busy_thread`",
    .choices = kBusyPolicies};
inline constexpr std::array kBudgetFields = {
    Field{.name = "tokens",
          .type = FieldType::kInteger,
          .description = "Input and output tokens of all model calls",
          .minimum = 1},
    Field{.name = "cost_usd",
          .type = FieldType::kNumber,
          .description = "Cost of all model calls; each model of the graph needs a `price`",
          .minimum = 0,
          .above_minimum = true},
    Field{.name = "seconds",
          .type = FieldType::kInteger,
          .description = "Time since the run began",
          .minimum = 1},
    Field{.name = "model_calls",
          .type = FieldType::kInteger,
          .description = "Calls of models",
          .minimum = 1},
    Field{.name = "tool_calls",
          .type = FieldType::kInteger,
          .description = "Calls of tools, also of those that the client executes",
          .minimum = 1},
};
inline constexpr Field kBudget{
    .name = "budget",
    .type = FieldType::kObject,
    .description = "What the run may use. Beyond that it ends as error with BUDGET_EXCEEDED",
    .members = kBudgetFields};
// In the order of run::ToolDecision::Action.
inline constexpr std::array<std::string_view, 3> kToolActions = {"retry", "skip", "result"};
inline constexpr Field kToolAction{
    .name = "action",
    .type = FieldType::kChoice,
    .description =
        "retry: call the tool again; skip: tell the model that the effect is unknown; "
        "result: give the model `result`",
    .required = true,
    .choices = kToolActions};
inline constexpr std::array kToolDecisionFields = {
    Field{.name = "call_id",
          .type = FieldType::kText,
          .description = "A call of `interrupt.data.undecided_tool_calls`",
          .required = true,
          .not_blank = true},
    kToolAction,
    Field{.name = "result", .description = "The tool's output, for the action `result`"},
};
inline constexpr Field kToolDecision{
    .type = FieldType::kObject, .required = true, .members = kToolDecisionFields};
inline constexpr Field kToolDecisions{
    .name = "tool_decisions",
    .type = FieldType::kArray,
    .description =
        "Decisions about tool calls that may have taken effect, see "
        "`recovery.unknown_effects`; needs `config.thread_id`, and no messages",
    .not_null = true,
    .minimum = 1,
    .entry = &kToolDecision};
inline constexpr Field kInvokeType{
    .name = "invoke_type",
    .type = FieldType::kChoice,
    .description = "resume: answers the remote tool calls of a thread",
    .fallback = 0,
    .has_fallback = true,
    .choices = kInvokeTypes};

extern const FieldTable kRunBody;   // invoke and stream
extern const FieldTable kRunFrame;  // a frame of /v1/graph/ws
extern const FieldTable kStopBody;
extern const FieldTable kFixBody;
extern const FieldTable kSetupBody;
extern const FieldTable kConfigBody;  // only a config
extern const FieldTable kStateBody;
extern const FieldTable kMessagesBody;

// Query of a list; ReadPage reads it.
extern const FieldTable kPageQuery;
extern const FieldTable kTraceQuery;

}  // namespace agent_graph::api
