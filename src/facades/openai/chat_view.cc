#include "facades/openai/chat_view.h"

#include <algorithm>

#include "base/text.h"
#include "facades/run/answer_parts.h"
#include "message/reader.h"

namespace agent_graph::openai {
namespace {

constexpr size_t kToolLineBytesMax = 1000;

}  // namespace

ChatView::ChatView(ShowTools show_tools, const std::vector<run::ClientTool>& tools)
    : show_tools_(show_tools) {
  for (const run::ClientTool& tool : tools) tool_names_.push_back(tool.name);
}

ChatView::Partial& ChatView::PartialOf(std::string_view message_id) {
  for (Partial& partial : partials_) {
    if (partial.message_id == message_id) return partial;
  }
  return partials_.emplace_back(Partial{std::string(message_id)});
}

bool ChatView::HasPartOf(std::string_view message_id) const {
  return std::ranges::any_of(
      partials_, [&](const Partial& partial) { return partial.message_id == message_id; });
}

void ChatView::Show(std::string_view message_id, std::string_view text, Piece& piece) {
  if (text.empty()) return;
  if (any_shown_ && last_shown_ != message_id) piece.content += "\n\n";
  if (last_shown_ != message_id) last_shown_ = message_id;
  any_shown_ = true;
  piece.content += text;
}

Piece ChatView::OnDelta(std::string_view message_id, std::string_view text,
                        std::string_view reasoning) {
  Partial& partial = PartialOf(message_id);
  partial.text += text.size();
  partial.reasoning += reasoning.size();
  Piece piece;
  piece.reasoning = reasoning;
  Show(message_id, text, piece);
  return piece;
}

Piece ChatView::OnMessage(const Message& message) {
  Piece piece;
  if (message.role == Role::kAssistant) {
    TakeAnswer(message, piece);
  } else {
    // A tool node hands calls to the client, perhaps in a later run than that of the model's
    // message.
    for (const ToolCallBlock* call : message.ToolCalls()) HandOut(*call);
  }
  for (const ToolResultBlock* result : message.ToolResults()) {
    const auto call = std::ranges::find(open_calls_, result->call_id, &ToolCallBlock::id);
    if (call != open_calls_.end()) open_calls_.erase(call);
    ShowTool("-> " + result->output_json, piece);
  }
  return piece;
}

void ChatView::HandOut(const ToolCallBlock& call) {
  const auto known = std::ranges::find(open_calls_, call.id, &ToolCallBlock::id);
  if (known == open_calls_.end()) {
    open_calls_.push_back(call);
  } else {
    known->remote = true;
  }
}

void ChatView::KeepCallsForLater() {
  std::erase_if(open_calls_, [](const ToolCallBlock& call) { return !call.remote; });
}

void ChatView::TakeAnswer(const Message& message, Piece& piece) {
  const Partial partial = PartialOf(message.id);
  std::erase_if(partials_,
                [&](const Partial& known) { return known.message_id == partial.message_id; });
  piece.reasoning = facades::RestOf(message::ReasoningOfBlocks(message), partial.reasoning);
  Show(message.id, facades::RestOf(message.Text(), partial.text), piece);
  for (const ToolCallBlock* call : message.ToolCalls()) {
    if (std::ranges::find(tool_names_, call->name) != tool_names_.end()) {
      open_calls_.push_back(*call);
    } else {
      ShowTool(call->name + " " + call->arguments_json, piece);
    }
  }
  if (message.usage) facades::AddUsage(*message.usage, usage_);
  stop_reason_ = facades::StopReasonOf(message);
}

void ChatView::ShowTool(const std::string& line, Piece& piece) const {
  if (show_tools_ == ShowTools::kHidden) return;
  std::string& shown = show_tools_ == ShowTools::kContent ? piece.content : piece.reasoning;
  shown += '\n' + OneLine(line, kToolLineBytesMax) + '\n';
}

std::string_view ChatView::finish_reason() const {
  if (!open_calls_.empty()) return "tool_calls";
  if (stop_reason_ == "length" || stop_reason_ == "content_filter") return stop_reason_;
  return "stop";
}

}  // namespace agent_graph::openai
