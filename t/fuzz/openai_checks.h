// Checks that the fuzzers of OpenAI's protocols share.
#pragma once

#include <cstdlib>

#include "agent_graph/json.h"
#include "facades/openai/errors.h"

namespace agent_graph::openai {

inline void MustHold(bool condition) {
  if (!condition) std::abort();
}

inline void MustBeAnError(const api::ErrorInfo& error) {
  const api::Reply reply = RenderError(error, "id");
  MustHold(reply.status == 400);
  const json body = json::parse(reply.body, nullptr, false);
  MustHold(!body.is_discarded() && body.at("error").at("message").is_string());
}

}  // namespace agent_graph::openai
