// The request of POST /responses.
#pragma once

#include <optional>
#include <string>

#include "agent_graph/json_fwd.h"
#include "api/http/context.h"
#include "api/http/validation.h"
#include "facades/openai/input_items.h"
#include "facades/openai/object_ids.h"
#include "run/run_request.h"

namespace agent_graph::openai {

struct ResponseRequest {
  run::RunRequest run;
  std::optional<ResponseName> previous;  // the response that this one follows
  bool stream = false;
  bool background = false;
  bool store = true;
};

// Reads a body whose fields were checked, except `input`. Problems are added to `problems`.
ResponseRequest ReadResponseRequest(const api::HandlerContext& context, api::Problems& problems);

// Reads `input` into the messages of the run. `find_message` resolves references to stored items.
void ReadResponseInput(const api::HandlerContext& context, const StoredMessageLookup& find_message,
                       run::RunRequest& run, api::Problems& problems);

// Returns the refusal of a parameter that would change the answer and that an agent cannot honour;
// nullopt: there is none.
std::optional<api::ErrorInfo> FindUnsupportedInResponse(const json& body);

}  // namespace agent_graph::openai
