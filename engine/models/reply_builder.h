// Assembles one reply from what a provider sends: the chunks of a stream, or one whole document.
// What all providers have in common is here; each has a subclass for its own chunks.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "models/json_tree.h"
#include "models/model.h"

namespace agent_graph::models {

inline constexpr size_t kToolCallsMax = 128;
inline constexpr size_t kBlocksMax = 1024;

// One reply; one fiber.
class ReplyBuilder {
 public:
  virtual ~ReplyBuilder() = default;

  // Takes one chunk or whole document and says what it adds to the text. Failures are kModel:
  // malformed JSON, or an error that the provider reports in place of a chunk.
  Result<ModelDelta> Add(std::string_view json);

  // The provider said why it stopped: the reply is complete even if the stream breaks off now.
  bool complete() const { return !stop_reason_.empty(); }
  // The provider marked the end; nothing follows.
  bool ended() const { return ended_; }
  // After a failure: the provider may do better when it is asked again.
  bool failure_may_pass() const { return failure_may_pass_; }

  // `ended` tells that the provider marked the end of the stream. kModel when the reply is cut.
  Result<ModelReply> Finish(bool ended);

 protected:
  // Takes a chunk that is no error, and appends to `delta` what it adds.
  virtual Status Take(const JsonNode& chunk, ModelDelta& delta) = 0;
  // Moves the blocks of the complete reply to `content`.
  virtual Status MoveContent(std::vector<ContentBlock>& content) = 0;

  void Stop(std::string_view provider_reason);
  void MarkEnd() { ended_ = true; }
  Status PassingFailure(std::string text);

  static Status TooManyCalls();
  static Status TooManyBlocks();
  // Text becomes arguments; nothing becomes {}. kModel without a name, or when the arguments are
  // no object. An id is made when there is none.
  static Result<ToolCallBlock> MakeToolCall(std::string id, std::string name,
                                            std::string arguments);

  bool begun_ = false;  // something of the reply was seen
  std::string model_;
  std::optional<Usage> usage_;

 private:
  Status ReportedError(const JsonNode& error);

  std::string stop_reason_;
  bool ended_ = false;
  bool failure_may_pass_ = false;
};

}  // namespace agent_graph::models
