// Writes messages for clients.
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/json_array.h"
#include "base/own_json.h"
#include "facades/agui/agui_messages.h"
#include "facades/run/attachments.h"
#include "facades/run/body_members.h"
#include "facades/run/json_member.h"
#include "facades/run/signed_reasoning.h"
#include "message/reader.h"
#include "message/texts.h"

namespace agent_graph::agui {
namespace {

using facades::AppendMember;

constexpr std::string_view kUnknownType = "application/octet-stream";
constexpr std::string_view kAttachmentsPrefix = "attachments-";

std::string_view NameOf(MediaBlock::Type type) {
  switch (type) {
    case MediaBlock::Type::kImage:
      return "image";
    case MediaBlock::Type::kAudio:
      return "audio";
    case MediaBlock::Type::kVideo:
      return "video";
    case MediaBlock::Type::kDocument:
      return "document";
  }
  return "document";
}

void AppendMedia(std::string& out, const MediaBlock& block) {
  const MediaReference& media = block.media;
  out += "{\"type\":\"";
  out += NameOf(block.type);
  out += "\",\"source\":{\"type\":";
  out += media.kind == MediaReference::Kind::kUrl    ? "\"url\""
         : media.kind == MediaReference::Kind::kData ? "\"data\""
                                                     : "\"file\"";
  AppendMember(out, "value",
               media.kind == MediaReference::Kind::kUrl    ? media.url
               : media.kind == MediaReference::Kind::kData ? media.data_base64
                                                           : media.file_id);
  if (!media.mime_type.empty()) {
    AppendMember(out, "mimeType", media.mime_type);
  } else if (media.kind == MediaReference::Kind::kData) {
    AppendMember(out, "mimeType", kUnknownType);
  }
  out += "}}";
}

bool HasMedia(const Message& message) {
  return std::ranges::any_of(message.content, [](const ContentBlock& block) {
    return std::holds_alternative<MediaBlock>(block);
  });
}

// A text, or parts if there is more than a text.
void AppendContent(std::string& out, const Message& message) {
  out += ",\"content\":";
  const bool has_texts = message.role == Role::kUser && message::Texts(message).size() > 1;
  if (!has_texts && !HasMedia(message)) {
    return AppendJsonString(out, message::JoinedTexts(message));
  }
  out += '[';
  for (const ContentBlock& block : message.content) {
    const auto* text = std::get_if<TextBlock>(&block);
    const auto* media = std::get_if<MediaBlock>(&block);
    if (text == nullptr && media == nullptr) continue;
    if (out.back() != '[') out += ',';
    if (media != nullptr) {
      AppendMedia(out, *media);
    } else {
      out += "{\"type\":\"text\"";
      AppendMember(out, "text", text->text);
      out += '}';
    }
  }
  out += ']';
}

// A client may send null for a member that it does not use, and accepts none. The values in
// `metadata` are its own.
json WithoutNulls(const json& value) {
  if (!value.is_structured()) return value;
  json kept = value.is_object() ? json::object() : json::array();
  if (value.is_array()) {
    for (const json& element : value) kept.push_back(WithoutNulls(element));
    return kept;
  }
  for (const auto& [name, member] : value.items()) {
    if (!member.is_null()) kept[name] = name == "metadata" ? member : WithoutNulls(member);
  }
  return kept;
}

}  // namespace

std::string ReasoningId(std::string_view message_id, size_t index) {
  std::string id = "reasoning-";
  id += message_id;
  if (index > 0) id += '-' + std::to_string(index + 1);
  return id;
}

std::string ResultId(std::string_view message_id, size_t index) {
  std::string id(message_id);
  if (index > 0) id += '-' + std::to_string(index + 1);
  return id;
}

std::string MessageOfResult(const std::string& result_id) {
  const size_t end = result_id.find_last_not_of("0123456789");
  const bool has_index = end != std::string::npos && end > 0 && end + 1 < result_id.size();
  return has_index && result_id[end] == '-' ? result_id.substr(0, end) : result_id;
}

std::string ResultText(const ToolResultBlock& result) {
  const Result<json> output = ParseJson(result.output_json, kOwnJsonLimits);
  return output.ok() && output->is_string() ? output->get<std::string>() : result.output_json;
}

std::string AttachmentsId(std::string_view result_id) {
  return std::string(kAttachmentsPrefix) += result_id;
}

std::string_view ResultOfAttachments(std::string_view id) {
  return id.starts_with(kAttachmentsPrefix) ? id.substr(kAttachmentsPrefix.size())
                                            : std::string_view();
}

std::string& MessageList::Begin(std::string_view id, std::string_view role) {
  Entry& entry = entries_.emplace_back(Entry{.json = "{\"id\":"});
  AppendJsonString(entry.json, id);
  AppendMember(entry.json, "role", role);
  if (role != "reasoning") {
    entry.id = id;
    appended_ids_.emplace_back(id);
  }
  return entry.json;
}

void MessageList::Append(const Message& message) {
  if (facades::IsAttachments(message)) return AppendAttachments(message);
  switch (message.role) {
    case Role::kAssistant:
      AppendAnswer(message);
      break;
    case Role::kUser:
    case Role::kSystem: {
      if (message.Text().empty() && !HasMedia(message)) break;
      std::string& out = Begin(message.id, RoleName(message.role));
      AppendContent(out, message);
      out += '}';
      break;
    }
    case Role::kTool:
      break;
  }
  AppendResults(message);
}

void MessageList::AppendAnswer(const Message& message) {
  const std::string reasoning = message::ReasoningOfBlocks(message);
  if (!reasoning.empty()) {
    std::string& out = Begin(ReasoningId(message.id), "reasoning");
    AppendMember(out, "content", reasoning);
    const std::string signature = facades::SignatureOf(message);
    if (!signature.empty()) AppendMember(out, "encryptedValue", signature);
    out += '}';
  }
  // A call that was handed to the client is also in a second message, and is listed once.
  std::vector<const ToolCallBlock*> calls = message.ToolCalls();
  std::erase_if(calls, [&](const ToolCallBlock* call) { return calls_.contains(call->id); });
  const std::string text = message.Text();
  if (text.empty() && calls.empty()) return;
  std::string& out = Begin(message.id, "assistant");
  if (!text.empty()) AppendMember(out, "content", text);
  if (!calls.empty()) out += ",\"toolCalls\":[";
  for (const ToolCallBlock* call : calls) {
    calls_.insert(call->id);
    out += call == calls.front() ? "{\"id\":" : ",{\"id\":";
    AppendJsonString(out, call->id);
    out += R"(,"type":"function","function":{"name":)";
    AppendJsonString(out, call->name);
    AppendMember(out, "arguments", call->arguments_json);
    out += "}}";
  }
  out += calls.empty() ? "}" : "]}";
}

void MessageList::AppendResults(const Message& message) {
  const std::vector<const ToolResultBlock*> results = message.ToolResults();
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string text = ResultText(*results[i]);
    std::string& out = Begin(ResultId(message.id, i), "tool");
    AppendMember(out, "toolCallId", results[i]->call_id);
    if (results[i]->is_error) AppendMember(out, "error", text);
    out += ",\"content\":";
    entries_.back().call_id = results[i]->call_id;
    entries_.back().content_at = out.size();
    AppendJsonString(out, text);
    out += '}';
  }
}

