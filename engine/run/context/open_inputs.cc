#include "run/context/open_inputs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/own_json.h"

namespace agent_graph::run {
namespace {

// --- undecided calls ---------------------------------------------------------------------------

constexpr std::array<std::string_view, 3> kActions = {"retry", "skip", "result"};

json UndecidedToJson(const OpenInput& input) {
  json value = {{"call_id", input.call_id},
                {"tool", input.tool},
                {"undecided", true},
                {"arguments", input.arguments_json}};
  if (!input.decision) return value;
  value["action"] = kActions[static_cast<size_t>(input.decision->action)];
  value["result"] = input.decision->result_json;
  return value;
}

void ReadDecision(const json& value, OpenInput& input) {
  input.undecided = true;
  const auto arguments = value.find("arguments");
  if (arguments != value.end() && arguments->is_string()) {
    input.arguments_json = arguments->get<std::string>();
  }
  const auto action = value.find("action");
  if (action == value.end() || !action->is_string()) return;
  const auto found = std::ranges::find(kActions, action->get_ref<const std::string&>());
  if (found == kActions.end()) return;
  const auto result = value.find("result");
  input.decision = ToolDecision{
      .call_id = input.call_id,
      .action = static_cast<ToolDecision::Action>(found - kActions.begin()),
      .result_json = result != value.end() && result->is_string() ? result->get<std::string>()
                                                                  : std::string()};
}

// --- calls with questions ----------------------------------------------------------------------

json ToJson(const OpenInput& input) {
  if (input.undecided) return UndecidedToJson(input);
  json questions = json::array();
  for (const tools::Question& question : input.pause.questions) {
    questions.push_back(question.ToJson());
  }
  return {{"call_id", input.call_id},
          {"tool", input.tool},
          {"rounds", input.rounds},
          {"asker", input.pause.asker},
          {"questions", std::move(questions)},
          {"continuation", input.pause.continuation},
          {"answers", input.answers}};
}

std::string TextMember(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<OpenInput> ReadInput(const json& value) {
  if (!value.is_object()) return std::nullopt;
  OpenInput input;
  input.call_id = TextMember(value, "call_id");
  input.tool = TextMember(value, "tool");
  if (value.value("undecided", json()) == true) {
    ReadDecision(value, input);
    return input.call_id.empty() ? std::nullopt : std::optional(std::move(input));
  }
  input.pause.asker = TextMember(value, "asker");
  input.pause.continuation = value.value("continuation", json());
  const json rounds = value.value("rounds", json());
  input.rounds = rounds.is_number_integer() ? rounds.get<int>() : 0;
  for (const json& each : value.value("questions", json::array())) {
    std::optional<tools::Question> question = tools::Question::FromJson(each);
    if (!question) return std::nullopt;
    input.pause.questions.push_back(*std::move(question));
  }
  const json answers = value.value("answers", json::array());
  for (size_t i = 0; i < input.pause.questions.size(); ++i) {
    input.answers.push_back(answers.is_array() && i < answers.size() ? answers[i] : json());
  }
  if (input.call_id.empty() || input.pause.questions.empty()) return std::nullopt;
  return input;
}

}  // namespace

bool OpenInput::answered() const {
  if (undecided) return decision.has_value();
  return std::none_of(answers.begin(), answers.end(),
                      [](const json& answer) { return answer.is_null(); });
}

size_t OpenInput::bytes() const {
  return DumpJson(run::ToJson(*this)).size();
}

std::string OpenInput::IdOf(size_t question) const {
  std::string id = call_id + "/" + std::to_string(question + 1);
  return rounds > 1 ? id + "." + std::to_string(rounds) : id;
}

OpenInputs OpenInputs::FromJson(std::string_view text) {
  OpenInputs inputs;
  const Result<json> parsed = ParseJson(text, kOwnJsonLimits);
  if (!parsed.ok() || !parsed->is_array()) return inputs;
  for (const json& value : *parsed) {
    if (std::optional<OpenInput> input = ReadInput(value)) {
      inputs.calls_.push_back(*std::move(input));
    }
  }
  return inputs;
}

std::string OpenInputs::ToJson() const {
  if (calls_.empty()) return "";
  json list = json::array();
  for (const OpenInput& call : calls_) list.push_back(run::ToJson(call));
  return DumpJson(list);
}

bool OpenInputs::has_questions() const {
  return std::ranges::any_of(calls_, [](const OpenInput& call) { return !call.undecided; });
}

const OpenInput* OpenInputs::Find(std::string_view call_id) const {
  const auto found = std::find_if(calls_.begin(), calls_.end(),
                                  [&](const OpenInput& call) { return call.call_id == call_id; });
  return found == calls_.end() ? nullptr : &*found;
}

Status OpenInputs::Keep(OpenInput input) {
  Forget(input.call_id);
  size_t bytes = input.bytes();
  for (const OpenInput& call : calls_) bytes += call.bytes();
  if (bytes > kOpenInputBytesMax) {
    return Status(StatusCode::kResourceExhausted,
                  "the questions are larger than " + std::to_string(kOpenInputBytesMax) + " bytes");
  }
  calls_.push_back(std::move(input));
  return Status::Ok();
}

void OpenInputs::Forget(std::string_view call_id) {
  std::erase_if(calls_, [&](const OpenInput& call) { return call.call_id == call_id; });
}

void OpenInputs::KeepOnly(const std::vector<std::string>& call_ids) {
  std::erase_if(calls_, [&](const OpenInput& call) {
    return std::find(call_ids.begin(), call_ids.end(), call.call_id) == call_ids.end();
  });
}

OpenInputs::Places OpenInputs::FindQuestions() {
  Places places;
  for (OpenInput& call : calls_) {
    for (size_t i = 0; i < call.pause.questions.size(); ++i) {
      places.emplace(call.IdOf(i), Place{&call, i});
    }
  }
  return places;
}

Status OpenInputs::TakeAnswer(const ToolResultBlock& result, Place& place) {
  if (std::exchange(place.answered, true)) return InvalidArgument("the question has two answers");
  const tools::Question& question = place.call->pause.questions[place.question];
  const Result<json> output = ParseJson(result.output_json, kOwnJsonLimits);
  const Result<json> answer = result.is_error
                                  ? tools::ReadAnswer(question, {{"action", "cancel"}})
                                  : tools::ReadAnswer(question, output.ok() ? *output : json());
  if (!answer.ok()) return answer.status();
  place.call->answers[place.question] = *answer;
  has_new_answers_ = true;
  return Status::Ok();
}

Status OpenInputs::TakeAnswers(std::vector<Message>& messages) {
  Places places = FindQuestions();
  if (places.empty()) return Status::Ok();
  // After a failure the messages are as before.
  for (size_t i = 0; i < messages.size(); ++i) {
    for (const ToolResultBlock* result : messages[i].ToolResults()) {
      const auto place = places.find(result->call_id);
      if (place == places.end()) continue;
      Status status = TakeAnswer(*result, place->second);
      if (status.ok()) continue;
      return InvalidArgument("message " + std::to_string(i) + ": the answer to \"" +
                             result->call_id + "\": " + status.message());
    }
  }
  std::erase_if(messages, [&](Message& message) {
    const size_t answers = std::erase_if(message.content, [&](const ContentBlock& block) {
      const auto* result = std::get_if<ToolResultBlock>(&block);
      return result != nullptr && places.contains(result->call_id);
    });
    return answers > 0 && message.content.empty();
  });
  return Status::Ok();
}

Status OpenInputs::TakeDecisions(const std::vector<ToolDecision>& decisions) {
  for (size_t i = 0; i < decisions.size(); ++i) {
    const ToolDecision& decision = decisions[i];
    const auto call = std::ranges::find(calls_, decision.call_id, &OpenInput::call_id);
    if (call == calls_.end() || !call->undecided) {
      return InvalidArgument("tool_decisions." + std::to_string(i) + ".call_id: no tool call \"" +
                             decision.call_id + "\" waits for a decision");
    }
    call->decision = decision;
    has_new_answers_ = true;
  }
  return Status::Ok();
}

std::string OpenInputs::UndecidedJson() const {
  json list = json::array();
  for (const OpenInput& call : calls_) {
    if (!call.undecided || call.decision) continue;
    const Result<json> arguments = ParseJson(call.arguments_json, kOwnJsonLimits);
    list.push_back({{"call_id", call.call_id},
                    {"tool", call.tool},
                    {"arguments", arguments.ok() ? *arguments : json()}});
  }
  return list.empty() ? std::string() : DumpJson(list);
}

std::string OpenInputs::ElicitationsJson() const {
  json list = json::array();
  for (const OpenInput& call : calls_) {
    for (size_t i = 0; i < call.pause.questions.size(); ++i) {
      if (!call.answers[i].is_null()) continue;
      const tools::Question& question = call.pause.questions[i];
      json shown = {{"id", call.IdOf(i)},
                    {"call_id", call.call_id},
                    {"tool", call.tool},
                    {"server", call.pause.asker},
                    {"mode", question.schema.is_null() ? "url" : "form"},
                    {"message", question.message}};
      if (question.schema.is_null()) {
        shown["url"] = question.url;
      } else {
        shown["requested_schema"] = question.schema;
      }
      list.push_back(std::move(shown));
    }
  }
  return DumpJson(list);
}

}  // namespace agent_graph::run
