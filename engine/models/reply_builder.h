// Builds one reply from what a provider sends: the chunks of a stream, or one complete document.
// This base class has the common parts; each provider has a subclass for its format.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "models/json_tree.h"
#include "models/model.h"
#include "models/repeated_chunk.h"

namespace agent_graph::models {

inline constexpr size_t kToolCallsMax = 128;
inline constexpr size_t kBlocksMax = 1024;

// For one reply, used by one fiber.
class ReplyBuilder {
 public:
  virtual ~ReplyBuilder() = default;

  // Reads one chunk or complete document and returns the text that it adds. Failures are kModel:
  // malformed JSON, or an error that the provider reports instead of a chunk.
  Result<ModelDelta> Add(std::string_view json);

  // The provider has sent a stop reason: the reply is complete even if the stream breaks off now.
  bool complete() const { return !stop_reason_.empty(); }
  // The provider has marked the end of the stream.
  bool ended() const { return ended_; }
  // After a failure: the chunk was not valid, perhaps because it was cut.
  bool failed_malformed() const { return failed_malformed_; }
  // After a failure: a retry may succeed.
  bool failure_may_pass() const { return failure_may_pass_; }

  // `ended`: the provider has marked the end of the stream. kModel if the reply is incomplete.
  Result<ModelReply> Finish(bool ended);

 protected:
  // Reads a chunk that is not an error, and appends to `delta` what it adds.
  virtual Status Take(const JsonNode& chunk, ModelDelta& delta) = 0;
  // Does what Take did for the last chunk with an only_text_, now with this text.
  virtual void TakeText(std::string_view, ModelDelta&) {}
  // Moves the blocks of the complete reply to `content`.
  virtual Status MoveContent(std::vector<ContentBlock>& content) = 0;

  void Stop(std::string_view provider_reason);
  void MarkEnd() { ended_ = true; }
  Status PassingFailure(std::string text);

  static Status TooManyCalls();
  static Status TooManyBlocks();
  // Empty arguments become {}, and those that are not an object BrokenArguments. kModel if the name
  // is missing. A missing id is generated.
  static Result<ToolCallBlock> MakeToolCall(std::string id, std::string name,
                                            std::string arguments);
  // Appends the call. Leaves it out if the limit of tokens has cut its arguments, so that the rest
  // of the reply can be used. For MoveContent.
  Status AddToolCall(std::vector<ContentBlock>& content, std::string id, std::string name,
                     std::string arguments) const;

  bool begun_ = false;  // a part of the reply has arrived
  // Take sets this to the text of a string in the chunk if appending that text is all that the
  // chunk does.
  std::string_view only_text_;
  std::string model_;
  std::optional<Usage> usage_;

 private:
  Result<ModelDelta> AddText(std::string_view text);
  Status ReportedError(const JsonNode& error);
  Status Malformed();

  RepeatedChunk repeated_;
  std::string stop_reason_;
  bool ended_ = false;
  bool failure_may_pass_ = false;
  bool failed_malformed_ = false;
};

}  // namespace agent_graph::models
