// A request to a model provider in the provider's own form.
#pragma once

#include <string>

namespace agent_graph::models {

struct WireRequest {
  std::string url;
  std::string body;
};

}  // namespace agent_graph::models
