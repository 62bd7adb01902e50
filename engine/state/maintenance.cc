#include "state/maintenance.h"

#include <algorithm>

namespace agent_graph::state {

bool IsBackupName(std::string_view name) {
  constexpr size_t kNameBytesMax = 64;
  if (name.empty() || name.size() > kNameBytesMax || name[0] == '.') return false;
  return std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

}  // namespace agent_graph::state
