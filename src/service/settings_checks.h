// Checks of the settings that need more than the settings themselves: the route table, or the
// environment of a worker.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "settings/settings.h"

namespace agent_graph::service {

// Returns one line for each scope of `authorization` that no route requires. Such a scope is not an
// error: a backend or a graph may use it.
std::vector<std::string> UnusedScopes(const settings::Settings& settings);

// Checks the file of trusted certificates. Run it in a process with the same user and rights as a
// worker.
Status CheckTrustedCertificates(const settings::Settings& settings);

// Checks that libpq is installed and accepts the URL of a PostgreSQL checkpointer. It does not
// connect, because a database that is away must not keep nginx from starting.
Status CheckDatabase(const settings::Settings& settings);

}  // namespace agent_graph::service
