// The bytes of LevelDB's logs.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace agent_graph::state {

inline std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The bytes before the zeros at the end of a log that is open. No record ends with a zero.
inline size_t RecordBytes(const std::string& log_path) {
  return ReadFile(log_path).find_last_not_of('\0') + 1;
}

// The path of the log that LevelDB writes; empty: the folder has none.
inline std::string NewestLog(const std::string& folder) {
  std::string newest;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (path.ends_with(".log")) newest = std::max(newest, path);
  }
  return newest;
}

}  // namespace agent_graph::state
