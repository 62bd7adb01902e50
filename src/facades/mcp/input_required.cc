#include "facades/mcp/input_required.h"

#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "base/own_json.h"
#include "facades/mcp/session.h"

namespace agent_graph::mcp {
namespace {

constexpr std::string_view kInputPurpose = "input required";
constexpr int64_t kStateSeconds = int64_t{24} * 3600;

json ToJson(const PausedCall& paused) {
  json questions = json::array();
  for (const Question& question : paused.pause.questions) {
    questions.push_back(
        {question.id, question.key, question.message, question.schema_json, question.url});
  }
  return {{"digest", paused.digest},
          {"thread", paused.thread_id},
          {"run", paused.run_id},
          {"by_tools", paused.pause.by_tools},
          {"questions", std::move(questions)},
          {"inputs", paused.inputs_json},
          {"until", static_cast<int64_t>(UnixSeconds()) + kStateSeconds}};
}

// `value` was sealed by this service.
PausedCall FromJson(const json& value) {
  PausedCall paused;
  paused.digest = value.at("digest").get<std::string>();
  paused.thread_id = value.at("thread").get<std::string>();
  paused.run_id = value.value("run", std::string());  // none in states of older builds
  paused.pause.by_tools = value.at("by_tools").get<bool>();
  paused.inputs_json = value.at("inputs").get<std::string>();
  for (const json& each : value.at("questions")) {
    paused.pause.questions.push_back({each.at(0).get<std::string>(), each.at(1).get<std::string>(),
                                      each.at(2).get<std::string>(), each.at(3).get<std::string>(),
                                      each.at(4).get<std::string>()});
  }
  return paused;
}

InputReading Refuse(const Call& call, std::string problem) {
  SendError(call, {kInvalidParams, std::move(problem)});
  return InputReading::kRefused;
}

}  // namespace

Result<std::string> AskForInput(const Call& call, const PausedCall& paused) {
  AG_ASSIGN_OR_RETURN(const std::string state,
                      SealFor(call.context, kInputPurpose, DumpJson(ToJson(paused))));
  std::string out = R"({"resultType":"input_required","inputRequests":{)";
  for (const Question& question : paused.pause.questions) {
    if (out.back() != '{') out += ',';
    AppendJsonString(out, question.key);
    out += R"(:{"method":"elicitation/create","params":)";
    out += ElicitationParams(question, call.peer) + '}';
  }
  out += R"(},"requestState":")" + state;
  out += R"(","_meta":{"io.modelcontextprotocol/serverInfo":)" + ServerInfo(call.context) + "}}";
  return out;
}

InputReading ReadEarlyAnswers(const Call& call, const Pause& pause, std::vector<json>& answers) {
  const json* responses = api::FindMember(*call.message.params, "inputResponses");
  if (responses == nullptr) return InputReading::kMissing;
  if (!responses->is_object()) return Refuse(call, "params.inputResponses: must be an object");
  for (const Question& question : pause.questions) {
    const auto answer = responses->find(question.key);
    if (answer == responses->end()) return InputReading::kMissing;
    if (!IsAnswer(*answer)) return Refuse(call, "params.inputResponses: has no valid answer");
    answers.push_back(*answer);
  }
  return InputReading::kAnswered;
}

InputReading ReadInput(const Call& call, const std::string& digest, PausedCall& paused,
                       std::vector<json>& answers) {
  static const std::string kBadState = "params.requestState: is not the state of this call";
  const std::string* state = TextMember(call.message.params, "requestState");
  if (state == nullptr || call.context.api().state == nullptr) return Refuse(call, kBadState);
  const Result<std::optional<std::string>> payload = UnsealFor(call.context, kInputPurpose, *state);
  if (!payload.ok()) {
    SendFailure(call, payload.status());
    return InputReading::kRefused;
  }
  if (!*payload) return Refuse(call, kBadState);
  const Result<json> value = ParseJson(**payload, kOwnJsonLimits);
  if (!value.ok()) return Refuse(call, kBadState);
  if (value->at("until").get<double>() < UnixSeconds()) {
    return Refuse(call, "params.requestState: has expired");
  }
  paused = FromJson(*value);
  if (paused.digest != digest) return Refuse(call, kBadState);
  return ReadEarlyAnswers(call, paused.pause, answers);
}

}  // namespace agent_graph::mcp
