#include "api/resources/request_shapes.h"

namespace agent_graph::api {
namespace {

using enum FieldType;

constexpr Field kConfig{.name = "config",
                        .type = kObject,
                        .description =
                            "Handed to graph and store; `user`, `user_id`, `authz` and "
                            "names that begin with an underscore are the server's"};

constexpr Field kRequiredThread{.name = "thread_id",
                                .type = kThreadId,
                                .description = "A conversation thread",
                                .required = true,
                                .not_blank = true};

constexpr std::array kRunConfigFields = {
    Field{.name = "thread_id",
          .type = kThreadId,
          .description = "The conversation thread to go on with; absent or blank: a new one"},
    Field{.name = "run_id", .description = "A name for the run, for logs and traces"},
};

constexpr Field kRunConfig{.name = "config",
                           .type = kObject,
                           .description = kConfig.description,
                           .members = kRunConfigFields};

constexpr Field kInitialState{
    .name = "initial_state", .type = kObject, .description = "Fields of the state to begin with"};

constexpr std::array kRunFields = {
    Field{.name = "messages",
          .type = kMessages,
          .description = "Appended to the thread in this order; the last one is the graph's input",
          .required = true,
          .minimum = 1},
    kRunConfig,
    kInitialState,
    kRecursionLimit,
    kResponseGranularity,
};

constexpr std::array kRunFrameFields = {
    kInvokeType,
    Field{.name = "messages",
          .type = kMessages,
          .description = "Of a fresh run, which must have at least one"},
    Field{.name = "tool_result",
          .type = kMessages,
          .description = "Of a resume, which must have at least one and name its thread"},
    kRunConfig,
    kInitialState,
    kRecursionLimit,
    kResponseGranularity,
};

constexpr std::array kStopConfigFields = {
    Field{.name = "cancel",
          .type = kBoolean,
          .description = "Do not even wait for the node in progress"},
};

constexpr std::array kStopFields = {
    kRequiredThread,
    Field{.name = "run_id",
          .type = kText,
          .description = "Only this run of the thread, whether it is in flight or queued"},
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
    Field{.name = "description", .type = kText, .description = "What the model is told"},
    Field{.name = "parameters", .type = kObject, .description = "JSON Schema of the arguments"},
};

constexpr Field kRemoteTool{.type = kObject, .required = true, .members = kRemoteToolFields};

constexpr std::array kSetupFields = {
    Field{.name = "tools",
          .type = kArray,
          .description = "They replace all remote tools of the nodes that they name",
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
          .description = "Merged into the current state: objects deeply, the rest by replacement; "
                         "null clears a field, `execution_meta` is left alone",
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
          .description = "Text to look for",
          .maximum = static_cast<int64_t>(kSearchBytesMax)},
    Field{.name = "offset",
          .type = kInteger,
          .description = "Entries to pass over",
          .minimum = 0,
          .fallback = 0,
          .has_fallback = true},
    Field{.name = "limit",
          .type = kInteger,
          .description = "Entries to return; more than 1000 are served as 1000",
          .minimum = 1,
          .fallback = static_cast<int64_t>(kPageLimitDefault),
          .has_fallback = true},
    Field{.name = "cursor",
          .type = kText,
          .description =
              "`next_cursor` of the page before, instead of an offset. A search that has "
              "looked at 100,000 entries ends its page, even an empty one, with it"},
};

constexpr std::array kTraceFields = {
    Field{.name = "run_id", .type = kText, .description = "The run to show; absent: the latest"},
};

}  // namespace

const FieldTable kRunBody{"RunRequest", kRunFields};
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
