// Reads the tools of a request that its client executes. Every façade describes them by name,
// description and parameters (JSON Schema).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/http/context.h"
#include "api/http/validation.h"
#include "run/run_request.h"

namespace agent_graph::facades {

struct ClientToolForm {
  // The member of an element of `tools` that describes the tool; null: the element itself.
  const char* member = nullptr;
  // Names of the tools that the request allows; nullopt: all.
  std::optional<std::set<std::string>> allowed = {};
  // True: elements whose `type` is not "function" are left out. They are built-in tools of a
  // provider, such as a web search, which the agent need not offer.
  bool skips_other_types = false;
};

// Reads `tools` of the body, whose shape was checked. Adds a problem for each tool that the graph
// does not accept, for a name that is used twice, and for more than 1024 tools. A client without
// tools has none: those that the service declares for other clients are not offered to the model.
std::vector<run::ClientTool> ReadClientTools(const api::HandlerContext& context,
                                             const ClientToolForm& form, api::Problems& problems);

}  // namespace agent_graph::facades
