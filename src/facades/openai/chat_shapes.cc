#include "facades/openai/chat_shapes.h"

#include <array>
#include <string_view>

#include "facades/run/tool_shapes.h"

namespace agent_graph::openai {
namespace {

using api::Field;
using enum api::FieldType;

constexpr std::array<std::string_view, 5> kRoles = {"system", "developer", "user", "assistant",
                                                    "tool"};

constexpr std::array kMessageFields = {
    Field{.name = "role", .type = kChoice, .required = true, .choices = kRoles},
    Field{.name = "content",
          .description = "A text, or parts of the types text, image_url, input_audio and file"},
    Field{.name = "tool_calls",
          .type = kArray,
          .description = "Of the assistant: the calls that `tool` messages answer",
          .entry = &facades::kCall},
    Field{.name = "tool_call_id", .type = kText, .description = "Of a tool message: its call"},
    Field{.name = "refusal", .type = kText, .description = "Of the assistant: a text like content"},
};
constexpr Field kMessage{.type = kObject, .required = true, .members = kMessageFields};

constexpr std::array kToolFields = {
    Field{.name = "type", .type = kChoice, .required = true, .choices = facades::kFunctionOnly},
    Field{.name = "function", .type = kObject, .required = true, .members = facades::kToolFields},
};
constexpr Field kTool{.type = kObject, .required = true, .members = kToolFields};

constexpr std::array kStreamOptionFields = {
    Field{.name = "include_usage",
          .type = kBoolean,
          .description = "One more chunk, before [DONE], has the tokens of the whole answer"},
};
constexpr std::array kMetadataFields = {
    Field{.name = "thread_id",
          .type = kThreadId,
          .description = "The thread that keeps the conversation, as the header X-Thread-Id"},
};

constexpr std::array kChatFields = {
    Field{.name = "model",
          .type = kText,
          .description = "The name of the agent, as GET /models lists it",
          .required = true,
          .not_blank = true},
    Field{.name = "messages",
          .type = kArray,
          .description = "The whole conversation. With a thread, only what follows the last "
                         "message of the assistant is new",
          .required = true,
          .minimum = 1,
          .entry = &kMessage},
    Field{.name = "stream", .type = kBoolean, .description = "Answer with server-sent events"},
    Field{.name = "stream_options", .type = kObject, .members = kStreamOptionFields},
    Field{.name = "tools",
          .type = kArray,
          .description = "Tools that the client executes. A call of one ends the answer",
          .entry = &kTool},
    Field{.name = "tool_choice",
          .description = "auto; none: without these tools; required, or one of them: for the first "
                         "call of the agent's model"},
    Field{.name = "parallel_tool_calls", .type = kBoolean},
    Field{.name = "metadata", .type = kObject, .members = kMetadataFields},
    Field{.name = "n", .type = kInteger, .description = "Only 1", .minimum = 1},
    Field{.name = "max_tokens",
          .type = kInteger,
          .description = "Of each call of a model that writes the answer; it can only lower what "
                         "is configured",
          .minimum = 1},
    Field{.name = "max_completion_tokens",
          .type = kInteger,
          .description = "As max_tokens",
          .minimum = 1},
    Field{.name = "temperature", .type = kNumber, .minimum = 0},
    Field{.name = "top_p", .type = kNumber, .minimum = 0},
    Field{.name = "seed", .type = kInteger, .description = "For models that know it"},
    Field{.name = "reasoning_effort", .type = kText, .description = "For models that know it"},
    Field{.name = "presence_penalty", .type = kNumber, .minimum = -2, .maximum = 2},
    Field{.name = "frequency_penalty", .type = kNumber, .minimum = -2, .maximum = 2},
    Field{.name = "stop", .description = "A text, or up to 4, at which the answer ends"},
    Field{.name = "response_format",
          .type = kObject,
          .description = "text, json_object or json_schema. JSON only if the providers of the "
                         "agent's models can be asked for it"},
};

}  // namespace

const api::FieldTable kChatBody{"OpenAiChatRequest", kChatFields};

}  // namespace agent_graph::openai
