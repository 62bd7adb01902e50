#include "api/body_thread.h"

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace agent_graph::api {
namespace {

std::string MemberThreadId(const nlohmann::json& object) {
  const nlohmann::json* member = FindMember(object, "thread_id");
  if (member == nullptr) return "";
  std::string text = ThreadIdText(*member).value_or("");
  return IsBlank(text) ? "" : text;
}

}  // namespace

std::optional<std::string> ThreadIdText(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return DumpJson(value);
  return std::nullopt;
}

std::string BodyThreadId(const nlohmann::json& body, Problems& problems) {
  std::string direct = MemberThreadId(body);
  const nlohmann::json* config = FindMember(body, "config");
  std::string configured =
      config != nullptr && config->is_object() ? MemberThreadId(*config) : std::string();
  if (!direct.empty() && !configured.empty() && direct != configured) {
    problems.Add({"body", "config", "thread_id"}, "differs from the thread_id of the body",
                 "value_error");
  }
  return direct.empty() ? configured : direct;
}

std::string RequiredThreadId(const nlohmann::json& body, Problems& problems) {
  const nlohmann::json* member = FindMember(body, "thread_id");
  if (member == nullptr) {
    problems.Add({"body", "thread_id"}, "is required", "missing");
    return "";
  }
  std::optional<std::string> thread_id = ThreadIdText(*member);
  if (!thread_id) {
    problems.Add({"body", "thread_id"}, "must be a string", "string_type");
    return "";
  }
  if (auto problem = ThreadIdProblem(*thread_id)) {
    problems.Add({"body", "thread_id"}, *std::move(problem), "value_error");
  }
  return *std::move(thread_id);
}

}  // namespace agent_graph::api
