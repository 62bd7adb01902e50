// Builds the reply of Anthropic's Messages API from the events of its stream, or from one complete
// message. Blocks keep their order and thinking keeps its signature, because both must be sent back
// unchanged. Unknown events and blocks are ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/reply_builder.h"

namespace agent_graph::models {

class AnthropicReplyBuilder : public ReplyBuilder {
 protected:
  Status Take(const JsonNode& event, ModelDelta& delta) override;
  void TakeText(std::string_view text, ModelDelta& delta) override;
  Status MoveContent(std::vector<ContentBlock>& content) override;

 private:
  enum class Kind : uint8_t { kText, kThinking, kRedacted, kCall, kOther };
  struct Block {
    int64_t index = 0;
    Kind kind = Kind::kOther;
    std::string text;  // content of a text or thinking block; arguments of a call
    std::string signature;
    std::string id;
    std::string name;
  };

  void TakeMessage(const JsonNode& message);
  Status TakeWhole(const JsonNode& message, ModelDelta& delta);
  Status StartBlock(int64_t index, const JsonNode& piece, ModelDelta& delta);
  void TakeDelta(int64_t index, const JsonNode& piece, ModelDelta& delta);
  void TakeUsage(const JsonNode& usage);

  std::vector<Block> blocks_;
  size_t block_of_text_ = 0;  // to which only_text_ was appended
  size_t calls_ = 0;
};

}  // namespace agent_graph::models
