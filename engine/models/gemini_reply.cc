#include "models/gemini_reply.h"

#include <optional>
#include <utility>

#include "base/text.h"
#include "models/gemini_signature.h"
#include "models/json_fields.h"
#include "models/signature.h"

namespace agent_graph::models {
namespace {

constexpr size_t kReasonBytesMax = 300;

// Gemini counts thoughts separately from the answer; our completion tokens include them.
Usage ReadGeminiUsage(const JsonNode& object) {
  Usage usage;
  usage.reasoning_tokens = CountAt(&object, "thoughtsTokenCount");
  usage.prompt_tokens =
      CountAt(&object, "promptTokenCount") + CountAt(&object, "toolUsePromptTokenCount");
  usage.completion_tokens = CountAt(&object, "candidatesTokenCount") + usage.reasoning_tokens;
  usage.cache_read_input_tokens = CountAt(&object, "cachedContentTokenCount");
  usage.total_tokens = CountAt(&object, "totalTokenCount");
  if (usage.total_tokens == 0) usage.total_tokens = usage.prompt_tokens + usage.completion_tokens;
  return usage;
}

const JsonNode* FirstCandidate(const JsonNode& chunk) {
  const JsonNode* candidates = ArrayAt(chunk, "candidates");
  if (candidates == nullptr) return nullptr;
  for (const JsonNode& candidate : JsonItems(*candidates)) {
    if (candidate.is_object() && IntegerAt(candidate, "index").value_or(0) == 0) return &candidate;
  }
  return nullptr;
}

}  // namespace

Status GeminiReplyBuilder::Take(const JsonNode& chunk, ModelDelta& delta) {
  if (model_.empty()) model_ = StringAt(chunk, "modelVersion");
  if (const JsonNode* usage = ObjectAt(chunk, "usageMetadata")) usage_ = ReadGeminiUsage(*usage);
  if (const JsonNode* feedback = ObjectAt(chunk, "promptFeedback")) {
    const std::string_view reason = StringAt(*feedback, "blockReason");
    if (!reason.empty()) {
      return Status(StatusCode::kModel,
                    "the model provider blocked the prompt: " + OneLine(reason, kReasonBytesMax));
    }
  }
  const JsonNode* candidate = FirstCandidate(chunk);
  if (candidate == nullptr) return Status::Ok();
  begun_ = true;
  const JsonNode* content = ObjectAt(*candidate, "content");
  const JsonNode* parts = content != nullptr ? ArrayAt(*content, "parts") : nullptr;
  if (parts != nullptr) {
    for (const JsonNode& part : JsonItems(*parts)) {
      if (part.is_object()) AG_RETURN_IF_ERROR(TakePart(part, delta));
    }
  }
  return TakeFinish(*candidate);
}

Status GeminiReplyBuilder::TakeFinish(const JsonNode& candidate) {
  const std::string_view reason = StringAt(candidate, "finishReason");
  if (reason.empty() || reason == "FINISH_REASON_UNSPECIFIED") return Status::Ok();
  if (reason == "MALFORMED_FUNCTION_CALL" || reason == "UNEXPECTED_TOOL_CALL") {
    return PassingFailure("the model made a tool call that its provider cannot read");
  }
  Stop(reason);
  return Status::Ok();
}

Status GeminiReplyBuilder::TakePart(const JsonNode& part, ModelDelta& delta) {
  if (content_.size() >= kBlocksMax) return TooManyBlocks();
  const std::string_view text = StringAt(part, "text");
  const std::string_view signature = StringAt(part, "thoughtSignature");
  delta.hidden_bytes += signature.size();
  if (IsTrueAt(part, "thought")) {
    delta.reasoning += text;
    TakeThought(text, signature);
    return Status::Ok();
  }
  if (!signature.empty()) SignNext(signature);
  if (const JsonNode* function = ObjectAt(part, "functionCall")) return TakeCall(*function, delta);
  delta.text += text;
  TakeText(text, !signature.empty());
  return Status::Ok();
}

// Thoughts are joined until one has a signature.
ReasoningBlock& GeminiReplyBuilder::UnsignedReasoning() {
  text_open_ = false;
  auto* last = content_.empty() ? nullptr : std::get_if<ReasoningBlock>(&content_.back());
  if (last != nullptr && last->signature.empty()) return *last;
  return std::get<ReasoningBlock>(content_.emplace_back(ReasoningBlock{}));
}

void GeminiReplyBuilder::TakeThought(std::string_view text, std::string_view signature) {
  if (text.empty() && signature.empty()) return;
  ReasoningBlock& thought = UnsignedReasoning();
  thought.summary += text;
  if (!signature.empty()) thought.signature = MarkSignature(kGeminiThought, signature);
}

void GeminiReplyBuilder::SignNext(std::string_view signature) {
  UnsignedReasoning().signature = MarkSignature(kGeminiNext, signature);
}

// A text with a signature is not joined with its neighbours.
void GeminiReplyBuilder::TakeText(std::string_view text, bool is_signed) {
  if (text.empty()) return;
  if (text_open_) {
    std::get<TextBlock>(content_.back()).text += text;
    return;
  }
  content_.emplace_back(TextBlock{.text = std::string(text)});
  text_open_ = !is_signed;
}

Status GeminiReplyBuilder::TakeCall(const JsonNode& function, ModelDelta& delta) {
  if (++calls_ > kToolCallsMax) return TooManyCalls();
  text_open_ = false;
  const JsonNode* arguments = ObjectAt(function, "args");
  AG_ASSIGN_OR_RETURN(
      ToolCallBlock call,
      MakeToolCall(std::string(StringAt(function, "id")), std::string(StringAt(function, "name")),
                   arguments != nullptr ? JsonText(*arguments) : ""));
  delta.hidden_bytes += call.arguments_json.size();
  content_.emplace_back(std::move(call));
  return Status::Ok();
}

Status GeminiReplyBuilder::MoveContent(std::vector<ContentBlock>& content) {
  content = std::move(content_);
  if (content.empty()) content.emplace_back(TextBlock{});
  return Status::Ok();
}

}  // namespace agent_graph::models
