// RunContext: what a function node can ask of the run it is part of.
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

// One call of a model from a function node.
struct ModelCall {
  std::string model = "default";  // a key of `models` in service.json
  std::string system_prompt = {};
  std::vector<Message> messages = {};
  std::string parameters_json = "{}";  // temperature, max_tokens, ...
  bool stream = true;                  // pieces are shown to the client as they arrive
};

// Given to a function for the time of one call; use it on the thread that was called, and do not
// keep it. Waiting in it does not occupy an engine thread.
class AGENT_GRAPH_API RunContext {
 public:
  virtual ~RunContext();

  virtual const std::string& thread_id() const = 0;
  virtual const std::string& run_id() const = 0;
  virtual const std::string& node() const = 0;
  // The authenticated user as a JSON object; {} without authentication.
  virtual const json& user() const = 0;
  // The request's `config` as a JSON object.
  virtual const json& config() const = 0;

  // The client is gone, the run was stopped, or its deadline passed: finish soon.
  virtual bool cancelled() const = 0;
  // False when the run was cancelled meanwhile.
  virtual bool SleepFor(std::chrono::milliseconds duration) = 0;
  // Streams a piece of text to the client now. The message you return afterwards should hold the
  // complete text: it replaces the pieces. May wait while the client reads slowly. False when
  // nobody listens any more.
  virtual bool EmitText(std::string_view piece) = 0;
  // The model's complete reply, not yet part of the thread: return it to append it. Throws
  // ModelError or RunCancelled.
  virtual Message CallModel(const ModelCall& call) = 0;
  // To the server's error log, marked with run and node.
  virtual void Log(LogLevel level, std::string_view text) = 0;
  // Throws MemoryError when the service has no memory store.
  virtual MemoryAccess& memories();
};

}  // namespace agent_graph
