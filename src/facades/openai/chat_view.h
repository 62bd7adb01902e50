// A run as a client of Chat Completions sees it: one answer of the assistant, whatever the agent
// does in between.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/message.h"
#include "run/run_request.h"
#include "settings/settings.h"

namespace agent_graph::openai {

// The next piece for the client. Either text may be empty.
struct Piece {
  std::string content;
  std::string reasoning;

  bool empty() const { return content.empty() && reasoning.empty(); }
};

// Turns the messages of a run into the pieces of its answer. Used by one fiber.
class ChatView {
 public:
  using ShowTools = settings::OpenAiSettings::ShowTools;

  // `tools` are those of the client: a call of one, which has no result, is a part of the answer.
  ChatView(ShowTools show_tools, const std::vector<run::ClientTool>& tools);

  // A part of a message as its model produces it.
  Piece OnDelta(std::string_view message_id, std::string_view text, std::string_view reasoning);
  // A whole message, also if its parts were seen before.
  Piece OnMessage(const Message& message);
  // The run waits for its user: the client's calls that no tool node has handed out may be refused.
  void KeepCallsForLater();
  // True if the client has a part of this message.
  bool HasPartOf(std::string_view message_id) const;

  const std::vector<ToolCallBlock>& open_calls() const { return open_calls_; }
  const Usage& usage() const { return usage_; }
  // "tool_calls", "length", "content_filter" or "stop".
  std::string_view finish_reason() const;

 private:
  // A message of which the client has a part, in bytes.
  struct Partial {
    std::string message_id;
    size_t text = 0;
    size_t reasoning = 0;
  };

  Partial& PartialOf(std::string_view message_id);
  // Appends the text of a message to the piece, behind an empty line if another message has text.
  void Show(std::string_view message_id, std::string_view text, Piece& piece);
  void ShowTool(const std::string& line, Piece& piece) const;
  void TakeAnswer(const Message& message, Piece& piece);
  void HandOut(const ToolCallBlock& call);

  const ShowTools show_tools_;
  std::vector<std::string> tool_names_;
  std::vector<Partial> partials_;
  std::string last_shown_;  // id of the message whose text was shown last
  bool any_shown_ = false;
  std::vector<ToolCallBlock> open_calls_;
  Usage usage_;
  std::string stop_reason_;  // why the last answer of a model ended
};

}  // namespace agent_graph::openai
