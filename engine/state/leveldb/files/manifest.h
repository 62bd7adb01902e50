// The numbers of logs in a MANIFEST file of LevelDB.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace agent_graph::state {

struct ManifestEdit {
  // Logs with smaller numbers are not needed any more; nullopt: not changed by this edit.
  std::optional<uint64_t> log_number;
  std::optional<uint64_t> previous_log_number;
};

// One record of the file; nullopt when it is not one.
std::optional<ManifestEdit> ReadManifestEdit(std::string_view record);

}  // namespace agent_graph::state
