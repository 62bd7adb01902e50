#include "state/types.h"

namespace agent_graph::state {

std::string CursorOfMessage(uint64_t sequence, uint64_t skip) {
  std::string cursor = std::to_string(sequence);
  if (skip > 0) cursor += '-' + std::to_string(skip);
  return cursor;
}

}  // namespace agent_graph::state
