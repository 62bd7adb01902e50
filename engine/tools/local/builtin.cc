#include "tools/local/builtin.h"

#include <cmath>
#include <ctime>
#include <stdexcept>

#include "agent_graph/builtin_tools.h"
#include "agent_graph/json.h"
#include "base/clock.h"

namespace agent_graph::tools {
namespace {

constexpr int64_t kOffsetMinutesMax = 24 * 60;
constexpr uint32_t kRecalledDefault = 5;
constexpr uint32_t kRecalledMax = 100;

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
  std::time_t seconds = UnixMicros() / kMicrosPerSecond + offset_minutes * 60;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return json{{"time", std::string(text, length)}, {"utc_offset_minutes", offset_minutes}};
}

ToolOutput RunRemember(const json& arguments, ToolContext& context) {
  const auto content = arguments.find("content");
  if (content == arguments.end() || !content->is_string()) {
    return ToolOutput::Error("content: must be a string");
  }
  NewMemory memory;
  memory.content = content->get<std::string>();
  if (const auto category = arguments.find("category"); category != arguments.end()) {
    if (!category->is_string()) return ToolOutput::Error("category: must be a string");
    memory.category = category->get<std::string>();
  }
  return json{{"memory_id", context.memories().Store(memory)}};
}

ToolOutput RunRecall(const json& arguments, ToolContext& context) {
  const auto query = arguments.find("query");
  if (query == arguments.end() || !query->is_string()) {
    return ToolOutput::Error("query: must be a string");
  }
  MemorySearch search;
  search.query = query->get<std::string>();
  search.strategy = "hybrid";
  search.limit = kRecalledDefault;
  if (const auto limit = arguments.find("limit"); limit != arguments.end()) {
    if (!limit->is_number_integer() || *limit < 1 || *limit > kRecalledMax) {
      return ToolOutput::Error("limit: must be an integer from 1 to 100");
    }
    search.limit = limit->get<uint32_t>();
  }
  json memories = json::array();
  for (const FoundMemory& memory : context.memories().Search(search)) {
    memories.push_back({{"content", memory.content},
                        {"category", memory.category},
                        {"score", memory.score},
                        {"timestamp", IsoTimestamp(static_cast<int64_t>(memory.timestamp * 1e6))}});
  }
  return json{{"memories", std::move(memories)}};
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
          .execution = Execution::kNonBlocking},
      Tool{
          .name = "remember",
          .description = "Keeps something about the user for later conversations.",
          .parameters_json =
              R"({"type":"object","properties":{"content":{"type":"string","description":"one sentence that will be understood without this conversation"},"category":{"type":"string"}},"required":["content"]})",
          .function = RunRemember,
          .execution = Execution::kNonBlocking},
      Tool{
          .name = "recall",
          .description = "Finds what was kept about the user in earlier conversations.",
          .parameters_json =
              R"({"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer","description":"5 by default"}},"required":["query"]})",
          .function = RunRecall,
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

namespace agent_graph {

Tool BuiltinTool(std::string_view name) {
  const Tool* tool = tools::FindBuiltin(name);
  if (tool != nullptr) return *tool;
  std::string names;
  for (const std::string& one : tools::BuiltinNames()) names += names.empty() ? one : ", " + one;
  throw std::invalid_argument("there is no built-in tool \"" + std::string(name) +
                              "\"; there are " + names);
}

}  // namespace agent_graph
