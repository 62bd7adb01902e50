// Names of the files in a database's folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace agent_graph::state {

enum class FileKind : uint8_t { kLog, kManifest, kTable, kOther };

struct FileName {
  FileKind kind = FileKind::kOther;
  uint64_t number = 0;
};

// `path` may include directories.
FileName ParseFileName(std::string_view path);
std::string LogName(uint64_t number);
std::string ManifestName(uint64_t number);

// Returns the names in a folder; empty if it cannot be read.
std::vector<std::string> NamesIn(const std::string& folder);

}  // namespace agent_graph::state
