// Assembles the reply of an OpenAI-compatible chat completions call from its chunks, or from one
// whole completion.
//
// Tolerated: chunks without choices, tool calls without index or id, arguments as an object,
// `reasoning` for `reasoning_content`, usage on any chunk (the last wins), keys of any other kind.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "models/model.h"

namespace agent_graph::models {

inline constexpr size_t kToolCallsMax = 128;

// One reply; one fiber.
class ChatReplyBuilder {
 public:
  // Takes one chunk or whole completion and says what it adds to the text. Failures are kModel:
  // malformed JSON, or an error that the provider reports in place of a chunk.
  Result<ModelDelta> Add(std::string_view json);

  // The provider said why it stopped: the reply is complete even if the stream breaks off now.
  bool complete() const { return !stop_reason_.empty(); }

  // `ended` tells that the provider marked the end of the stream. kModel when the reply is cut.
  Result<ModelReply> Finish(bool ended);

 private:
  struct Call {
    std::optional<int64_t> index;
    std::string id;
    std::string name;
    std::string arguments;
  };
  struct Parts;  // the JSON library stays out of this header

  Call* FindCall(std::optional<int64_t> index, std::string_view id, bool named);

  std::array<unsigned char, 4096> scratch_;  // memory of one parsed chunk
  bool has_choice_ = false;
  std::string model_;
  std::string text_;
  std::string reasoning_;
  std::string stop_reason_;
  std::vector<Call> calls_;
  std::optional<Usage> usage_;
};

}  // namespace agent_graph::models
