// Arbitrary bodies of AG-UI: parsing must be safe, every refusal must be an error in valid JSON,
// and messages that were accepted must come back to clients as valid JSON.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent_graph/json.h"
#include "api/http/fields.h"
#include "base/json.h"
#include "facades/agui/agui_messages.h"
#include "facades/agui/agui_request.h"
#include "facades/agui/agui_shapes.h"
#include "facades/agui/errors.h"
#include "facades/agui/event_stream.h"
#include "message/codec.h"
#include "settings/media_urls.h"

namespace agent_graph::agui {
namespace {

constexpr size_t kMessageBytesMax = 64 * 1024;

void Require(bool condition) {
  if (!condition) std::abort();
}

void RefusalIsAnError(const api::ErrorInfo& error) {
  const api::Reply reply = RenderError(error, "id");
  Require(reply.status == 422);
  const json body = json::parse(reply.body, nullptr, false);
  Require(!body.is_discarded() && body.at("type") == "RUN_ERROR" && body.at("message").is_string());
}

// Each event is one line of valid JSON.
void EventsAreFrames(std::string_view text) {
  while (!text.empty()) {
    const size_t end = text.find("\n\n");
    Require(end != std::string_view::npos && text.starts_with("data: "));
    const json event = json::parse(text.substr(6, end - 6), nullptr, false);
    Require(event.is_object() && event.at("type").is_string());
    text.remove_prefix(end + 2);
  }
}

void Show(const std::vector<Message>& messages) {
  MessageList list;
  EventStream stream;
  for (const Message& message : messages) {
    list.Append(message);
    stream.EnterStep("NODE");
    stream.Reasoning(message.id, message.reasoning);
    stream.Text(message.id, message.Text());
    for (const ToolCallBlock* call : message.ToolCalls()) stream.Call(message.id, *call);
    for (const ToolResultBlock* result : message.ToolResults()) stream.Result(message.id, *result);
    stream.FinishMessage(message);
  }
  stream.Close();
  EventsAreFrames(stream.Take());
  const json shown = json::parse(list.Json(), nullptr, false);
  Require(shown.is_array());
  list.KeepLast(kMessageBytesMax);
  Require(list.bytes() <= kMessageBytesMax);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<json> body = ParseJson(text);
  if (!body.ok() || !body->is_object()) return 0;
  api::Problems problems;
  api::CheckFields(*body, kRunAgentInput.fields, {"body"}, problems);
  if (!problems.empty()) {
    RefusalIsAnError(std::move(problems).Error());
    return 0;
  }
  static const settings::MediaUrls kMediaUrls;
  const json& messages = body->at("messages");
  Require(TailOf(messages) <= messages.size());
  // All but reasoning without an answer, which is only shown.
  const std::vector<size_t> added = NewMessages(messages, {});
  const std::vector<size_t> tail = IndicesFrom(messages, TailOf(messages));
  Require(std::ranges::includes(tail, added));
  Require(MessageIdsOf(messages).size() <= messages.size());
  const std::vector<Message> read = ReadMessages(messages, IndicesFrom(messages, 0),
                                                 {kMediaUrls, size, kMessageBytesMax}, problems);
  if (!problems.empty()) {
    RefusalIsAnError(std::move(problems).Error());
    return 0;
  }
  for (const Message& message : read) {
    Require(message::FromJsonText(message::ToJsonText(message)).ok());
  }
  Show(read);
  return 0;
}

}  // namespace agent_graph::agui
