// Work on large texts, such as parsing JSON, which would keep an engine thread from other fibers.
#pragma once

#include <cstddef>
#include <functional>

namespace agent_graph::runtime {

// Runs `work`, whose time grows with `bytes`. With more than 64 KiB a fiber runs it on the I/O pool
// and is suspended meanwhile; otherwise, and on other threads, it runs at once. What `work`
// allocates counts as if it ran here. Rethrows an exception of `work`.
void RunSized(size_t bytes, const std::function<void()>& work);

}  // namespace agent_graph::runtime
