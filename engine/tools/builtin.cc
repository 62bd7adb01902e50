#include "tools/builtin.h"

#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/clock.h"

namespace agent_graph::tools {
namespace {

using nlohmann::json;

constexpr int64_t kOffsetMinutesMax = 24 * 60;

ToolOutput RunCalculator(const json& arguments, ToolContext&) {
  auto expression = arguments.find("expression");
  if (expression == arguments.end() || !expression->is_string()) {
    return ToolOutput::Error("expression: must be a string");
  }
  auto value = Calculate(expression->get_ref<const std::string&>());
  if (!value.ok()) return ToolOutput::Error("expression: " + value.status().message());
  constexpr double kExactIntegerMax = 9007199254740992.0;  // 2^53
  if (std::trunc(*value) == *value && std::abs(*value) <= kExactIntegerMax) {
    return json(static_cast<int64_t>(*value));
  }
  return json(*value);
}

ToolOutput RunCurrentTime(const json& arguments, ToolContext&) {
  int64_t offset_minutes = 0;
  if (auto found = arguments.find("utc_offset_minutes"); found != arguments.end()) {
    if (!found->is_number_integer() || std::abs(found->get<double>()) > kOffsetMinutesMax) {
      return ToolOutput::Error("utc_offset_minutes: must be an integer from -1440 to 1440");
    }
    offset_minutes = found->get<int64_t>();
  }
  std::time_t seconds = UnixMicros() / 1'000'000 + offset_minutes * 60;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return json{{"time", std::string(text, length)}, {"utc_offset_minutes", offset_minutes}};
}

const std::vector<Tool>& Builtins() {
  static const auto* tools = new std::vector<Tool>{
      Tool{
          .name = "calculator",
          .description = "Evaluates an arithmetic expression: + - * / % ^ and parentheses.",
          .parameters_json =
              R"({"type":"object","properties":{"expression":{"type":"string","description":"for example 6 * 7"}},"required":["expression"]})",
          .function = RunCalculator,
          .idempotent = true,
          .execution = Execution::kNonBlocking},
      Tool{
          .name = "current_time",
          .description = "The current date and time, in ISO 8601.",
          .parameters_json =
              R"({"type":"object","properties":{"utc_offset_minutes":{"type":"integer","description":"distance from UTC, 0 by default"}}})",
          .function = RunCurrentTime,
          .idempotent = true,
          .execution = Execution::kNonBlocking}};
  return *tools;
}

}  // namespace

const Tool* FindBuiltin(std::string_view name) {
  for (const Tool& tool : Builtins()) {
    if (tool.name == name) return &tool;
  }
  return nullptr;
}

std::vector<std::string> BuiltinNames() {
  std::vector<std::string> names;
  for (const Tool& tool : Builtins()) names.push_back(tool.name);
  return names;
}

}  // namespace agent_graph::tools
