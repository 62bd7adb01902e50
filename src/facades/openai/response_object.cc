#include "facades/openai/response_object.h"

#include "base/json.h"
#include "facades/openai/request_note.h"

namespace agent_graph::openai {
namespace {

void AppendResponseUsage(std::string& out, const Usage& usage) {
  const int64_t total =
      usage.total_tokens != 0 ? usage.total_tokens : usage.prompt_tokens + usage.completion_tokens;
  out += "{\"input_tokens\":" + std::to_string(usage.prompt_tokens);
  out += R"(,"input_tokens_details":{"cached_tokens":)" +
         std::to_string(usage.cache_read_input_tokens);
  out += ",\"cache_write_tokens\":" + std::to_string(usage.cache_creation_input_tokens);
  out += "},\"output_tokens\":" + std::to_string(usage.completion_tokens);
  out +=
      R"(,"output_tokens_details":{"reasoning_tokens":)" + std::to_string(usage.reasoning_tokens);
  out += "},\"total_tokens\":" + std::to_string(total) + '}';
}

void AppendOutput(std::string& out, const std::vector<std::string>& items) {
  out += ",\"output\":[";
  bool is_first = true;
  for (const std::string& item : items) {
    if (item.empty()) continue;
    if (!is_first) out += ',';
    is_first = false;
    out += item;
  }
  out += ']';
}

}  // namespace

std::string ToJson(const ResponseObject& response) {
  std::string out = "{\"id\":";
  AppendJsonString(out, response.id);
  out += R"(,"object":"response","created_at":)" + std::to_string(response.created_at);
  out += ",\"status\":\"";
  out += response.status;
  out += "\",\"completed_at\":";
  out += response.completed_at > 0 ? std::to_string(response.completed_at) : "null";
  out += ",\"error\":";
  out += response.error_json.empty() ? "null" : response.error_json;
  out += ",\"incomplete_details\":";
  if (response.incomplete_reason.empty()) {
    out += "null";
  } else {
    out += "{\"reason\":";
    AppendJsonString(out, response.incomplete_reason);
    out += '}';
  }
  out += ",\"model\":";
  AppendJsonString(out, response.model);
  AppendOutput(out, response.output);
  out += ",\"usage\":";
  if (response.usage) {
    AppendResponseUsage(out, *response.usage);
  } else {
    out += "null";
  }
  if (!response.interrupt_json.empty()) out += ",\"interrupt\":" + response.interrupt_json;
  std::string_view note =
      response.note_json.empty() ? UnknownRequestNote() : std::string_view(response.note_json);
  note.remove_prefix(1);  // its opening brace
  if (note != "}") out += ',';
  out += note;
  return out;
}

}  // namespace agent_graph::openai
