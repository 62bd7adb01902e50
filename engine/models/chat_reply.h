// Builds the reply of an OpenAI-compatible chat completions call from its chunks, or from one
// complete completion.
//
// Tolerated: chunks without choices, tool calls without index or id, arguments as an object,
// `reasoning` instead of `reasoning_content`, usage on any chunk (the last one is used), unknown
// keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/reply_builder.h"

namespace agent_graph::models {

class ChatReplyBuilder : public ReplyBuilder {
 protected:
  Status Take(const JsonNode& chunk, ModelDelta& delta) override;
  void TakeText(std::string_view text, ModelDelta& delta) override;
  Status MoveContent(std::vector<ContentBlock>& content) override;

 private:
  struct Call {
    std::optional<int64_t> index;
    std::string id;
    std::string name;
    std::string arguments;
  };

  Call* FindCall(std::optional<int64_t> index, std::string_view id, bool named);
  Status TakeCall(const JsonNode& piece, ModelDelta& delta);
  Status TakeMessage(const JsonNode& message, ModelDelta& delta);
  void FindOnlyText(const JsonNode& message, const ModelDelta& delta);

  std::string text_;
  std::string reasoning_;
  bool refused_ = false;
  bool only_reasons_ = false;  // only_text_ belongs to the reasoning
  std::vector<Call> calls_;
};

}  // namespace agent_graph::models
