#include "facades/agui/agui_shapes.h"

#include <array>
#include <string_view>

#include "api/resources/request_shapes.h"
#include "facades/run/tool_shapes.h"

namespace agent_graph::agui {
namespace {

using api::Field;
using enum api::FieldType;

constexpr std::array<std::string_view, 7> kRoles = {"user",      "assistant", "tool",    "system",
                                                    "developer", "reasoning", "activity"};
constexpr std::array<std::string_view, 2> kResumeStates = {"resolved", "cancelled"};

constexpr std::array kMessageFields = {
    Field{.name = "id", .type = kText, .required = true},
    Field{.name = "role", .type = kChoice, .required = true, .choices = kRoles},
    Field{.name = "content",
          .description =
              "A text; of users and of tools also parts of the types text, image, audio, video and "
              "document"},
    Field{.name = "name", .type = kText},
    Field{.name = "metadata", .type = kObject, .description = "Kept with messages of users"},
    Field{.name = "toolCalls",
          .type = kArray,
          .description = "Of the assistant: the calls that `tool` messages answer",
          .entry = &facades::kCall},
    Field{.name = "toolCallId", .type = kText, .description = "Of a tool message: its call"},
    Field{.name = "error", .type = kText, .description = "Of a tool message: why the call failed"},
    Field{.name = "encryptedValue",
          .type = kText,
          .description = "Of a reasoning message: what the model's provider wants back"},
};
constexpr Field kMessage{.type = kObject, .required = true, .members = kMessageFields};

constexpr Field kTool{.type = kObject, .required = true, .members = facades::kToolFields};

constexpr std::array kContextFields = {
    Field{.name = "description", .type = kText, .required = true},
    Field{.name = "value", .type = kText, .required = true},
};
constexpr Field kContext{.type = kObject, .required = true, .members = kContextFields};

constexpr std::array kResumeFields = {
    Field{.name = "interruptId", .type = kText, .required = true, .not_blank = true},
    Field{.name = "status", .type = kChoice, .required = true, .choices = kResumeStates},
    Field{.name = "payload", .description = "The answer, as the interrupt's responseSchema says"},
};
constexpr Field kResume{.type = kObject, .required = true, .members = kResumeFields};

constexpr std::array kInputFields = {
    Field{.name = "threadId",
          .type = kThreadId,
          .description = "The thread that keeps the conversation; a new one is created",
          .required = true,
          .not_blank = true},
    Field{.name = "runId",
          .type = kText,
          .description = "Id of the run: letters, digits and - _ . :",
          .required = true,
          .not_blank = true,
          .maximum = 128},
    Field{.name = "protocolVersion",
          .type = kText,
          .description = "Absent: a client from before 1.0, which gets no outcome `cancelled` and "
                         "no `pendingToolCallIds`"},
    Field{.name = "parentRunId", .type = kText, .description = "Repeated in RUN_STARTED"},
    Field{.name = "messages",
          .type = kArray,
          .description = "The whole conversation. Of a thread that exists, only what follows its "
                         "messages and the last one of the assistant is new",
          .required = true,
          .entry = &kMessage},
    Field{.name = "state", .description = "An object: sets fields of the agent's state"},
    Field{.name = "tools",
          .type = kArray,
          .description = "Tools that the client executes. A call of one ends the run",
          .entry = &kTool},
    Field{.name = "context",
          .type = kArray,
          .description = "Facts about the application, for the models of the agent",
          .entry = &kContext},
    Field{.name = "forwardedProps",
          .description = "Passed to the graph as `config.agui.forwarded_props`. A member `config` "
                         "is that of the service's own routes: `on_disconnect`, `on_busy`, "
                         "`budget`, `recursion_limit`"},
    Field{.name = "resume",
          .type = kArray,
          .description = "Answers to all interrupts that the thread waits for",
          .entry = &kResume},
};

constexpr std::array kConfigMembers = {api::kOnDisconnect, api::kOnBusy, api::kBudget,
                                       api::kRecursionLimit};

}  // namespace

const api::FieldTable kRunAgentInput{"AgUiRunAgentInput", kInputFields};
const std::span<const api::Field> kConfigFields = kConfigMembers;

}  // namespace agent_graph::agui
