// ModelProvider: the interface of a language model. One call, streamed, from a fiber.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent_graph/message.h"
#include "base/clock.h"
#include "base/status.h"
#include "runtime/cancellation.h"

namespace agent_graph::models {

struct CallOptions;

// A tool as it is declared to a model (function-calling shape).
struct ToolDeclaration {
  std::string name;
  std::string description;
  std::string parameters_json = "{\"type\":\"object\",\"properties\":{}}";  // JSON Schema
};

struct ModelRequest {
  std::string model;  // the provider's name of the model; empty: its default
  std::string system_prompt;
  std::vector<Message> messages;  // the working window, oldest first
  std::vector<ToolDeclaration> tools;
  std::string parameters_json = "{}";  // temperature, max_tokens, …: passed through
  // Changes that the client's request makes; may be null. Must outlive the call.
  const CallOptions* options = nullptr;
  bool forces_tool = false;  // `options->tool_choice` holds for this call
  Deadline deadline = kNoDeadline;
};

// A piece of the reply. Tool calls are not streamed; they are in the complete reply.
struct ModelDelta {
  std::string text;
  std::string reasoning;
  // Usage of the call so far, if the provider has just reported it. Then the texts may be
  // empty. The final counts are in the complete reply.
  std::optional<Usage> usage = {};
  // Bytes of the reply that have arrived and are kept besides these texts: arguments of tool calls,
  // signatures, and the raw bytes of a reply that is not streamed. Both texts may be empty.
  size_t hidden_bytes = 0;

  size_t bytes() const { return text.size() + reasoning.size() + hidden_bytes; }
};

struct ModelReply {
  Message message;          // role assistant, complete; usage is set if the provider reports it
  std::string model;        // as the provider reports it, otherwise as requested
  std::string stop_reason;  // stop | tool_calls | length | content_filter | other
};

// Thread-safe; one instance serves all fibers of a worker.
class ModelProvider {
 public:
  virtual ~ModelProvider() = default;

  // Suspends the calling fiber until the reply is complete. `on_delta` runs on that fiber. If it
  // returns a failure, the call ends, the provider's connection is closed, and Generate returns
  // that failure. While `on_delta` is suspended, the provider's socket is not read (backpressure).
  // Failures: kModel with a text for the client, kDeadlineExceeded, kCancelled. Retries happen
  // inside, and only before the first delta.
  virtual Result<ModelReply> Generate(const ModelRequest& request,
                                      const runtime::Cancellation& cancellation,
                                      const std::function<Status(const ModelDelta&)>& on_delta) = 0;
  // True while the provider cannot be reached or does not work. Never blocks.
  virtual bool failing() const { return false; }
};

}  // namespace agent_graph::models
