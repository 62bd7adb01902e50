// Builds the reply of Gemini's generateContent from the chunks of its stream, or from one complete
// response. Parts keep their order and their signatures, because Gemini requires them back
// unchanged. Unknown parts are ignored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/reply_builder.h"

namespace agent_graph::models {

class GeminiReplyBuilder : public ReplyBuilder {
 protected:
  Status Take(const JsonNode& chunk, ModelDelta& delta) override;
  Status MoveContent(std::vector<ContentBlock>& content) override;

 private:
  Status TakeFinish(const JsonNode& candidate);
  Status TakePart(const JsonNode& part, ModelDelta& delta);
  ReasoningBlock& UnsignedReasoning();
  void TakeThought(std::string_view text, std::string_view signature);
  void TakeText(std::string_view text, bool is_signed);
  Status TakeCall(const JsonNode& function, ModelDelta& delta);
  void SignNext(std::string_view signature);

  std::vector<ContentBlock> content_;
  bool text_open_ = false;  // the last block is a text that more text may be appended to
  size_t calls_ = 0;
};

}  // namespace agent_graph::models
