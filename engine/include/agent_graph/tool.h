// Tools: functions that a model may call.
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

// The result of a tool: JSON or text, or an error that the model can react to. Write JSON with its
// type, `return json{{"euro", 4}};`: braces alone do not compile.
struct AGENT_GRAPH_API ToolOutput {
  std::string json = "null";
  bool is_error = false;

  ToolOutput() = default;
  ToolOutput(const agent_graph::json& value);  // NOLINT: implicit
  ToolOutput(const std::string& text);         // NOLINT: implicit
  ToolOutput(const char* text);                // NOLINT: implicit

  // A failed result with this text, which the model receives.
  static ToolOutput Error(const std::string& text);
  // A result whose JSON text already exists.
  static ToolOutput FromJsonText(std::string json_text);
};

// The interface of a tool to its run. Valid during one call: use it only on the thread that made
// the call, and do not keep it.
class AGENT_GRAPH_API ToolContext {
 public:
  virtual ~ToolContext();

  virtual const std::string& thread_id() const = 0;
  virtual const std::string& run_id() const = 0;
  virtual const std::string& call_id() const = 0;
  // Stays the same if this call is repeated after a crash: pass it to services that detect repeated
  // requests.
  virtual const std::string& idempotency_key() const = 0;
  // The authenticated user and the request's `config`, as in RunContext.
  virtual const json& user() const = 0;
  virtual const json& config() const = 0;

  // True if the client has disconnected, the run was stopped or its deadline has passed: return
  // soon.
  virtual bool cancelled() const = 0;
  // Waits for `duration`. Returns false early if the run is cancelled or this call times out.
  virtual bool SleepFor(std::chrono::milliseconds duration) = 0;
  // Writes to the server's error log, with the run and the node.
  virtual void Log(LogLevel level, std::string_view text) = 0;
  // The memory store. Throws MemoryError if the service has none.
  virtual MemoryAccess& memories();
};

// `arguments` is always a JSON object. An exception or a timeout gives a failed result.
using ToolFunction = std::function<ToolOutput(const json& arguments, ToolContext& context)>;

inline constexpr std::chrono::milliseconds kToolTimeoutDefault{60'000};

struct Tool {
  std::string name = {};  // letters, digits, '_' and '-', at most 64
  std::string description = {};
  std::string parameters_json = R"({"type":"object","properties":{}})";  // JSON Schema of arguments
  ToolFunction function = {};
  // True: a repeated call does no harm. A call of a tool that is not idempotent starts only after
  // the run log on disk has an entry for it.
  bool idempotent = false;
  Execution execution = Execution::kBlocking;
  std::chrono::milliseconds timeout = kToolTimeoutDefault;
  std::vector<std::string> tags = {};
};

}  // namespace agent_graph
