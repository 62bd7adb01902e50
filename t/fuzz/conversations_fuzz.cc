// Arbitrary bodies and queries of the Conversations API: parsing must be safe, every refusal must
// be an error object in valid JSON, a conversation has the metadata that were asked for, and pages
// of items are as long as they may be. An input is a query, a line feed and a body.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent_graph/json.h"
#include "api/http/fields.h"
#include "api/http/query.h"
#include "base/json.h"
#include "facades/openai/conversation_object.h"
#include "facades/openai/conversation_shapes.h"
#include "facades/openai/input_items.h"
#include "facades/openai/item_page.h"
#include "facades/openai/response_shapes.h"
#include "facades/openai/stored_items.h"
#include "message/codec.h"
#include "openai_checks.h"
#include "settings/media_urls.h"

namespace agent_graph::openai {
namespace {

constexpr size_t kConversationItemBytesMax = 64 * 1024;

json MetadataOfConversation(const std::string& stored_json) {
  state::ThreadRecord thread;
  thread.thread_id = "t";
  thread.metadata_json = stored_json;
  const Result<json> conversation = ParseJson(ConversationJson(thread));
  MustHold(conversation.ok());
  return conversation->at("metadata");
}

// Any JSON may be stored as the metadata of a thread: other parts of the API write it too.
void ChangeMetadata(json stored, const json* metadata) {
  const std::string stored_json = DumpJson(stored);
  MustHold(MetadataOfConversation(stored_json).is_object());
  stored.merge_patch(MetadataChange(stored_json, metadata));
  MustHold(MetadataOfConversation(DumpJson(stored)) ==
           (metadata != nullptr ? *metadata : json::object()));
}

std::vector<std::string> ReadConversationItems(const json& items, size_t size,
                                               api::Problems& problems) {
  static const settings::MediaUrls kMediaUrls;
  const auto find = [](const ItemName&) { return Result<Message>(NotFound("no item")); };
  std::vector<Message> messages = ReadItems(
      items, {"body", "items"}, {kMediaUrls, size, kConversationItemBytesMax}, find, problems);
  std::vector<std::string> shown;
  if (!problems.empty()) return shown;
  for (size_t i = 0; i < messages.size(); ++i) {
    messages[i].id = "m" + std::to_string(i);
    MustHold(message::FromJsonText(message::ToJsonText(messages[i])).ok());
    AppendInputItems("t", messages[i], shown);
  }
  return shown;
}

// Shows `items` in the pages that a client with this query reads one after the other.
void ShowPages(std::string_view text, std::vector<std::string> items) {
  const api::Query query(text);
  api::Problems problems;
  const int64_t limit = api::ReadInteger(query, kLimitField, problems);
  const bool newest_first = api::ReadChoice(query, kOrderField, problems) == 1;
  if (!problems.empty()) return MustBeAnError(std::move(problems).Error());
  MustHold(limit >= 1);
  if (newest_first) std::ranges::reverse(items);
  RemoveThrough(std::string(query.Find("after").value_or("")), items);
  do {
    ItemPage page(static_cast<size_t>(limit), std::numeric_limits<uint64_t>::max());
    page.Take(items);
    const Result<json> shown = ParseJson(page.Json());
    MustHold(shown.ok());
    const json& data = shown->at("data");
    MustHold(data.size() == std::min(static_cast<size_t>(limit), items.size()));
    MustHold(page.has_more() == (data.size() < items.size()));
    if (items.empty()) return;
    const std::string last = shown->at("last_id").get<std::string>();
    MustHold(data.back().at("id") == last && data.front().at("id") == shown->at("first_id"));
    MustHold(RemoveThrough(last, items) && !RemoveThrough(last, items));
  } while (!items.empty());
}

void TryBody(const json& body, const api::FieldTable& table, std::string_view query, size_t size) {
  api::Problems problems;
  api::CheckFields(body, table.fields, {"body"}, problems);
  if (!problems.empty()) return MustBeAnError(std::move(problems).Error());
  const bool has_metadata = &table != &kNewItemsBody;
  if (has_metadata) CheckConversationMetadata(body, problems);
  std::vector<std::string> items;
  if (const json* given = api::FindMember(body, "items")) {
    if (&table != &kConversationChangeBody) items = ReadConversationItems(*given, size, problems);
  }
  if (!problems.empty()) return MustBeAnError(std::move(problems).Error());
  if (has_metadata) ChangeMetadata(body, api::FindMember(body, "metadata"));
  ShowPages(query, std::move(items));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view query = text.substr(0, end);
  ShowPages(query, {});
  const Result<json> body = ParseJson(text.substr(std::min(end + 1, text.size())));
  if (!body.ok() || !body->is_object()) return 0;
  for (const api::FieldTable* table :
       {&kConversationBody, &kConversationChangeBody, &kNewItemsBody}) {
    TryBody(*body, *table, query, size);
  }
  return 0;
}

}  // namespace agent_graph::openai
