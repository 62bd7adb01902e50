#include "facades/agui/interrupts.h"

#include <algorithm>
#include <utility>

#include "api/http/validation.h"
#include "base/json.h"
#include "base/own_json.h"
#include "base/text.h"
#include "run/context/execution_meta.h"
#include "run/context/open_inputs.h"

namespace agent_graph::agui {
namespace {

using Kind = OpenInterrupt::Kind;

constexpr size_t kShownIdBytesMax = 100;
const std::string kPausePrefix = "pause-";
const std::string kAnswerPrefix = "answer-";

json ShownInterrupt(const std::string& id, const char* reason, const std::string& message) {
  json shown = {{"id", id}, {"reason", reason}};
  if (!message.empty()) shown["message"] = message;
  return shown;
}

OpenInterrupt QuestionOf(const run::OpenInput& call, size_t index) {
  OpenInterrupt open;
  open.kind = Kind::kQuestion;
  open.call_id = call.IdOf(index);
  open.question = call.pause.questions[index];
  open.id = open.call_id;
  open.shown = ShownInterrupt(open.id, "input_required", open.question.message);
  open.shown["toolCallId"] = call.call_id;
  json metadata = {{"tool", call.tool}, {"server", call.pause.asker}};
  if (open.question.schema.is_null()) {
    metadata["url"] = open.question.url;
  } else {
    open.shown["responseSchema"] = open.question.schema;
  }
  open.shown["metadata"] = std::move(metadata);
  return open;
}

OpenInterrupt UndecidedOf(const run::OpenInput& call) {
  OpenInterrupt open;
  open.kind = Kind::kUndecided;
  open.id = "decision-" + call.call_id;
  open.call_id = call.call_id;
  open.shown =
      ShownInterrupt(open.id, "agent-graph:undecided_tool_call",
                     "The tool \"" + call.tool + "\" may have taken effect. Call it again?");
  open.shown["toolCallId"] = call.call_id;
  open.shown["responseSchema"] = {
      {"type", "object"},
      {"properties",
       {{"action", {{"type", "string"}, {"enum", json::array({"retry", "skip", "result"})}}},
        {"result", true}}},
      {"required", json::array({"action"})}};
  const Result<json> arguments = ParseJson(call.arguments_json, kOwnJsonLimits);
  open.shown["metadata"] = {{"tool", call.tool}};
  if (arguments.ok()) open.shown["metadata"]["arguments"] = *arguments;
  return open;
}

// Each pause has another last message, because its answer adds one.
std::string PauseId(const run::ExecutionMeta& meta, const state::ThreadState& thread) {
  if (thread.window.empty()) return kPausePrefix + meta.interrupted_node;
  const std::string& last = thread.window.back().id;
  // An answer that no node has seen leaves the pause open, and names it.
  if (meta.unexecuted_resume && last.starts_with(kAnswerPrefix + kPausePrefix)) {
    return last.substr(kAnswerPrefix.size());
  }
  return kPausePrefix + last;
}

OpenInterrupt PauseOf(const run::ExecutionMeta& meta, const json& data,
                      const state::ThreadState& thread) {
  OpenInterrupt open;
  open.id = PauseId(meta, thread);
  open.shown = ShownInterrupt(open.id, "confirmation", meta.interrupt_reason);
  open.shown["responseSchema"] = {
      {"type", "object"},
      {"properties",
       {{"approved", {{"type", "boolean"}, {"description", "Answers yes or no"}}},
        {"message", {{"type", "string"}, {"description", "Answers with this text"}}}}}};
  json metadata = {{"node", meta.interrupted_node}, {"status", run::PhaseName(meta.phase)}};
  if (!data.is_null()) metadata["data"] = data;
  open.shown["metadata"] = std::move(metadata);
  return open;
}

api::ErrorInfo Refusal(const char* code, std::string text) {
  api::ErrorInfo error{api::ApiError::kConflict, std::move(text), {}};
  error.code = code;
  return error;
}

std::string Quoted(std::string_view id) {
  std::string out;
  AppendJsonString(out, CutAtCharacter(id, kShownIdBytesMax));
  return out;
}

// The answer of a user to a tool. A payload that is no answer in this form is its content.
json AnswerOf(const ResumeEntry& entry) {
  if (entry.is_cancelled) return {{"action", "cancel"}};
  if (!entry.payload) return {{"action", "accept"}};
  const json& payload = *entry.payload;
  if (payload.is_object() && payload.contains("action") && payload["action"].is_string()) {
    const auto& action = payload["action"].get_ref<const std::string&>();
    if (action == "accept" || action == "decline" || action == "cancel") return payload;
  }
  return {{"action", "accept"}, {"content", payload}};
}

api::ErrorInfo InvalidAnswer(const OpenInterrupt& open, const std::string& problem) {
  return Refusal("INVALID_ANSWER", "resume: the answer to " + Quoted(open.id) + problem);
}

// The user's message to a graph that has paused; nullopt: the answer is against the schema. A form
// with both fields sends both: then "no" counts, because the graph may look for a "yes" in the
// text.
std::optional<std::string> TextOf(const ResumeEntry& entry) {
  if (entry.is_cancelled) return "cancelled";
  if (!entry.payload) return "yes";
  const json& payload = *entry.payload;
  if (payload.is_string()) return payload.get<std::string>();
  if (payload.is_boolean()) return payload.get<bool>() ? "yes" : "no";
  if (!payload.is_object()) return DumpJson(payload);
  const json* approved = api::FindMember(payload, "approved");
  const json* message = api::FindMember(payload, "message");
  const bool fits = (approved == nullptr || approved->is_boolean()) &&
                    (message == nullptr || message->is_string());
  if (!fits) return std::nullopt;
  if (approved != nullptr && !approved->get<bool>()) return "no";
  if (message != nullptr && !message->get_ref<const std::string&>().empty()) {
    return message->get<std::string>();
  }
  return approved != nullptr ? "yes" : DumpJson(payload);
}

std::optional<api::ErrorInfo> AnswerPause(const OpenInterrupt& open, const ResumeEntry& entry,
                                          std::vector<Message>& answers) {
  const std::optional<std::string> text = TextOf(entry);
  if (!text) {
    return InvalidAnswer(open, " needs true or false as approved, and a text as message");
  }
  Message& message = answers.emplace_back(Message::User(*text));
  // A repeated request has the same id, and is recognised by it.
  message.id = kAnswerPrefix + open.id;
  json resume = {{"interrupt_id", open.id},
                 {"status", entry.is_cancelled ? "cancelled" : "resolved"}};
  if (entry.payload) resume["payload"] = *entry.payload;
  message.metadata_json = DumpJson(json{{"resume", std::move(resume)}});
  return std::nullopt;
}

std::optional<api::ErrorInfo> Decide(const OpenInterrupt& open, const ResumeEntry& entry,
                                     run::RunRequest& request) {
  using Action = run::ToolDecision::Action;
  run::ToolDecision decision{.call_id = open.call_id, .action = Action::kSkip, .result_json = {}};
  const json payload = entry.payload.value_or(json::object());
  const std::string action =
      payload.is_object() && payload.contains("action") && payload["action"].is_string()
          ? payload["action"].get<std::string>()
          : "";
  if (!entry.is_cancelled && action == "retry") {
    decision.action = Action::kRetry;
  } else if (!entry.is_cancelled && action == "result" && payload.contains("result")) {
    decision.action = Action::kResult;
    decision.result_json = DumpJson(payload["result"]);
  } else if (!entry.is_cancelled && action != "skip") {
    return InvalidAnswer(open, " needs an action: retry, skip, or result with a result");
  }
  request.tool_decisions.push_back(std::move(decision));
  return std::nullopt;
}

std::optional<api::ErrorInfo> Answer(const OpenInterrupt& open, const ResumeEntry& entry,
                                     std::vector<Message>& answers, run::RunRequest& request) {
  switch (open.kind) {
    case Kind::kPause:
      return AnswerPause(open, entry, answers);
    case Kind::kUndecided:
      return Decide(open, entry, request);
    case Kind::kQuestion:
      break;
  }
  const Result<json> answer = tools::ReadAnswer(open.question, AnswerOf(entry));
  if (!answer.ok()) return InvalidAnswer(open, ": " + answer.status().message());
  answers.push_back(Message::ToolResult(open.call_id, DumpJson(*answer)));
  return std::nullopt;
}

}  // namespace

std::vector<OpenInterrupt> InterruptsOf(const state::ThreadState& thread) {
  std::vector<OpenInterrupt> open;
  const auto meta = run::ExecutionMeta::FromJson(thread.snapshot.execution_json);
  if (!meta.interrupted() || thread.in_flight) return open;
  const run::OpenInputs inputs = run::OpenInputs::FromJson(meta.inputs_json);
  for (const run::OpenInput& call : inputs.calls()) {
    if (call.undecided && !call.decision) open.push_back(UndecidedOf(call));
    for (size_t i = 0; i < call.pause.questions.size(); ++i) {
      if (call.answers[i].is_null()) open.push_back(QuestionOf(call, i));
    }
  }
  if (!open.empty()) return open;
  const Result<json> parsed = ParseJson(meta.interrupt_data_json, kOwnJsonLimits);
  const json data = parsed.ok() ? *parsed : json();
  if (data.is_object() && data.contains("remote_tool_calls")) return open;
  open.push_back(PauseOf(meta, data, thread));
  return open;
}

std::optional<api::ErrorInfo> TakeResume(const std::vector<OpenInterrupt>& open,
                                         const std::vector<ResumeEntry>& resume,
                                         run::RunRequest& request) {
  for (const ResumeEntry& entry : resume) {
    const auto same = [&](const auto& one) { return one.interrupt_id == entry.interrupt_id; };
    if (std::ranges::find(open, entry.interrupt_id, &OpenInterrupt::id) == open.end()) {
      return Refusal("UNKNOWN_INTERRUPT",
                     "resume: the thread does not wait for " + Quoted(entry.interrupt_id));
    }
    if (std::ranges::count_if(resume, same) > 1) {
      return Refusal("INVALID_ANSWER",
                     "resume: " + Quoted(entry.interrupt_id) + " is answered twice");
    }
  }
  std::vector<Message> answers;
  for (const OpenInterrupt& interrupt : open) {
    const auto entry = std::ranges::find(resume, interrupt.id, &ResumeEntry::interrupt_id);
    if (entry == resume.end()) {
      return Refusal("UNANSWERED_INTERRUPT",
                     "resume: the thread waits for an answer to " + Quoted(interrupt.id));
    }
    if (auto error = Answer(interrupt, *entry, answers, request)) return error;
  }
  request.messages.insert(request.messages.begin(), std::make_move_iterator(answers.begin()),
                          std::make_move_iterator(answers.end()));
  return std::nullopt;
}

}  // namespace agent_graph::agui
