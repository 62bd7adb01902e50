#include "state/rules/stored_json.h"

#include <algorithm>

#include "agent_graph/json.h"
#include "base/own_json.h"
#include "message/codec.h"
#include "state/limits.h"

namespace agent_graph::state {
namespace {

// Returns the index behind the string literal that starts at `position`, or npos.
size_t SkipString(std::string_view text, size_t position) {
  for (++position; position < text.size(); ++position) {
    if (text[position] == '"') return position + 1;
    if (text[position] == '\\') ++position;  // the escaped character
  }
  return std::string_view::npos;
}

Result<json> ParseStored(const std::string& text, const char* what) {
  Result<json> stored = ParseJson(text, kOwnJsonLimits);
  if (stored.ok() && stored->is_object()) return stored;
  return Status(StatusCode::kDataLoss, "stored state cannot be read back").WithDetail(what);
}

bool IsSpace(char byte) {
  return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

}  // namespace

Result<std::string> MergeJsonObjects(const std::string& base, const std::string& patch,
                                     const char* what) {
  AG_ASSIGN_OR_RETURN(json changes, ParseJson(patch, kOwnJsonLimits));
  if (!changes.is_object()) {
    return Status(StatusCode::kInvalidArgument, std::string(what) + " must be an object");
  }
  if (changes.empty()) return base;
  AG_ASSIGN_OR_RETURN(json merged, ParseStored(base, what));
  merged.merge_patch(changes);
  std::string text = DumpJson(merged);
  if (text.size() > kThreadJsonBytesMax) {
    return Status(StatusCode::kInvalidArgument, std::string(what) +
                                                    " of this thread would be larger than " +
                                                    std::to_string(kThreadJsonBytesMax) + " bytes");
  }
  return text;
}

Result<std::string> OverlayJsonMembers(const std::string& base, const std::string& changed,
                                       const std::vector<std::string>& names) {
  if (names.empty()) return base;
  AG_ASSIGN_OR_RETURN(json merged, ParseStored(base, "state"));
  AG_ASSIGN_OR_RETURN(json changes, ParseStored(changed, "the run's state"));
  for (const std::string& name : names) {
    auto member = changes.find(name);
    if (member != changes.end()) {
      merged[name] = std::move(*member);
    } else {
      merged.erase(name);
    }
  }
  return DumpJson(merged);
}

Result<std::vector<std::string>> MemberNames(const std::string& object, const char* what) {
  AG_ASSIGN_OR_RETURN(json members, ParseJson(object, kOwnJsonLimits));
  if (!members.is_object()) {
    return Status(StatusCode::kInvalidArgument, std::string(what) + " must be an object");
  }
  std::vector<std::string> names;
  names.reserve(members.size());
  for (const auto& [name, value] : members.items()) names.push_back(name);
  return names;
}

CallsInMessage CallsIn(std::string_view message_json) {
  CallsInMessage calls;
  const Result<Message> message = message::FromJsonText(message_json);
  if (!message.ok()) return calls;
  calls.from_assistant = message->role == Role::kAssistant;
  for (const ToolCallBlock* call : message->ToolCalls()) calls.made.push_back(call->id);
  for (const ToolResultBlock* result : message->ToolResults()) {
    calls.answered.push_back(result->call_id);
  }
  return calls;
}

std::string RunIdOf(const std::string& entry_json) {
  Result<json> entry = ParseJson(entry_json);
  if (!entry.ok() || !entry->is_object()) return "";
  auto run_id = entry->find("run_id");
  return run_id != entry->end() && run_id->is_string() ? run_id->get<std::string>() : "";
}

bool IsFromUser(std::string_view text) {
  constexpr std::string_view kKey = "\"role\"";
  int depth = 0;
  bool expects_key = false;
  for (size_t i = 0; i < text.size();) {
    char byte = text[i];
    if (byte == '"') {
      size_t end = SkipString(text, i);
      if (end == std::string_view::npos) return false;
      bool is_role = depth == 1 && expects_key && text.substr(i, end - i) == kKey;
      expects_key = false;
      i = end;
      if (!is_role) continue;
      while (i < text.size() && (IsSpace(text[i]) || text[i] == ':')) ++i;
      return text.substr(i).starts_with("\"user\"");
    }
    if (byte == '{' || byte == '[') ++depth;
    if (byte == '}' || byte == ']') --depth;
    if (depth == 1 && (byte == '{' || byte == ',')) expects_key = true;
    ++i;
  }
  return false;
}

}  // namespace agent_graph::state
