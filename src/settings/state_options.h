// The options of the state that service.json contains.
#pragma once

#include <string>

#include "settings/settings.h"
#include "state/options.h"

namespace agent_graph::settings {

// For every process that holds the stored data of the service: with other options, such as other
// names of indexed metadata, it would change what is stored.
state::StateOptions StateOptionsOf(const Settings& settings, const std::string& state_directory);

}  // namespace agent_graph::settings
