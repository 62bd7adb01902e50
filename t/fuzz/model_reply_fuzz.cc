// Arbitrary replies of model providers, one chunk per line, as each dialect reads them: reading
// must be safe, a complete reply must be a message that can be stored and read again, and a chunk
// that repeats the one before must add what it adds when it is parsed.
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "agent_graph/json.h"
#include "base/utf8.h"
#include "message/codec.h"
#include "models/anthropic_reply.h"
#include "models/chat_reply.h"
#include "models/gemini_reply.h"

namespace agent_graph::models {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckMessage(const Message& message) {
  const std::string stored = message::ToJsonText(message);
  Require(IsUtf8(stored) && message::FromJsonText(stored).ok());
  std::set<std::string> ids;
  for (const ToolCallBlock* call : message.ToolCalls()) {
    Require(!call->id.empty() && !call->name.empty() && ids.insert(call->id).second);
    Require(json::parse(call->arguments_json, nullptr, false).is_object());
  }
  Require(ids.size() <= kToolCallsMax);
}

template <typename Builder>
void Read(std::string_view text) {
  Builder builder;
  Builder parsing;  // no chunk repeats the one before, because every second one begins with a blank
  std::string blank;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view chunk = text.substr(0, end);
    const Result<ModelDelta> delta = builder.Add(chunk);
    const Result<ModelDelta> parsed = parsing.Add(blank + std::string(chunk));
    blank = blank.empty() ? " " : "";
    Require(delta.ok() == parsed.ok());
    if (!delta.ok()) {
      Require(delta.status().code() == StatusCode::kModel);
      return;
    }
    Require(delta->text == parsed->text && delta->reasoning == parsed->reasoning);
    Require(delta->usage.has_value() == parsed->usage.has_value());
    if (builder.ended() || end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  const Result<ModelReply> reply = builder.Finish(true);
  const Result<ModelReply> expected = parsing.Finish(true);
  Require(reply.ok() == expected.ok());
  if (!reply.ok()) {
    Require(reply.status().code() == StatusCode::kModel);
    return;
  }
  Require(!reply->stop_reason.empty());
  Require(reply->message.Text() == expected->message.Text());
  CheckMessage(reply->message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Read<ChatReplyBuilder>(text);
  Read<AnthropicReplyBuilder>(text);
  Read<GeminiReplyBuilder>(text);
  return 0;
}

}  // namespace agent_graph::models
