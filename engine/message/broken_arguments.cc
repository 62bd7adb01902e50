#include "message/broken_arguments.h"

#include "agent_graph/json.h"
#include "base/json.h"

namespace agent_graph::message {
namespace {

constexpr const char* kMember = "INVALID_JSON";

}  // namespace

std::string BrokenArguments(std::string_view text) {
  std::string out = "{\"";
  out += kMember;
  out += "\":";
  AppendJsonString(out, text);
  out += '}';
  return out;
}

bool AreBroken(const json& arguments) {
  if (!arguments.is_object() || arguments.size() != 1) return false;
  const auto text = arguments.find(kMember);
  return text != arguments.end() && text->is_string();
}

std::string WrittenArguments(const std::string& arguments_json) {
  // Few arguments have the name in them: the others are not parsed.
  if (arguments_json.find(kMember) == std::string::npos) return arguments_json;
  const Result<json> arguments = ParseJson(arguments_json);
  const bool are_broken = arguments.ok() && AreBroken(*arguments);
  return are_broken ? arguments->at(kMember).get<std::string>() : arguments_json;
}

}  // namespace agent_graph::message
