#include "facades/openai/response_shapes.h"

#include <array>
#include <string_view>

#include "facades/run/tool_shapes.h"

namespace agent_graph::openai {
namespace {

using api::Field;
using enum api::FieldType;

constexpr std::array<std::string_view, 2> kTruncations = {"auto", "disabled"};
constexpr std::array<std::string_view, 2> kOrders = {"asc", "desc"};

constexpr std::array kResponseToolFields = {
    Field{.name = "type",
          .type = kText,
          .description = "function. Offers of other types, such as web_search, are ignored: the "
                         "agent searches with tools of its own",
          .required = true},
    Field{.name = "name",
          .type = kText,
          .description = "Of a function: 1 to 64 letters, digits, _ or -"},
    facades::kToolDescription,
    facades::kToolParameters,
};
constexpr Field kResponseTool{.type = kObject, .required = true, .members = kResponseToolFields};

constexpr std::array kReasoningFields = {
    Field{.name = "effort", .type = kText, .description = "For models that know it"},
};
constexpr std::array kTextFields = {
    Field{.name = "format",
          .type = kObject,
          .description = "text, json_object or json_schema. JSON only if the providers of the "
                         "agent's models can be asked for it"},
};
constexpr std::array kResponseMetadataFields = {
    Field{.name = "thread_id",
          .type = kThreadId,
          .description = "The thread that keeps the conversation, as `conversation`"},
};
constexpr Field kIncluded{.type = kText, .required = true};

constexpr std::array kResponseFields = {
    Field{.name = "model",
          .type = kText,
          .description = "The name of the agent, as GET /models lists it",
          .required = true,
          .not_blank = true},
    Field{.name = "input",
          .description = "A text, or items of the types message, function_call, "
                         "function_call_output, reasoning and item_reference",
          .required = true},
    Field{.name = "instructions",
          .type = kText,
          .description = "Follow the agent's own prompt, for this response only"},
    Field{.name = "stream", .type = kBoolean, .description = "Answer with server-sent events"},
    Field{.name = "background",
          .type = kBoolean,
          .description = "The run goes on without this connection. The response can be read, and "
                         "its events from any number on, as long as the run is kept"},
    Field{.name = "store",
          .type = kBoolean,
          .description = "false: the response cannot be read later, and no thread keeps it"},
    Field{.name = "previous_response_id",
          .type = kText,
          .description = "The response that `input` follows"},
    Field{.name = "conversation",
          .description = "The id of the thread that keeps the conversation, or an object with it"},
    Field{.name = "tools",
          .type = kArray,
          .description = "Functions that the client executes. A call of one ends the response",
          .entry = &kResponseTool},
    Field{.name = "tool_choice",
          .description = "auto; none: without these tools; required, or one of them: for the first "
                         "call of the agent's model"},
    Field{.name = "parallel_tool_calls", .type = kBoolean},
    Field{.name = "max_tool_calls",
          .type = kInteger,
          .description = "Of the agent's own tools; the response fails behind it",
          .minimum = 1},
    Field{.name = "max_output_tokens",
          .type = kInteger,
          .description = "Of each call of a model that writes the answer; it can only lower what "
                         "is configured",
          .minimum = 1},
    Field{.name = "temperature", .type = kNumber, .minimum = 0},
    Field{.name = "top_p", .type = kNumber, .minimum = 0},
    Field{.name = "reasoning", .type = kObject, .members = kReasoningFields},
    Field{.name = "text", .type = kObject, .members = kTextFields},
    Field{.name = "include",
          .type = kArray,
          .description = "`reasoning.encrypted_content` is understood",
          .entry = &kIncluded},
    Field{.name = "truncation",
          .type = kChoice,
          .description = "Ignored: the agent has a window of its own",
          .choices = kTruncations},
    Field{.name = "top_logprobs", .type = kInteger, .description = "Only 0"},
    Field{.name = "metadata", .type = kObject, .members = kResponseMetadataFields},
};

constexpr std::array kResponseQueryFields = {
    Field{.name = "stream", .type = kText, .description = "true: the events of the response"},
    Field{.name = "starting_after",
          .type = kInteger,
          .description = "With stream: the events behind this sequence number",
          .minimum = 0},
    Field{.name = "include[]",
          .type = kText,
          .description = "Without stream: reasoning.encrypted_content; may be repeated"},
};

constexpr std::array kInputItemsFields = {
    Field{.name = "limit",
          .type = kInteger,
          .minimum = 1,
          .maximum = kInputItemsMax,
          .fallback = kInputItemsDefault,
          .has_fallback = true},
    Field{
        .name = "order", .type = kChoice, .fallback = 1, .has_fallback = true, .choices = kOrders},
    Field{.name = "after", .type = kText, .description = "The id of an item: those behind it"},
};

}  // namespace

const api::Field kStartingAfterField = kResponseQueryFields[1];
const api::Field kLimitField = kInputItemsFields[0];
const api::Field kOrderField = kInputItemsFields[1];
const api::FieldTable kResponseBody{"OpenAiResponseRequest", kResponseFields};
const api::FieldTable kResponseQuery{"OpenAiResponseQuery", kResponseQueryFields};
const api::FieldTable kInputItemsQuery{"OpenAiInputItemsQuery", kInputItemsFields};

}  // namespace agent_graph::openai
