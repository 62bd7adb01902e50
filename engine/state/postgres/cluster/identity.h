// The id of this host's instance, kept in a file of the state directory.
#pragma once

#include <string>

#include "base/status.h"

namespace agent_graph::state::postgres {

// The id in the file; empty if there is none. An id that was written before the machine was
// started, or on another machine whose disk was copied, does not count: that instance may live.
std::string ReadIdentity(const std::string& path);

Status WriteIdentity(const std::string& path, const std::string& id);
void RemoveIdentity(const std::string& path);

}  // namespace agent_graph::state::postgres
