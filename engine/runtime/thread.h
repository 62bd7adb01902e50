// Starts threads inside nginx's process.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "base/status.h"

namespace agent_graph::runtime {

// Starts `body` on a thread that receives no signals, because the host's handlers must run on the
// host's thread. Faults of the thread itself (SIGSEGV and similar) stay unblocked.
Status StartThread(std::thread& thread, const std::string& name, std::function<void()> body);

}  // namespace agent_graph::runtime
