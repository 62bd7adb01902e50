// What only a running service can say of its settings.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "settings/settings.h"

namespace agent_graph::service {

// A line for each scope of `authorization` that no route asks for. Backends and graphs may have a
// use for it: it is no error.
std::vector<std::string> UnaskedScopes(const settings::Settings& settings);

// The file of certificates to trust, in a process that is what a worker will be.
Status CheckTrustedCertificates(const settings::Settings& settings);

}  // namespace agent_graph::service
