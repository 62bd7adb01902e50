#include "models/call_options.h"

#include <utility>

#include "agent_graph/json.h"

namespace agent_graph::models {
namespace {

Status DamagedOptions() {
  return {StatusCode::kDataLoss, "the options of model calls cannot be read"};
}

std::string OptionText(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<bool> OptionFlag(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_boolean()) return std::nullopt;
  return found->get<bool>();
}

template <typename Enum>
bool ReadOption(const json& object, const char* name, Enum last, Enum& out) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_integer()) return false;
  const auto value = found->get<int64_t>();
  if (value < 0 || value > static_cast<int64_t>(last)) return false;
  out = static_cast<Enum>(value);
  return true;
}

}  // namespace

json ToJson(const CallOptions& options) {
  json value = {{"instructions", options.instructions},
                {"parameters", options.parameters_json},
                {"tool_choice", static_cast<int64_t>(options.tool_choice)},
                {"tool_name", options.tool_name}};
  if (options.parallel_tool_calls) value["parallel_tool_calls"] = *options.parallel_tool_calls;
  if (!options.format) return value;
  json format = {{"kind", static_cast<int64_t>(options.format->kind)},
                 {"name", options.format->name},
                 {"schema", options.format->schema_json}};
  if (options.format->strict) format["strict"] = *options.format->strict;
  value["format"] = std::move(format);
  return value;
}

Result<CallOptions> CallOptionsFromJson(const json& value) {
  if (!value.is_object()) return DamagedOptions();
  CallOptions options;
  options.instructions = OptionText(value, "instructions");
  options.parameters_json = OptionText(value, "parameters");
  if (!ReadOption(value, "tool_choice", CallOptions::ToolChoice::kNamed, options.tool_choice)) {
    return DamagedOptions();
  }
  options.tool_name = OptionText(value, "tool_name");
  options.parallel_tool_calls = OptionFlag(value, "parallel_tool_calls");
  const auto found = value.find("format");
  if (found == value.end()) return options;
  if (!found->is_object()) return DamagedOptions();
  CallOptions::Format format;
  if (!ReadOption(*found, "kind", CallOptions::Format::Kind::kJsonSchema, format.kind)) {
    return DamagedOptions();
  }
  format.name = OptionText(*found, "name");
  format.schema_json = OptionText(*found, "schema");
  format.strict = OptionFlag(*found, "strict");
  options.format = std::move(format);
  return options;
}

}  // namespace agent_graph::models
