// Sealed copies of the files that the settings name and workers load: the graph, custom backends,
// the generator of thread names and the keys that verify tokens.
#pragma once

#include <vector>

#include "base/sealed_copy.h"
#include "base/status.h"
#include "settings/settings.h"

namespace agent_graph::service {

// Copies each file and stores the copies in the settings. The process that is the parent of the
// workers calls it when it reads the configuration. A failure names the key or variable and the
// file.
Status CopyFiles(settings::Settings& settings, SealedCopies& copies);

// Returns the descriptors of these copies without duplicates.
std::vector<int> CopyDescriptors(const settings::Settings& settings);

}  // namespace agent_graph::service
