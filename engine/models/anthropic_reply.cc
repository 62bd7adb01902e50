#include "models/anthropic_reply.h"

#include <utility>

#include "models/anthropic_signature.h"
#include "models/json_fields.h"
#include "models/signature.h"

namespace agent_graph::models {
namespace {

void AppendPiece(std::string& whole, std::string& delta, std::string_view piece) {
  whole += piece;
  delta += piece;
}

void AppendHidden(std::string& whole, ModelDelta& delta, std::string_view piece) {
  whole += piece;
  delta.hidden_bytes += piece.size();
}

}  // namespace

Status AnthropicReplyBuilder::Take(const JsonNode& event, ModelDelta& delta) {
  const std::string_view type = StringAt(event, "type");
  const int64_t index = IntegerAt(event, "index").value_or(0);
  if (type == "message_start") {
    if (const JsonNode* message = ObjectAt(event, "message")) TakeMessage(*message);
  } else if (type == "content_block_start") {
    if (const JsonNode* block = ObjectAt(event, "content_block")) {
      return StartBlock(index, *block, delta);
    }
  } else if (type == "content_block_delta") {
    if (const JsonNode* piece = ObjectAt(event, "delta")) TakeDelta(index, *piece, delta);
  } else if (type == "message_delta") {
    if (const JsonNode* usage = ObjectAt(event, "usage")) TakeUsage(*usage);
    const JsonNode* change = ObjectAt(event, "delta");
    const std::string_view reason =
        change != nullptr ? StringAt(*change, "stop_reason") : std::string_view();
    if (!reason.empty()) Stop(reason);
  } else if (type == "message_stop") {
    MarkEnd();
  } else if (type == "message") {
    return TakeWhole(event, delta);
  }
  return Status::Ok();
}

void AnthropicReplyBuilder::TakeMessage(const JsonNode& message) {
  begun_ = true;
  model_ = StringAt(message, "model");
  if (const JsonNode* usage = ObjectAt(message, "usage")) TakeUsage(*usage);
}

Status AnthropicReplyBuilder::TakeWhole(const JsonNode& message, ModelDelta& delta) {
  TakeMessage(message);
  if (const JsonNode* content = ArrayAt(message, "content")) {
    int64_t index = 0;
    for (const JsonNode& block : JsonItems(*content)) {
      if (block.is_object()) AG_RETURN_IF_ERROR(StartBlock(index++, block, delta));
    }
  }
  const std::string_view reason = StringAt(message, "stop_reason");
  if (!reason.empty()) Stop(reason);
  return Status::Ok();
}

// In a stream a block starts empty; in a complete message it is complete.
Status AnthropicReplyBuilder::StartBlock(int64_t index, const JsonNode& piece, ModelDelta& delta) {
  if (blocks_.size() >= kBlocksMax) return TooManyBlocks();
  begun_ = true;
  Block& block = blocks_.emplace_back();
  block.index = index;
  const std::string_view type = StringAt(piece, "type");
  if (type == "text") {
    block.kind = Kind::kText;
    AppendPiece(block.text, delta.text, StringAt(piece, "text"));
  } else if (type == "thinking") {
    block.kind = Kind::kThinking;
    AppendPiece(block.text, delta.reasoning, StringAt(piece, "thinking"));
    block.signature = StringAt(piece, "signature");
  } else if (type == "redacted_thinking") {
    block.kind = Kind::kRedacted;
    block.signature = StringAt(piece, "data");
  } else if (type == "tool_use") {
    if (++calls_ > kToolCallsMax) return TooManyCalls();
    block.kind = Kind::kCall;
    block.id = StringAt(piece, "id");
    block.name = StringAt(piece, "name");
    const JsonNode* input = ObjectAt(piece, "input");
    if (input != nullptr && !input->empty()) block.text = JsonText(*input);
    delta.hidden_bytes += block.text.size();
  }
  delta.hidden_bytes += block.signature.size();
  return Status::Ok();
}

void AnthropicReplyBuilder::TakeDelta(int64_t index, const JsonNode& piece, ModelDelta& delta) {
  // Nearly always the last block.
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
    if (block->index != index) continue;
    if (block->kind == Kind::kText) {
      only_text_ = StringAt(piece, "text");
      block_of_text_ = static_cast<size_t>(blocks_.rend() - block) - 1;
      AppendPiece(block->text, delta.text, only_text_);
    } else if (block->kind == Kind::kThinking) {
      AppendPiece(block->text, delta.reasoning, StringAt(piece, "thinking"));
      AppendHidden(block->signature, delta, StringAt(piece, "signature"));
    } else if (block->kind == Kind::kCall) {
      AppendHidden(block->text, delta, StringAt(piece, "partial_json"));
    }
    return;
  }
}

void AnthropicReplyBuilder::TakeText(std::string_view text, ModelDelta& delta) {
  AppendPiece(blocks_[block_of_text_].text, delta.text, text);
}

// The stream reports usage at the start and, with the final counts, at the end; counts that the end
// leaves out keep their value. The prompt count includes tokens read from a cache or written to it.
void AnthropicReplyBuilder::TakeUsage(const JsonNode& usage) {
  if (!usage_) usage_.emplace();
  const auto update = [&](const char* key, int64_t& count) {
    if (IntegerAt(usage, key)) count = CountAt(&usage, key);
  };
  int64_t fresh =
      usage_->prompt_tokens - usage_->cache_creation_input_tokens - usage_->cache_read_input_tokens;
  update("input_tokens", fresh);
  update("cache_creation_input_tokens", usage_->cache_creation_input_tokens);
  update("cache_read_input_tokens", usage_->cache_read_input_tokens);
  update("output_tokens", usage_->completion_tokens);
  if (const JsonNode* details = ObjectAt(usage, "output_tokens_details")) {
    usage_->reasoning_tokens = CountAt(details, "thinking_tokens");
  }
  usage_->prompt_tokens =
      fresh + usage_->cache_creation_input_tokens + usage_->cache_read_input_tokens;
  usage_->total_tokens = usage_->prompt_tokens + usage_->completion_tokens;
}

Status AnthropicReplyBuilder::MoveContent(std::vector<ContentBlock>& content) {
  for (Block& block : blocks_) {
    if (block.kind == Kind::kText) {
      if (!block.text.empty()) content.emplace_back(TextBlock{.text = std::move(block.text)});
    } else if (block.kind == Kind::kThinking || block.kind == Kind::kRedacted) {
      const bool redacted = block.kind == Kind::kRedacted;
      ReasoningBlock reasoning{.summary = std::move(block.text), .details = {}, .signature = {}};
      if (!block.signature.empty()) {
        reasoning.signature =
            MarkSignature(redacted ? kAnthropicRedacted : kAnthropicThinking, block.signature);
      }
      if (!reasoning.summary.empty() || !reasoning.signature.empty()) {
        content.emplace_back(std::move(reasoning));
      }
    } else if (block.kind == Kind::kCall) {
      AG_RETURN_IF_ERROR(
          AddToolCall(content, std::move(block.id), std::move(block.name), std::move(block.text)));
    }
  }
  if (content.empty()) content.emplace_back(TextBlock{});
  return Status::Ok();
}

}  // namespace agent_graph::models
