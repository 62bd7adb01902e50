// The options of a host in tests.
#pragma once

#include <string>

#include "../fixture.h"
#include "state/options.h"

namespace agent_graph::state {

inline StateOptions OptionsOfHost(const std::string& directory, const std::string& url) {
  StateOptions options;
  options.type = "postgres";
  options.directory = directory;
  options.database_url = url;
  options.operation_timeout = kPatience;
  return options;
}

}  // namespace agent_graph::state
