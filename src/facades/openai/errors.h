// Errors in the form of OpenAI's API. Thread-safe; the nginx thread calls these functions, too.
#pragma once

#include <string>
#include <string_view>

#include "api/http/envelope.h"
#include "api/http/errors.h"

namespace agent_graph::openai {

// Returns {"error":{"message":…,"type":…,"param":…,"code":…}}. `param` is the path of the first
// field with a problem, such as messages[0].role.
std::string ErrorJson(const api::ErrorInfo& error);

// Renders an error with the status that the protocol's clients expect: 401 for credentials, 400 for
// fields.
api::Reply RenderError(const api::ErrorInfo& error, std::string_view request_id);

// True if the same request would fail in the same way, although its status says that it may be
// repeated. RenderError then sends the header `x-should-retry: false`.
bool IsPermanent(const api::ErrorInfo& error);

// Returns the refusal of a parameter whose value the agent cannot honour.
api::ErrorInfo Unsupported(std::string parameter, std::string problem);

}  // namespace agent_graph::openai
