// The files that the settings name and workers load: the graph, custom backends, the generator of
// thread names and the keys of tokens.
#pragma once

#include <vector>

#include "base/sealed_copy.h"
#include "base/status.h"
#include "settings/settings.h"

namespace agent_graph::service {

// Copies each file and puts the copies into the settings. Called when a configuration is read, in
// the process that is the parent of its workers. A failure names the key or variable and the file.
Status CopyFiles(settings::Settings& settings, SealedCopies& copies);

// The descriptors of these copies, each once.
std::vector<int> CopyDescriptors(const settings::Settings& settings);

}  // namespace agent_graph::service
