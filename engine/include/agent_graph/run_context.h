// RunContext: the interface of a function node to its run.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/error.h"
#include "agent_graph/export.h"
#include "agent_graph/json_fwd.h"
#include "agent_graph/memory.h"
#include "agent_graph/message.h"

namespace agent_graph {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError };

// One model call from a function node.
struct ModelCall {
  std::string model = "default";  // a key of `models` in service.json
  std::string system_prompt = {};
  std::vector<Message> messages = {};
  std::string parameters_json = "{}";  // temperature, max_tokens, ...
  bool stream = true;                  // true: text is streamed to the client as it arrives
};

// Valid during one call of the function: do not keep it, and use it only on the thread that made
// the call. Functions that wait do not occupy an engine thread.
class AGENT_GRAPH_API RunContext {
 public:
  virtual ~RunContext();

  virtual const std::string& thread_id() const = 0;
  virtual const std::string& run_id() const = 0;
  // Name of the node that runs.
  virtual const std::string& node() const = 0;
  // The authenticated user as a JSON object; {} without authentication.
  virtual const json& user() const = 0;
  // The request's `config` as a JSON object.
  virtual const json& config() const = 0;

  // True if the client has disconnected, the run was stopped or its deadline has passed: return
  // soon.
  virtual bool cancelled() const = 0;
  // Waits for `duration`. Returns false early if the run is cancelled or this call times out.
  virtual bool SleepFor(std::chrono::milliseconds duration) = 0;
  // Streams a piece of text to the client immediately; it is not stored. The message that you
  // return later should have the complete text: it replaces the pieces. May wait if the client
  // reads slowly (backpressure). Returns false if no client receives the stream any more.
  virtual bool EmitText(std::string_view piece) = 0;
  // Calls a model and returns its complete reply. The reply is not part of the thread yet: return
  // it from the node to append it. Throws ModelError or RunCancelled.
  virtual Message CallModel(const ModelCall& call) = 0;
  // Writes to the server's error log, with the run and the node.
  virtual void Log(LogLevel level, std::string_view text) = 0;
  // The memory store. Throws MemoryError if the service has none.
  virtual MemoryAccess& memories();
};

}  // namespace agent_graph
