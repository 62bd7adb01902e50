// A model provider: one call, streamed, from a fiber.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent_graph/message.h"
#include "base/clock.h"
#include "base/status.h"
#include "runtime/cancellation.h"

namespace agent_graph::models {

// What a model is told about a tool (function-calling shape).
struct ToolDeclaration {
  std::string name;
  std::string description;
  std::string parameters_json = "{\"type\":\"object\",\"properties\":{}}";  // JSON Schema
};

struct ModelRequest {
  std::string model;  // provider's model name; empty: the provider's default
  std::string system_prompt;
  std::vector<Message> messages;  // the working window, oldest first
  std::vector<ToolDeclaration> tools;
  std::string parameters_json = "{}";  // temperature, max_tokens, …, passed through
  Deadline deadline = kNoDeadline;
};

// A piece of the reply as it arrives. Tool calls are not streamed; they come whole in the reply.
struct ModelDelta {
  std::string text;
  std::string reasoning;
};

struct ModelReply {
  Message message;          // role assistant, complete; usage set when the provider told it
  std::string model;        // as the provider named it, or as it was asked for
  std::string stop_reason;  // stop | tool_calls | length | content_filter | other
};

// Thread-safe; one instance serves all fibers of a worker.
class ModelProvider {
 public:
  virtual ~ModelProvider() = default;

  // Suspends the calling fiber until the reply is complete. `on_delta` runs on that fiber; a failed
  // Status from it ends the call (the provider's connection is closed) and is returned. While it
  // suspends, the provider's socket is not read. Failures: kModel with a text for the client,
  // kDeadlineExceeded, kCancelled. Retries happen inside, before the first delta only.
  virtual Result<ModelReply> Generate(const ModelRequest& request,
                                      const runtime::Cancellation& cancellation,
                                      const std::function<Status(const ModelDelta&)>& on_delta) = 0;
};

}  // namespace agent_graph::models
