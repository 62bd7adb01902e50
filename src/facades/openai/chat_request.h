// The request of a chat completion.
#pragma once

#include <optional>
#include <string>

#include "api/http/context.h"
#include "api/http/validation.h"
#include "run/run_request.h"

namespace agent_graph::openai {

struct ChatRequest {
  run::RunRequest run;  // without a thread id, the messages are the whole conversation
  std::string model;
  bool stream = false;
  bool include_usage = false;
};

// Reads a body whose fields were checked. Problems are added to `problems`.
ChatRequest ReadChatRequest(const api::HandlerContext& context, api::Problems& problems);

// Returns the refusal of a parameter that would change the answer and that an agent cannot honour;
// nullopt: there is none.
std::optional<api::ErrorInfo> FindUnsupported(const json& body);

// Returns the thread that the header X-Thread-Id or metadata.thread_id names; empty: none.
std::string ReadThreadId(const api::HandlerContext& context, api::Problems& problems);

}  // namespace agent_graph::openai
