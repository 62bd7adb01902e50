#include "cli/chat_view.h"

#include <algorithm>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/terminal_text.h"

namespace agent_graph::cli {
namespace {

constexpr size_t kShownBytesMax = 300;

// The text of a member; empty if it is absent or no text.
std::string TextAt(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string Shown(const json& value) {
  const std::string text = value.is_string() ? value.get<std::string>() : DumpJson(value);
  const std::string line = OneLine(text, kShownBytesMax);
  return line.size() < text.size() ? line + "…" : line;
}

}  // namespace

void ChatView::Show(std::string_view line) {
  const Result<json> chunk = ParseJson(line);
  if (!chunk.ok() || !chunk->is_object()) return;
  const std::string event = TextAt(*chunk, "event");
  if (event == "message" && chunk->contains("message") && chunk->at("message").is_object()) {
    ShowMessage(chunk->at("message"));
  }
  if (event == "error" && chunk->contains("data") && chunk->at("data").is_object()) {
    failed_ = true;
    PrintLine("error: " + TextAt(chunk->at("data"), "reason"));
  }
  std::fflush(out_);
}

void ChatView::ShowMessage(const json& message) {
  const std::string id = TextAt(message, "message_id");
  const bool is_delta = message.value("delta", json(false)) == true;
  const auto content = message.find("content");
  if (content == message.end() || !content->is_array()) return;
  if (is_delta) {
    streamed_.insert(id);
    for (const json& block : *content) {
      if (block.is_object() && TextAt(block, "type") == "text") PrintText(TextAt(block, "text"));
    }
    return;
  }
  const bool has_streamed = streamed_.erase(id) > 0;
  for (const json& block : *content) {
    if (block.is_object()) ShowBlock(block, has_streamed);
  }
  EndLine();
}

void ChatView::ShowBlock(const json& block, bool has_streamed) {
  const std::string type = TextAt(block, "type");
  if (type == "text" && !has_streamed) PrintText(TextAt(block, "text"));
  if (type == "tool_call") ShowCall(block);
  if (type == "tool_result") ShowResult(block);
}

void ChatView::ShowCall(const json& block) {
  const json arguments = block.value("args", json::object());
  open_calls_.push_back(
      {.id = TextAt(block, "id"), .name = TextAt(block, "name"), .arguments = DumpJson(arguments)});
  PrintLine("-> " + open_calls_.back().name + " " + Shown(arguments));
}

void ChatView::ShowResult(const json& block) {
  const std::string id = TextAt(block, "call_id");
  std::string name = "result";
  const auto call = std::ranges::find(open_calls_, id, &OpenCall::id);
  if (call != open_calls_.end()) {
    name = call->name;
    open_calls_.erase(call);
  }
  const bool is_error = block.value("is_error", json(false)) == true;
  PrintLine("<- " + name + (is_error ? " failed: " : ": ") + Shown(block.value("output", json())));
}

std::string ChatView::ArgumentsOf(std::string_view call_id) const {
  const auto call = std::ranges::find(open_calls_, call_id, &OpenCall::id);
  return call != open_calls_.end() ? call->arguments : "";
}

void ChatView::PrintText(const std::string& text) {
  std::fputs(TerminalText(text).c_str(), out_);
  if (!text.empty()) in_line_ = text.back() != '\n';
}

void ChatView::PrintLine(const std::string& line) {
  EndLine();
  std::fprintf(out_, "%s\n", TerminalText(line).c_str());
}

void ChatView::EndLine() {
  if (in_line_) std::fputc('\n', out_);
  in_line_ = false;
}

}  // namespace agent_graph::cli
