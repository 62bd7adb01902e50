// Threads as a guest of nginx's process must start them.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "base/status.h"

namespace agent_graph::runtime {

// Starts `body` on a thread that no signal is delivered to: the host's handlers belong to the
// host's thread. Faults of the thread itself (SIGSEGV and its kind) stay unblocked.
Status StartThread(std::thread& thread, const std::string& name, std::function<void()> body);

}  // namespace agent_graph::runtime
