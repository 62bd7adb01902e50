#include "base/errno_text.h"

#include <cstring>

namespace agent_graph {

std::string ErrnoText(int error) {
  const char* text = strerrordesc_np(error);
  return text != nullptr ? text : "error " + std::to_string(error);
}

}  // namespace agent_graph
