// Tools: functions a model may call.
//
//   Tool weather{
//       .name = "get_weather",
//       .description = "Current weather of a city.",
//       .parameters_json = R"({"type":"object","properties":{"city":{"type":"string"}},
//                              "required":["city"]})",
//       .function = [](const json& arguments, ToolContext&) -> ToolOutput {
//         return "sunny in " + arguments.at("city").get<std::string>();
//       },
//       .idempotent = true};
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/execution.h"
#include "agent_graph/export.h"
#include "agent_graph/json_fwd.h"
#include "agent_graph/run_context.h"

namespace agent_graph {

// What a tool answers: JSON or text, or a failure the model may react to.
struct AGENT_GRAPH_API ToolOutput {
  std::string json = "null";
  bool is_error = false;

  ToolOutput() = default;
  ToolOutput(const agent_graph::json& value);        // NOLINT: implicit
  ToolOutput(const std::string& text);  // NOLINT: implicit
  ToolOutput(const char* text);         // NOLINT: implicit

  static ToolOutput Error(const std::string& text);
  static ToolOutput FromJsonText(std::string json_text);
};

// Given to a tool for the time of one call; use it on the thread that was called.
class AGENT_GRAPH_API ToolContext {
 public:
  virtual ~ToolContext();

  virtual const std::string& thread_id() const = 0;
  virtual const std::string& run_id() const = 0;
  virtual const std::string& call_id() const = 0;
  // The same text if this very call is ever made again after a crash: hand it to services that
  // recognise repeated requests.
  virtual const std::string& idempotency_key() const = 0;
  virtual const json& user() const = 0;
  virtual const json& config() const = 0;

  virtual bool cancelled() const = 0;
  // False when the run was cancelled meanwhile.
  virtual bool SleepFor(std::chrono::milliseconds duration) = 0;
  virtual void Log(LogLevel level, std::string_view text) = 0;
  // Throws MemoryError when the service has no memory store.
  virtual MemoryAccess& memories();
};

// `arguments` is always a JSON object. Throwing, or running past the timeout, gives a failed
// result.
using ToolFunction = std::function<ToolOutput(const json& arguments, ToolContext& context)>;

inline constexpr std::chrono::milliseconds kToolTimeoutDefault{60'000};

struct Tool {
  std::string name = {};  // letters, digits, '_' and '-', at most 64
  std::string description = {};
  std::string parameters_json = R"({"type":"object","properties":{}})";  // JSON Schema of arguments
  ToolFunction function = {};
  // True: calling it twice does no harm. A tool that is not idempotent starts only after the
  // intent to call it is on disk.
  bool idempotent = false;
  Execution execution = Execution::kBlocking;
  std::chrono::milliseconds timeout = kToolTimeoutDefault;
  std::vector<std::string> tags = {};
};

}  // namespace agent_graph
