#include "facades/openai/response_items.h"

#include "base/json.h"
#include "base/letter_case.h"
#include "facades/run/json_member.h"

namespace agent_graph::openai {

using facades::AppendMember;

std::string TextPart(std::string_view text) {
  std::string part = R"({"type":"output_text","text":)";
  AppendJsonString(part, text);
  part += R"(,"annotations":[],"logprobs":[]})";
  return part;
}

std::string SummaryPart(std::string_view text) {
  std::string part = R"({"type":"summary_text","text":)";
  AppendJsonString(part, text);
  return part + '}';
}

std::string MessageItem(std::string_view id, std::string_view status, std::string_view parts) {
  std::string item = R"({"type":"message","role":"assistant")";
  AppendMember(item, "id", id);
  AppendMember(item, "status", status);
  item += ",\"content\":[";
  item += parts;
  return item + "]}";
}

std::string ReasoningItem(std::string_view id, std::string_view status, std::string_view parts,
                          std::string_view encrypted) {
  std::string item = R"({"type":"reasoning")";
  AppendMember(item, "id", id);
  AppendMember(item, "status", status);
  item += ",\"summary\":[";
  item += parts;
  item += ']';
  if (!encrypted.empty()) AppendMember(item, "encrypted_content", encrypted);
  return item + '}';
}

std::string CallItem(std::string_view id, std::string_view status, const ToolCallBlock& call,
                     std::string_view arguments) {
  std::string item = R"({"type":"function_call")";
  AppendMember(item, "id", id);
  AppendMember(item, "call_id", call.id);
  AppendMember(item, "name", call.name);
  AppendMember(item, "arguments", arguments);
  AppendMember(item, "status", status);
  return item + '}';
}

// The error of a response has no status of its own; clients read `type`.
std::string ResponseErrorJson(const api::ErrorInfo& error) {
  std::string out = R"({"code":)";
  AppendJsonString(out, error.error == api::ApiError::kRateLimited ? "rate_limit_exceeded"
                                                                   : LowerCase(api::CodeOf(error)));
  AppendMember(out, "message", api::MessageOf(error));
  AppendMember(out, "type", "server_error");
  return out + '}';
}

}  // namespace agent_graph::openai
