#include "models/reply_builder.h"

#include <algorithm>
#include <exception>
#include <unordered_set>
#include <utility>

#include "agent_graph/json.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/text.h"
#include "message/broken_arguments.h"
#include "models/json_fields.h"
#include "models/stop_reason.h"
#include "net/retry.h"

namespace agent_graph::models {
namespace {

constexpr size_t kModelNameBytesMax = 256;
constexpr size_t kCallIdBytesMax = 1024;

// Types of temporary errors within a stream whose status was 200.
constexpr std::string_view kPassingErrors[] = {
    "overloaded_error", "rate_limit_error", "rate_limit_exceeded",
    "api_error",        "server_error",     "timeout_error",
};

bool MayPass(const JsonNode& error) {
  for (const char* key : {"code", "status"}) {
    const std::optional<int64_t> status = IntegerAt(error, key);
    if (status && *status >= 100 && *status < 600)
      return net::IsRetryable(static_cast<int>(*status));
  }
  const std::string_view type = StringAt(error, "type");
  return std::find(std::begin(kPassingErrors), std::end(kPassingErrors), type) !=
         std::end(kPassingErrors);
}

// Tool results refer to calls by their ids.
void MakeIdsDistinct(Message& message) {
  std::unordered_set<std::string> ids;
  for (ContentBlock& block : message.content) {
    auto* call = std::get_if<ToolCallBlock>(&block);
    if (call == nullptr || ids.insert(call->id).second) continue;
    call->id = "call_" + NewHexId();
    ids.insert(call->id);
  }
}

bool IsObject(std::string_view text) {
  const Result<json> parsed = ParseJson(text);
  return parsed.ok() && parsed->is_object();
}

}  // namespace

Result<ModelDelta> ReplyBuilder::Add(std::string_view json) {
  if (const std::optional<std::string_view> text = repeated_.Match(json)) return AddText(*text);
  // One tree per thread, not per builder: parsing a chunk never suspends, and the builders of
  // thousands of waiting fibers would each keep the memory of their largest chunk.
  thread_local JsonTree tree;
  try {
    const JsonNode* chunk = tree.Parse(json);
    if (chunk == nullptr || !chunk->is_object()) return Malformed();
    const JsonNode* error = FindMember(*chunk, "error");
    if (error != nullptr && error->type != JsonNode::Type::kNull) return ReportedError(*error);
    ModelDelta delta;
    const int64_t counted = usage_ ? usage_->total_tokens : 0;
    only_text_ = {};
    AG_RETURN_IF_ERROR(Take(*chunk, delta));
    repeated_.Remember(json, only_text_);
    // The last report is part of the complete reply.
    if (!complete() && usage_ && usage_->total_tokens != counted) delta.usage = usage_;
    return delta;
  } catch (const std::exception& failure) {
    return Malformed().WithDetail(failure.what());
  }
}

// By far the most frequent case: the delta is made where the caller has it, and not moved.
Result<ModelDelta> ReplyBuilder::AddText(std::string_view text) {
  Result<ModelDelta> added = ModelDelta();
  TakeText(text, *added);
  return added;
}

Status ReplyBuilder::Malformed() {
  failed_malformed_ = true;
  return Status(StatusCode::kModel, "the model provider sent a malformed chunk");
}

Status ReplyBuilder::ReportedError(const JsonNode& error) {
  std::string text;
  // Not cut here, because the text may contain the key: the caller replaces that first.
  if (error.is_string()) text = OneLine(error.text, std::string::npos);
  if (error.is_object()) {
    text = OneLine(StringAt(error, "message"), std::string::npos);
    failure_may_pass_ = MayPass(error);
  }
  const std::string reported = "the model provider reported an error";
  if (text.empty()) return Status(StatusCode::kModel, reported);
  return Status(StatusCode::kModel, reported + ": " + text);
}

Result<ModelReply> ReplyBuilder::Finish(bool ended) {
  if (!complete() && !(ended && begun_)) {
    return Status(StatusCode::kModel, ended || begun_ || usage_
                                          ? "the model provider's reply broke off before its end"
                                          : "the model provider's reply is empty");
  }
  ModelReply reply;
  reply.message.role = Role::kAssistant;
  reply.message.usage = usage_;
  reply.model = CutAtCharacter(model_, kModelNameBytesMax);
  AG_RETURN_IF_ERROR(MoveContent(reply.message.content));
  MakeIdsDistinct(reply.message);
  const bool calls = !reply.message.ToolCalls().empty();
  // Some providers report a plain stop although the model made calls.
  const bool stopped = stop_reason_.empty() || stop_reason_ == "stop";
  reply.stop_reason = stopped ? (calls ? "tool_calls" : "stop") : stop_reason_;
  return reply;
}

void ReplyBuilder::Stop(std::string_view provider_reason) {
  stop_reason_ = StopReason(provider_reason);
}

Status ReplyBuilder::PassingFailure(std::string text) {
  failure_may_pass_ = true;
  return Status(StatusCode::kModel, std::move(text));
}

Status ReplyBuilder::TooManyCalls() {
  return Status(StatusCode::kModel, "the model made more than " + std::to_string(kToolCallsMax) +
                                        " tool calls in one reply");
}

Status ReplyBuilder::TooManyBlocks() {
  return Status(StatusCode::kModel,
                "the model's reply has more than " + std::to_string(kBlocksMax) + " blocks");
}

Result<ToolCallBlock> ReplyBuilder::MakeToolCall(std::string id, std::string name,
                                                 std::string arguments) {
  if (name.empty()) return Status(StatusCode::kModel, "the model made a tool call without a name");
  if (id.size() > kCallIdBytesMax) {
    return Status(StatusCode::kModel, "the model made a tool call with an id of more than " +
                                          std::to_string(kCallIdBytesMax) + " bytes");
  }
  if (arguments.empty()) arguments = "{}";
  // The model gets an error as the result of the call and may correct it.
  if (!IsObject(arguments)) arguments = message::BrokenArguments(arguments);
  if (id.empty()) id = "call_" + NewHexId();
  return ToolCallBlock{
      .id = std::move(id), .name = std::move(name), .arguments_json = std::move(arguments)};
}

Status ReplyBuilder::AddToolCall(std::vector<ContentBlock>& content, std::string id,
                                 std::string name, std::string arguments) const {
  // Without arguments the call may have been cut before them.
  if (stop_reason_ == "length" && !IsObject(arguments)) return Status::Ok();
  AG_ASSIGN_OR_RETURN(ToolCallBlock call,
                      MakeToolCall(std::move(id), std::move(name), std::move(arguments)));
  content.emplace_back(std::move(call));
  return Status::Ok();
}

}  // namespace agent_graph::models
