// Checks the base URL of a provider of models or embeddings.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "settings/value.h"

namespace agent_graph::settings {

// Checks the base_url of `entry` for the addresses that documents of providers often show: the
// whole address of a call, or the host alone. `public_url` is the base URL of the provider's own
// service.
Status CheckProviderUrl(const Value& entry, const std::string& base_url,
                        std::string_view public_url);

}  // namespace agent_graph::settings
