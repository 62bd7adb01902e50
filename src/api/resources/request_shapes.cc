#include "api/resources/request_shapes.h"

namespace agent_graph::api {
namespace {

using enum FieldType;

constexpr Field kConfig{
    .name = "config",
    .type = kObject,
    .description =
        "Passed to graph and store. The server sets `user`, `user_id`, `authz` and "
        "names that start with an underscore"};

constexpr Field kRequiredThread{.name = "thread_id",
                                .type = kThreadId,
                                .description = "A conversation thread",
                                .required = true,
                                .not_blank = true};

constexpr std::array kRunConfigFields = {
    Field{.name = "thread_id",
          .type = kThreadId,
          .description = "The conversation thread to continue; absent or blank: a new one"},
    Field{.name = "run_id", .description = "Id of the run in logs and traces"},
    kOnDisconnect,
    kOnBusy,
    kBudget,
};

constexpr Field kRunConfig{.name = "config",
                           .type = kObject,
                           .description = kConfig.description,
                           .members = kRunConfigFields};

constexpr Field kInitialState{
    .name = "initial_state", .type = kObject, .description = "Initial fields of the state"};

constexpr std::array kRunFields = {
    Field{.name = "messages",
          .type = kMessages,
          .description = "Appended to the thread in this order; the last one is the graph's input. "
                         "Required without `tool_decisions`",
          .not_null = true,
          .minimum = 1},
    kToolDecisions,
    kRunConfig,
    kInitialState,
    kRecursionLimit,
    kResponseGranularity,
};

constexpr std::array<std::string_view, 2> kRunInputs = {"messages", "tool_decisions"};

constexpr std::array kRunFrameFields = {
    kInvokeType,
    Field{.name = "idempotency_key",
          .type = kText,
          .description = "A second frame with the same key gets the run of the first",
          .not_blank = true,
          .maximum = 255},
    Field{.name = "messages",
          .type = kMessages,
          .description = "Messages of a fresh run; at least one"},
    Field{.name = "tool_result",
          .type = kMessages,
          .description =
              "Tool results of a resume; at least one. A resume also needs `config.thread_id`"},
    kToolDecisions,
    kRunConfig,
    kInitialState,
    kRecursionLimit,
    kResponseGranularity,
};

constexpr std::array kStopConfigFields = {
    Field{.name = "cancel", .type = kBoolean, .description = "Cancel the node in progress, too"},
};

constexpr std::array kStopFields = {
    kRequiredThread,
    Field{.name = "run_id",
          .type = kText,
          .description = "Stop only this run of the thread, in flight or queued"},
    Field{.name = "config",
          .type = kObject,
          .description = kConfig.description,
          .members = kStopConfigFields},
};

constexpr std::array kFixFields = {kRequiredThread, kConfig};

constexpr std::array kRemoteToolFields = {
    Field{.name = "node_name",
          .type = kText,
          .description = "A tool node of the graph",
          .required = true},
    Field{.name = "name",
          .type = kText,
          .description = "1 to 64 letters, digits, _ or -",
          .required = true},
    Field{.name = "description", .type = kText, .description = "Description for the model"},
    Field{.name = "parameters", .type = kObject, .description = "JSON Schema of the arguments"},
};

constexpr Field kRemoteTool{.type = kObject, .required = true, .members = kRemoteToolFields};

constexpr std::array kSetupFields = {
    Field{.name = "tools",
          .type = kArray,
          .description = "Replace all remote tools of the nodes that are named here",
          .required = true,
          .entry = &kRemoteTool},
};

constexpr std::array kConfigFields = {kConfig};

constexpr std::array kStateMembers = {
    Field{.name = "context",
          .type = kMessages,
          .description = "Merged by message id; null clears the context"},
    Field{.name = "context_summary", .type = kText, .description = "null clears it"},
};

constexpr std::array kStateFields = {
    Field{.name = "state",
          .type = kObject,
          .description = "Merged into the current state: objects recursively, other values by "
                         "replacement. null clears a field. `execution_meta` is ignored",
          .required = true,
          .members = kStateMembers},
    kConfig,
};

constexpr std::array kMessagesFields = {
    Field{.name = "messages",
          .type = kMessages,
          .description = "Appended to the thread in this order",
          .required = true,
          .minimum = 1},
    Field{.name = "metadata", .type = kObject, .description = "Merged into the thread's metadata"},
    kConfig,
};

constexpr std::array kPageFields = {
    Field{.name = "search",
          .type = kText,
          .description = "Text to search for",
          .maximum = static_cast<int64_t>(kSearchBytesMax)},
    Field{.name = "offset",
          .type = kInteger,
          .description = "Entries to skip",
          .minimum = 0,
          .fallback = 0,
          .has_fallback = true},
    Field{.name = "limit",
          .type = kInteger,
          .description = "Entries to return; values above 1000 count as 1000",
          .minimum = 1,
          .fallback = static_cast<int64_t>(kPageLimitDefault),
          .has_fallback = true},
    Field{.name = "cursor",
          .type = kText,
          .description =
              "`next_cursor` of the previous page, instead of an offset. A search that "
              "has examined 100,000 entries ends its page with a cursor, even if it is empty"},
};

constexpr std::array kTraceFields = {
    Field{.name = "run_id", .type = kText, .description = "The run to show; absent: the latest"},
};

}  // namespace

const FieldTable kRunBody{"RunRequest", kRunFields, kRunInputs};
const FieldTable kRunFrame{"RunFrame", kRunFrameFields};
const FieldTable kStopBody{"StopRequest", kStopFields};
const FieldTable kFixBody{"FixRequest", kFixFields};
const FieldTable kSetupBody{"SetupRequest", kSetupFields};
const FieldTable kConfigBody{"ConfigRequest", kConfigFields};
const FieldTable kStateBody{"StateRequest", kStateFields};
const FieldTable kMessagesBody{"MessagesRequest", kMessagesFields};

const FieldTable kPageQuery{"Page", kPageFields};
const FieldTable kTraceQuery{"Trace", kTraceFields};

}  // namespace agent_graph::api
