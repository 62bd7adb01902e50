// The embedder that the settings ask for.
#pragma once

#include <memory>

#include "base/status.h"
#include "memory/embedder.h"
#include "settings/settings.h"

namespace agent_graph::embedding {

// Starts nothing. kInvalidArgument names the option that cannot work.
Result<std::unique_ptr<memory::Embedder>> MakeEmbedder(const settings::Settings& settings);

}  // namespace agent_graph::embedding
