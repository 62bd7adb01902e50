// Arbitrary bodies of chat completions: parsing must be safe, and every refusal must be an error
// object in valid JSON.
#include <cstdint>
#include <string_view>
#include <utility>

#include "agent_graph/json.h"
#include "api/http/fields.h"
#include "base/json.h"
#include "facades/openai/chat_messages.h"
#include "facades/openai/chat_request.h"
#include "facades/openai/chat_shapes.h"
#include "facades/openai/model_options.h"
#include "message/codec.h"
#include "openai_checks.h"
#include "settings/media_urls.h"

namespace agent_graph::openai {
namespace {

constexpr size_t kMessageBytesMax = 64 * 1024;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<json> body = ParseJson(text);
  if (!body.ok() || !body->is_object()) return 0;
  if (const auto unsupported = FindUnsupported(*body)) MustBeAnError(*unsupported);
  api::Problems problems;
  api::CheckFields(*body, kChatBody.fields, {"body"}, problems);
  if (!problems.empty()) {
    MustBeAnError(std::move(problems).Error());
    return 0;
  }
  static const settings::MediaUrls kMediaUrls;
  const json& messages = body->at("messages");
  (void)ReadChatOptions(*body, problems);
  const size_t tail = TailOf(messages);
  MustHold(tail <= messages.size());
  const std::vector<Message> read =
      ReadChatMessages(messages, 0, {kMediaUrls, size, kMessageBytesMax}, problems);
  if (!problems.empty()) {
    MustBeAnError(std::move(problems).Error());
    return 0;
  }
  MustHold(read.size() == messages.size());
  for (const Message& message : read) {
    MustHold(message::FromJsonText(message::ToJsonText(message)).ok());
  }
  return 0;
}

}  // namespace agent_graph::openai
