// The events of a run as steps: each message of the assistant begins, grows by pieces of reasoning
// and text, calls tools and ends, whether its pieces were seen or it comes as a whole.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/message.h"
#include "api/stream/run_reader.h"

namespace agent_graph::facades {

// A message of the assistant, or one with results of tools.
struct MessageHead {
  std::string id;
  std::string node;
  int step = 0;
};

// Each call that fails ends the reading. OnStart, OnError, OnEnd and OnIdle are the subclass's.
class StepReader : public api::RunReader {
 public:
  // The sum of all model calls whose answers are in the conversation.
  const Usage& usage() const { return usage_; }
  // Calls of the client's tools that have no result.
  const std::vector<ToolCallBlock>& open_calls() const { return open_calls_; }
  // Why the last model call ended, as its provider reports it; empty: not known.
  const std::string& stop_reason() const { return stop_reason_; }

  Status OnDelta(const run::RunDelta& delta, const api::EventPlace& place, bool is_first) final;
  Status OnMessage(const api::MessageEvent& event, const api::EventPlace& place) final;
  Status OnReset(std::string_view message_id, uint32_t attempt) final;

 private:
  virtual Status OnMessageStarted(const MessageHead& head, const api::EventPlace& place) = 0;
  // The pieces of a message make up its text, and its reasoning.
  virtual Status OnText(const MessageHead& head, std::string_view text,
                        const api::EventPlace& place) = 0;
  virtual Status OnReasoning(const MessageHead& head, std::string_view text,
                             const api::EventPlace& place) = 0;
  // A call that the client executes comes twice: in the answer of the model, and then, with
  // ToolCallBlock::remote, in the message that hands it to the client, which is `head`.
  virtual Status OnToolCall(const MessageHead& head, const ToolCallBlock& call,
                            const api::EventPlace& place) = 0;
  virtual Status OnMessageFinished(const MessageHead& head, const Message& message,
                                   const api::EventPlace& place) = 0;
  // `head` is that of the message with the result.
  virtual Status OnToolResult(const MessageHead& head, const ToolResultBlock& result,
                              const api::EventPlace& place) = 0;
  // The shown pieces of the message are void: another attempt produces its own.
  virtual Status OnMessageVoid(const MessageHead& head, uint32_t attempt) = 0;

  // A message of which pieces were shown, in bytes.
  struct Partial {
    MessageHead head;
    size_t text = 0;
    size_t reasoning = 0;
  };
  Result<Partial*> Begin(std::string_view id, std::string_view node, int step,
                         const api::EventPlace& place);
  Status FinishAnswer(const api::MessageEvent& event, const Message& message,
                      const api::EventPlace& place);

  std::vector<Partial> partials_;
  std::vector<ToolCallBlock> open_calls_;
  Usage usage_;
  std::string stop_reason_;
};

}  // namespace agent_graph::facades
