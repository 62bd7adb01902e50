#include "facades/openai/chat_shapes.h"

#include <array>
#include <string_view>

namespace agent_graph::openai {
namespace {

using api::Field;
using enum api::FieldType;

constexpr std::array<std::string_view, 5> kRoles = {"system", "developer", "user", "assistant",
                                                    "tool"};
constexpr std::array<std::string_view, 1> kToolTypes = {"function"};

constexpr std::array kCalledFunctionFields = {
    Field{.name = "name", .type = kText, .required = true, .not_blank = true},
    Field{.name = "arguments",
          .type = kText,
          .description = "The text of a JSON object; empty: no arguments"},
};

constexpr std::array kCallFields = {
    Field{.name = "id", .type = kText, .required = true, .not_blank = true},
    Field{.name = "type", .type = kChoice, .choices = kToolTypes},
    Field{.name = "function", .type = kObject, .required = true, .members = kCalledFunctionFields},
};
constexpr Field kCall{.type = kObject, .required = true, .members = kCallFields};

constexpr std::array kMessageFields = {
    Field{.name = "role", .type = kChoice, .required = true, .choices = kRoles},
    Field{.name = "content",
          .description = "A text, or parts of the types text, image_url, input_audio and file"},
    Field{.name = "tool_calls",
          .type = kArray,
          .description = "Of the assistant: the calls that `tool` messages answer",
          .entry = &kCall},
    Field{.name = "tool_call_id", .type = kText, .description = "Of a tool message: its call"},
};
constexpr Field kMessage{.type = kObject, .required = true, .members = kMessageFields};

constexpr std::array kFunctionFields = {
    Field{.name = "name",
          .type = kText,
          .description = "1 to 64 letters, digits, _ or -",
          .required = true},
    Field{.name = "description", .type = kText, .description = "Description for the model"},
    Field{.name = "parameters", .type = kObject, .description = "JSON Schema of the arguments"},
};
constexpr std::array kToolFields = {
    Field{.name = "type", .type = kChoice, .required = true, .choices = kToolTypes},
    Field{.name = "function", .type = kObject, .required = true, .members = kFunctionFields},
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
    Field{.name = "tool_choice", .description = "auto, or none: without these tools"},
    Field{.name = "metadata", .type = kObject, .members = kMetadataFields},
    Field{.name = "n", .type = kInteger, .description = "Only 1", .minimum = 1},
    Field{.name = "max_tokens",
          .type = kInteger,
          .description = "Ignored: the parameters of the agent's own models hold",
          .minimum = 1},
    Field{.name = "max_completion_tokens",
          .type = kInteger,
          .description = "Ignored, as max_tokens",
          .minimum = 1},
    Field{.name = "temperature", .type = kNumber, .description = "Ignored, as max_tokens"},
    Field{.name = "top_p", .type = kNumber, .description = "Ignored, as max_tokens"},
};

}  // namespace

const api::FieldTable kChatBody{"OpenAiChatRequest", kChatFields};

}  // namespace agent_graph::openai
