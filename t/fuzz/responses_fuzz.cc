// Arbitrary bodies and ids of the Responses API: parsing must be safe, every refusal must be an
// error object in valid JSON, and an id that is understood names one object.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "agent_graph/json.h"
#include "api/http/fields.h"
#include "base/json.h"
#include "facades/openai/input_items.h"
#include "facades/openai/model_options.h"
#include "facades/openai/object_ids.h"
#include "facades/openai/request_note.h"
#include "facades/openai/response_request.h"
#include "facades/openai/response_shapes.h"
#include "facades/openai/stored_items.h"
#include "message/codec.h"
#include "models/call_options.h"
#include "openai_checks.h"
#include "settings/media_urls.h"

namespace agent_graph::openai {
namespace {

constexpr size_t kItemBytesMax = 64 * 1024;

void ReadIds(std::string_view text) {
  if (const auto name = ParseResponseId(text)) MustHold(ResponseId(*name) == text);
  if (const auto name = ParseItemId(text)) MustHold(ItemId(*name) == text);
}

void ReadOptions(const json& body, api::Problems& problems) {
  const auto options = ReadResponseOptions(body, problems);
  if (options == nullptr) return;
  MustHold(ParseJson(options->parameters_json).ok());
  MustHold(models::CallOptionsFromJson(models::ToJson(*options)).ok());
}

void ReadItems(const json& input, size_t size, api::Problems& problems) {
  static const settings::MediaUrls kMediaUrls;
  const auto find = [](const ItemName&) { return Result<Message>(NotFound("no item")); };
  const std::vector<Message> read =
      ReadInput(input, {kMediaUrls, size, kItemBytesMax}, find, problems);
  for (Message message : read) {
    MustHold(message::FromJsonText(message::ToJsonText(message)).ok());
    message.id = "m";
    std::vector<std::string> items;
    AppendInputItems("t", message, items);
    for (const std::string& item : items) MustHold(ParseJson(item).ok());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ReadIds(text);
  const Result<json> body = ParseJson(text);
  if (!body.ok() || !body->is_object()) return 0;
  if (const auto unsupported = FindUnsupportedInResponse(*body)) MustBeAnError(*unsupported);
  api::Problems problems;
  api::CheckFields(*body, kResponseBody.fields, {"body"}, problems);
  if (problems.empty()) {
    MustHold(ParseJson(RequestNote(*body, true, "")).ok());
    ReadOptions(*body, problems);
    ReadItems(body->at("input"), size, problems);
  }
  if (!problems.empty()) MustBeAnError(std::move(problems).Error());
  return 0;
}

}  // namespace agent_graph::openai
