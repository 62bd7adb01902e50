// Runs several suspending calls of one run concurrently.
#pragma once

#include <cstddef>
#include <functional>

namespace agent_graph::runtime {
class Runtime;
}

namespace agent_graph::run {

// Calls body(0) … body(count - 1), at most `width` at once, and returns when all have returned. The
// calling fiber works too and other fibers only help, so the function completes even if the runtime
// has no spare fiber. `body` must not throw.
void ForEachConcurrently(runtime::Runtime& runtime, size_t count, size_t width,
                         std::function<void(size_t)> body);

}  // namespace agent_graph::run
