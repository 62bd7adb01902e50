#include "base/check.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace agent_graph {

void CheckFailed(const char* file, int line, const char* condition,
                 const char* explanation) noexcept {
  char text[512];
  const int length = std::snprintf(text, sizeof text, "%s:%d: check failed: %s: %s\n", file, line,
                                   condition, explanation);
  if (length > 0) {
    const size_t size = std::min(static_cast<size_t>(length), sizeof text - 1);
    text[size - 1] = '\n';  // a truncated line ends with a newline, too
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, size);
  }
  std::abort();
}

}  // namespace agent_graph
