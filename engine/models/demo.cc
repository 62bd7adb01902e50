#include "models/demo.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "message/texts.h"
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
  const std::string prefix = CallIdPrefix(request);
  size_t earlier = 0;
  for (const Message& message : request.messages) earlier += message.ToolCalls().size();
  std::vector<ToolCallBlock> calls;
  for (;;) {
    const size_t end = text.find('\n');
    std::optional<ToolCallBlock> call = ParseCall(request, text.substr(0, end));
    if (!call) break;
    call->id = prefix + std::to_string(earlier + calls.size() + 1);
    calls.push_back(*std::move(call));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return calls;
}

// The texts of the tool messages at the end of the conversation, oldest first.
std::string ResultTexts(const std::vector<Message>& messages) {
  auto first = messages.end();
  while (first != messages.begin() && (first - 1)->role == Role::kTool) --first;
  std::string text;
  for (; first != messages.end(); ++first) {
    for (const ToolResultBlock* result : first->ToolResults()) {
      if (!text.empty()) text.push_back('\n');
      text += ToolOutputText(*result);
    }
  }
  return text;
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

}  // namespace

const ProviderKind kDemoProvider = {
    .name = kModelName,
    .telemetry_name = kModelName,
    .checked_parameter = IntegerParameter{.name = "delay_ms", .minimum = 0, .maximum = kDelayMsMax},
    .create = [](const ProviderOptions& options, const std::shared_ptr<const net::HttpClient>&)
        -> Result<std::unique_ptr<ModelProvider>> {
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
  AG_ASSIGN_OR_RETURN(const std::chrono::milliseconds delay, DelayOf(parameters));

  ModelReply reply;
  reply.model = kModelName;
  reply.message.role = Role::kAssistant;
  Usage usage;
  usage.prompt_tokens = CountPromptWords(request);

  const Message& last = request.messages.back();
  std::vector<ToolCallBlock> calls;
  if (last.role == Role::kUser) calls = ParseCalls(request, message::JoinedTexts(last));
  if (calls.empty()) {
    std::string text = last.role == Role::kTool ? ResultTexts(request.messages)
                                                : kEcho + message::JoinedTexts(last);
    AG_RETURN_IF_ERROR(StreamWords(text, delay, request.deadline, cancellation, on_delta));
    reply.stop_reason = "stop";
    usage.completion_tokens = CountWords(text);
    reply.message.content.emplace_back(TextBlock{.text = std::move(text)});
  } else {
    usage.completion_tokens = static_cast<int64_t>(calls.size());
    for (ToolCallBlock& call : calls) reply.message.content.emplace_back(std::move(call));
    reply.stop_reason = "tool_calls";
  }
  usage.total_tokens = usage.prompt_tokens + usage.completion_tokens;
  reply.message.usage = usage;
  return reply;
}

}  // namespace agent_graph::models
