#include "api/http/body_config.h"

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/text.h"

namespace agent_graph::api {
namespace {

std::string MemberThreadId(const json& object) {
  const json* member = FindMember(object, "thread_id");
  if (member == nullptr) return "";
  std::string text = ThreadIdText(*member).value_or("");
  return IsBlank(text) ? "" : text;
}

}  // namespace

std::optional<std::string> ThreadIdText(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return DumpJson(value);
  return std::nullopt;
}

std::string BodyThreadId(const json& body, Problems& problems) {
  std::string direct = MemberThreadId(body);
  const json* config = FindMember(body, "config");
  std::string configured =
      config != nullptr && config->is_object() ? MemberThreadId(*config) : std::string();
  if (!direct.empty() && !configured.empty() && direct != configured) {
    problems.Add({"body", "config", "thread_id"}, "differs from the thread_id of the body",
                 ProblemType::kValue);
  }
  return direct.empty() ? configured : direct;
}

std::string OwnThreadId(const json& body) {
  return ThreadIdText(body.at("thread_id")).value();
}

bool IsReservedConfigKey(std::string_view key) {
  return key == "user" || key == "user_id" || key == "authz" || key.starts_with('_');
}

json ClientConfig(const json* config) {
  json seen = json::object();
  if (config == nullptr || !config->is_object()) return seen;
  for (const auto& [key, value] : config->items()) {
    if (!IsReservedConfigKey(key)) seen[key] = value;
  }
  return seen;
}

}  // namespace agent_graph::api
