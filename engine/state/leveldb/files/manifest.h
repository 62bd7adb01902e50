// Reads the log numbers from LevelDB's MANIFEST file.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace agent_graph::state {

struct ManifestEdit {
  // Logs with smaller numbers are no longer needed; nullopt: not changed by this edit.
  std::optional<uint64_t> log_number;
  std::optional<uint64_t> previous_log_number;
};

// Decodes one record of the file; returns nullopt if it is malformed.
std::optional<ManifestEdit> ReadManifestEdit(std::string_view record);

}  // namespace agent_graph::state
