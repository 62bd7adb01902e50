#include "facades/mcp/questions.h"

#include <algorithm>

#include "base/json.h"
#include "base/own_json.h"
#include "base/text.h"
#include "facades/mcp/json_rpc.h"

namespace agent_graph::mcp {
namespace {

constexpr char kMessageKey[] = "message";
constexpr std::string_view kMessageForm =
    R"({"type":"object","properties":{"message":{"type":"string","title":"Answer"}},)"
    R"("required":["message"]})";

std::string TextIn(const json& object, const char* name) {
  const std::string* text = TextMember(&object, name);
  return text != nullptr ? *text : std::string();
}

}  // namespace

std::vector<Question> ReadQuestions(const json& elicitations) {
  std::vector<Question> questions;
  if (!elicitations.is_array()) return questions;
  for (const json& each : elicitations) {
    if (!each.is_object()) continue;
    const std::string id = TextIn(each, "id");
    Question question{id, id, TextIn(each, "message"), "", TextIn(each, "url")};
    if (question.url.empty()) {
      const json* schema = ObjectMember(&each, "requested_schema");
      question.schema_json = schema != nullptr ? DumpJson(*schema) : std::string(kMessageForm);
    }
    questions.push_back(std::move(question));
  }
  return questions;
}

Pause ReadPause(std::string_view interrupt_json) {
  Pause pause;
  const Result<json> interrupt = ParseJson(interrupt_json, kOwnJsonLimits);
  if (!interrupt.ok() || !interrupt->is_object()) return pause;
  const json* data = ObjectMember(&*interrupt, "data");
  if (data != nullptr && data->contains("elicitations")) {
    pause.by_tools = true;
    pause.questions = ReadQuestions(data->at("elicitations"));
    return pause;
  }
  const bool waits_for_tools = data != nullptr && (data->contains("remote_tool_calls") ||
                                                   data->contains("undecided_tool_calls"));
  if (waits_for_tools) return pause;
  std::string message = TextIn(*interrupt, "reason");
  if (message.empty()) message = "The agent waits for an answer.";
  pause.questions.push_back(
      {kMessageKey, kMessageKey, std::move(message), std::string(kMessageForm), ""});
  return pause;
}

bool CanAsk(const Peer& peer, const std::vector<Question>& questions) {
  return !questions.empty() && std::ranges::all_of(questions, [&](const Question& question) {
    return question.url.empty() ? peer.fills_forms : peer.opens_pages;
  });
}

std::string ElicitationParams(const Question& question, const Peer& peer) {
  // Older revisions know no modes.
  const bool has_modes = peer.revision >= kNewestSessionRevision;
  std::string out = "{";
  if (has_modes) out += question.url.empty() ? R"("mode":"form",)" : R"("mode":"url",)";
  out += "\"message\":";
  AppendJsonString(out, question.message);
  if (question.url.empty()) {
    out += ",\"requestedSchema\":" + question.schema_json;
  } else {
    out += ",\"url\":";
    AppendJsonString(out, question.url);
    out += ",\"elicitationId\":";
    AppendJsonString(out, question.id);
  }
  return out + '}';
}

bool IsAnswer(const json& value) {
  if (!value.is_object()) return false;
  const std::string action = TextIn(value, "action");
  const auto content = value.find("content");
  const bool fits = content == value.end() || content->is_null() || content->is_object();
  return fits && (action == "accept" || action == "decline" || action == "cancel");
}

std::optional<std::vector<Message>> AnswerMessages(const Pause& pause,
                                                   const std::vector<json>& answers) {
  std::vector<Message> messages;
  if (!pause.by_tools) {
    const json* content = ObjectMember(&answers.at(0), "content");
    const std::string* text = TextMember(content, kMessageKey);
    if (TextIn(answers[0], "action") != "accept" || text == nullptr || IsBlank(*text)) {
      return std::nullopt;
    }
    messages.push_back(Message::User(*text));
    return messages;
  }
  for (size_t i = 0; i < pause.questions.size(); ++i) {
    json answer = {{"action", answers.at(i).at("action")}};
    if (const json* content = ObjectMember(&answers[i], "content")) answer["content"] = *content;
    messages.push_back(Message::ToolResult(pause.questions[i].id, DumpJson(answer)));
  }
  return messages;
}

}  // namespace agent_graph::mcp
