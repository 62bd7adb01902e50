// Creates the embedder that the settings configure.
#pragma once

#include <memory>

#include "base/status.h"
#include "memory/embedder.h"
#include "settings/settings.h"

namespace agent_graph::embedding {

// Starts no thread and sends nothing. kInvalidArgument: the text names the option that cannot work.
Result<std::unique_ptr<memory::Embedder>> MakeEmbedder(const settings::Settings& settings);

}  // namespace agent_graph::embedding
