// Work in the background, for whose end others wait.
#pragma once

#include <utility>

#include "base/status.h"

namespace agent_graph::tools::mcp {

// Calls `end` with the result of `work`, and with kInternal if an exception leaves `work`: without
// that, those who wait would wait forever.
template <typename T, typename Work, typename End>
void RunToEnd(Work work, End end) {
  struct AtException {
    End& end;
    bool ended = false;
    ~AtException() {
      if (!ended) end(Status(StatusCode::kInternal, "an exception ended it"));
    }
  } guard{end};
  Result<T> result = work();
  guard.ended = true;
  end(std::move(result));
}

}  // namespace agent_graph::tools::mcp