void MessageList::AppendAttachments(const Message& attachments) {
  if (!has_result_parts_) return;
  std::string call_id;
  std::string parts;
  for (const ContentBlock& block : attachments.content) {
    if (const std::optional<std::string> named = facades::AttachedCall(block)) {
      AddToResult(call_id, std::exchange(parts, {}));
      call_id = *named;
    } else if (const auto* media = std::get_if<MediaBlock>(&block)) {
      if (!parts.empty()) parts += ',';
      AppendMedia(parts, *media);
    }
  }
  AddToResult(call_id, parts);
}

void MessageList::AddToResult(const std::string& call_id, const std::string& parts) {
  const auto entry = std::find_if(entries_.rbegin(), entries_.rend(), [&](const Entry& one) {
    return !one.call_id.empty() && one.call_id == call_id;
  });
  if (parts.empty() || entry == entries_.rend()) return;
  // The content ends before the last brace.
  const std::string text =
      entry->json.substr(entry->content_at, entry->json.size() - entry->content_at - 1);
  if (text.starts_with('[')) return;
  std::string placeholder;
  AppendJsonString(placeholder, facades::kAttachedResult);
  entry->json.resize(entry->content_at);
  entry->json += '[';
  if (text != placeholder) entry->json += R"({"type":"text","text":)" + text + "},";
  entry->json += parts + "]}";
}

void MessageList::AppendBlankReasoning(std::string_view message_id) {
  std::string& out = Begin(ReasoningId(message_id), "reasoning");
  out += R"(,"content":""})";
}

std::string MessageList::Json() const {
  std::string out;
  out.reserve(bytes() + entries_.size() + 2);
  AppendJsonArray(out, entries_,
                  [](std::string& array, const Entry& entry) { array += entry.json; });
  return out;
}

size_t MessageList::bytes() const {
  size_t bytes = 0;
  for (const Entry& entry : entries_) bytes += entry.json.size();
  return bytes;
}

std::vector<std::string> MessageList::ids() const {
  std::vector<std::string> ids;
  for (const Entry& entry : entries_) {
    if (!entry.id.empty()) ids.push_back(entry.id);
  }
  return ids;
}

bool MessageList::AddOlder(const json& client_messages, size_t bytes_max) {
  const std::vector<std::string> ids = this->ids();
  const std::unordered_set<std::string_view> listed(ids.begin(), ids.end());
  std::vector<Entry> older;
  size_t answered = 0;  // entries before the reasoning that belongs to the next answer
  size_t all_bytes = bytes();
  for (const json& message : client_messages) {
    const std::string_view id = facades::TextOf(message, "id");
    const std::string_view role = facades::TextOf(message, "role");
    if (listed.contains(id)) break;
    // Activities stay with a client if the snapshot has none.
    if (role == "activity") continue;
    Entry& entry = older.emplace_back(Entry{.json = DumpJson(WithoutNulls(message))});
    all_bytes += entry.json.size();
    if (all_bytes > bytes_max) return false;
    if (role == "reasoning") continue;
    entry.id = id;
    answered = older.size();
  }
  // The list has the reasoning of its own messages.
  older.resize(answered);
  entries_.insert(entries_.begin(), std::make_move_iterator(older.begin()),
                  std::make_move_iterator(older.end()));
  return true;
}

void MessageList::KeepLast(size_t bytes_max) {
  size_t kept = entries_.size();
  for (size_t bytes = 0; kept > 0; --kept) {
    bytes += entries_[kept - 1].json.size();
    if (bytes > bytes_max) break;
  }
  if (kept > 0) MarkCut();
  entries_.erase(entries_.begin(), entries_.begin() + static_cast<ptrdiff_t>(kept));
}

}  // namespace agent_graph::agui
