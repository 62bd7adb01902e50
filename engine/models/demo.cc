#include "models/demo.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "message/texts.h"
#include "models/call_options.h"
#include "models/demo_dialog.h"
#include "models/parameters.h"
#include "models/tool_output.h"
#include "models/turns.h"
#include "runtime/runtime.h"
#include "runtime/signal.h"

namespace agent_graph::models {
namespace {

constexpr char kModelName[] = "demo";
constexpr char kEcho[] = "You said: ";
constexpr std::string_view kCall = "call ";
constexpr std::string_view kSpace = " \t\r\n";
constexpr int64_t kDelayMsMax = 60'000;

// Removes the first word with the white space before it; white space at the end goes with the last
// word.
std::string_view TakeWord(std::string_view& text) {
  const size_t begin = text.find_first_not_of(kSpace);
  size_t end = text.find_first_of(kSpace, begin);
  if (text.find_first_not_of(kSpace, end) == std::string_view::npos) end = text.size();
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

int64_t CountWords(std::string_view text) {
  text = Trim(text, kSpace);
  int64_t words = 0;
  for (; !text.empty(); ++words) TakeWord(text);
  return words;
}

bool Declared(const ModelRequest& request, std::string_view name) {
  return std::any_of(request.tools.begin(), request.tools.end(),
                     [&](const ToolDeclaration& tool) { return tool.name == name; });
}

// The call that `line` requests, if any.
std::optional<ToolCallBlock> ParseCall(const ModelRequest& request, std::string_view line) {
  line = Trim(line, kSpace);
  if (!line.starts_with(kCall)) return std::nullopt;
  line = Trim(line.substr(kCall.size()), kSpace);
  const std::string_view name = line.substr(0, line.find_first_of(kSpace));
  if (!Declared(request, name)) return std::nullopt;
  ToolCallBlock call;
  call.name = name;
  const std::string_view arguments = Trim(line.substr(name.size()), kSpace);
  if (arguments.empty()) return call;
  const Result<json> parsed = ParseJson(arguments);
  if (!parsed.ok() || !parsed->is_object()) return std::nullopt;
  call.arguments_json = DumpJson(*parsed);
  return call;
}

// The beginning of the ids of the calls. Results without a thread are matched by these ids, so two
// conversations must not share one.
std::string CallIdPrefix(const ModelRequest& request) {
  const std::string& message = request.messages.back().id;
  return message.empty() ? "call_" : "call_" + Sha256Hex(message).substr(0, 16) + "_";
}

std::vector<ToolCallBlock> ParseCalls(const ModelRequest& request, std::string_view text) {
  std::vector<ToolCallBlock> calls;
  for (;;) {
    const size_t end = text.find('\n');
    std::optional<ToolCallBlock> call = ParseCall(request, text.substr(0, end));
    if (call) calls.push_back(*std::move(call));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return calls;
}

void SetIds(std::vector<ToolCallBlock>& calls, const ModelRequest& request) {
  const std::string prefix = CallIdPrefix(request);
  size_t number = 0;
  for (const Message& message : request.messages) number += message.ToolCalls().size();
  for (ToolCallBlock& call : calls) call.id = prefix + std::to_string(++number);
}

std::span<const Message> NewestResults(std::span<const Message> messages) {
  size_t first = messages.size();
  while (first > 0 && messages[first - 1].role == Role::kTool) --first;
  return messages.subspan(first);
}

// The texts of the results in tool messages, oldest first.
std::string ResultTexts(std::span<const Message> messages) {
  std::string text;
  for (const Message& message : messages) {
    for (const ToolResultBlock* result : message.ToolResults()) {
      if (!text.empty()) text.push_back('\n');
      text += ToolOutputText(*result);
    }
  }
  return text;
}

std::vector<FinishedCall> FinishedCalls(std::span<const Message> messages,
                                        std::span<const Message> results) {
  std::vector<FinishedCall> finished;
  for (const Message& message : results) {
    for (const ToolResultBlock* result : message.ToolResults()) {
      FinishedCall& one = finished.emplace_back(FinishedCall{.result = result});
      for (const Message& earlier : messages) {
        for (const ToolCallBlock* call : earlier.ToolCalls()) {
          if (call->id == result->call_id) one.call = call;
        }
      }
    }
  }
  return finished;
}

std::string NewestUserText(std::span<const Message> messages) {
  const auto found = std::find_if(messages.rbegin(), messages.rend(), [](const Message& message) {
    return message.role == Role::kUser;
  });
  return found != messages.rend() ? message::JoinedTexts(*found) : "";
}

std::string DescribeResults(const ModelRequest& request, std::span<const Message> messages) {
  const std::span<const Message> results = NewestResults(messages);
  const std::string question = NewestUserText(messages);
  if (!ParseCalls(request, question).empty()) return ResultTexts(results);
  return ReportResults(question, FinishedCalls(messages, results),
                       std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
}

// The reply with `dialog`. A user's message after tool results answers the question whether the
// calls may be made.
DialogAnswer AnswerInDialog(const ModelRequest& request) {
  const std::span<const Message> messages = request.messages;
  const Message& last = messages.back();
  if (last.role == Role::kTool) return {.text = DescribeResults(request, messages)};
  const std::string text = message::JoinedTexts(last);
  DialogAnswer answer;
  if (last.role == Role::kUser) {
    answer.calls = ParseCalls(request, text);
    if (!answer.calls.empty()) return answer;
    answer =
        AnswerSentence(text, request.tools,
                       std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
    if (!answer.calls.empty() || !answer.text.empty()) return answer;
  }
  const std::span<const Message> before = messages.first(messages.size() - 1);
  if (!before.empty() && before.back().role == Role::kTool) {
    return {.text = DescribeResults(request, before)};
  }
  return {.text = kEcho + text};
}

DialogAnswer Answer(const ModelRequest& request) {
  const Message& last = request.messages.back();
  if (last.role == Role::kTool) return {.text = ResultTexts(NewestResults(request.messages))};
  const std::string text = message::JoinedTexts(last);
  DialogAnswer answer;
  if (last.role == Role::kUser) answer.calls = ParseCalls(request, text);
  if (answer.calls.empty()) answer.text = kEcho + text;
  return answer;
}

int64_t CountPromptWords(const ModelRequest& request) {
  int64_t words = CountWords(request.system_prompt);
  for (const Message& message : request.messages) {
    words += CountWords(message::JoinedTexts(message));
    for (const ToolResultBlock* result : message.ToolResults()) {
      words += CountWords(ToolOutputText(*result));
    }
  }
  return words;
}

Status StreamWords(std::string_view text, std::chrono::milliseconds delay, Deadline deadline,
                   const runtime::Cancellation& cancellation,
                   const std::function<Status(const ModelDelta&)>& on_delta) {
  while (!text.empty()) {
    const std::string_view word = TakeWord(text);
    if (delay.count() > 0) AG_RETURN_IF_ERROR(runtime::SleepFor(delay, &cancellation));
    if (cancellation.cancelled()) {
      return runtime::WakeStatus(runtime::WakeReason::kCancelled, &cancellation);
    }
    if (deadline != kNoDeadline && MonotonicClock::now() >= deadline) {
      return Status(StatusCode::kDeadlineExceeded, "the deadline passed while the model answered");
    }
    AG_RETURN_IF_ERROR(on_delta({.text = std::string(word), .reasoning = {}}));
  }
  return Status::Ok();
}

Result<std::chrono::milliseconds> DelayOf(const json& parameters) {
  const auto found = parameters.find("delay_ms");
  if (found == parameters.end()) return std::chrono::milliseconds(0);
  const bool fits = found->is_number_integer() && *found >= 0 && *found <= kDelayMsMax;
  if (!fits) return Status(StatusCode::kModel, "delay_ms must be a number from 0 to 60000");
  return std::chrono::milliseconds(found->get<int64_t>());
}

Result<bool> WantsDialog(const json& parameters) {
  const auto found = parameters.find("dialog");
  if (found == parameters.end()) return false;
  if (!found->is_boolean()) return Status(StatusCode::kModel, "dialog must be true or false");
  return found->get<bool>();
}

constexpr std::array<std::string_view, 2> kDemoCallParameters = {"max_tokens", "stop"};

// Cuts the answer at the first stop text, and after `max_tokens` words. Returns the stop reason.
std::string CutAnswer(const json& limits, std::string& text) {
  const auto stop = limits.find("stop");
  const json stops = stop == limits.end() ? json::array()
                     : stop->is_array()   ? *stop
                                          : json::array({*stop});
  for (const json& one : stops) {
    if (one.is_string()) text.resize(std::min(text.size(), text.find(one.get<std::string>())));
  }
  const auto limit = limits.find("max_tokens");
  if (limit == limits.end() || !limit->is_number_integer()) return "stop";
  std::string_view rest = text;
  for (int64_t words = limit->get<int64_t>(); words > 0 && !rest.empty(); --words) TakeWord(rest);
  if (rest.empty()) return "stop";
  text.resize(text.size() - rest.size());
  return "length";
}

// The call that a request demands; empty: none.
std::vector<ToolCallBlock> DemandedCall(const ModelRequest& request) {
  if (!request.forces_tool || request.tools.empty()) return {};
  const bool is_named = request.options->tool_choice == CallOptions::ToolChoice::kNamed;
  const std::string& name = is_named ? request.options->tool_name : request.tools.front().name;
  return {ToolCallBlock{.id = {}, .name = name, .arguments_json = "{}"}};
}

}  // namespace

const ProviderKind kDemoProvider = {
    .name = kModelName,
    .telemetry_name = kModelName,
    .checked_parameter = IntegerParameter{.name = "delay_ms", .minimum = 0, .maximum = kDelayMsMax},
    .create = [](const ProviderOptions& options, const std::shared_ptr<const net::HttpClient>&)
        -> Result<std::unique_ptr<ModelProvider>> {
      AG_ASSIGN_OR_RETURN(const json parameters, MergeParameters(options.parameters_json, "{}"));
      AG_RETURN_IF_ERROR(WantsDialog(parameters).status());
      return std::unique_ptr<ModelProvider>(std::make_unique<DemoModel>(options.parameters_json));
    },
};

DemoModel::DemoModel(std::string parameters_json) : parameters_json_(std::move(parameters_json)) {}

Result<ModelReply> DemoModel::Generate(const ModelRequest& request,
                                       const runtime::Cancellation& cancellation,
                                       const std::function<Status(const ModelDelta&)>& on_delta) {
  if (request.messages.empty()) return NothingToAnswer();
  AG_ASSIGN_OR_RETURN(const json parameters,
                      MergeParameters(parameters_json_, request.parameters_json));
  json limits = json::object();  // those of the client's request
  AG_RETURN_IF_ERROR(SetCallParameters(request, kDemoCallParameters, limits));
  AG_ASSIGN_OR_RETURN(const std::chrono::milliseconds delay, DelayOf(parameters));
  AG_ASSIGN_OR_RETURN(const bool dialog, WantsDialog(parameters));

  ModelReply reply;
  reply.model = kModelName;
  reply.message.role = Role::kAssistant;
  Usage usage;
  usage.prompt_tokens = CountPromptWords(request);

  DialogAnswer answer = dialog ? AnswerInDialog(request) : Answer(request);
  if (answer.calls.empty()) answer.calls = DemandedCall(request);
  if (answer.calls.empty()) {
    reply.stop_reason = CutAnswer(limits, answer.text);
    AG_RETURN_IF_ERROR(StreamWords(answer.text, delay, request.deadline, cancellation, on_delta));
    usage.completion_tokens = CountWords(answer.text);
    reply.message.content.emplace_back(TextBlock{.text = std::move(answer.text)});
  } else {
    SetIds(answer.calls, request);
    usage.completion_tokens = static_cast<int64_t>(answer.calls.size());
    for (ToolCallBlock& call : answer.calls) reply.message.content.emplace_back(std::move(call));
    reply.stop_reason = "tool_calls";
  }
  usage.total_tokens = usage.prompt_tokens + usage.completion_tokens;
  reply.message.usage = usage;
  return reply;
}

}  // namespace agent_graph::models
