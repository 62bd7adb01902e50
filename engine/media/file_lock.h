// A lock between processes that goes with its descriptor.
#pragma once

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/status.h"

namespace agent_graph::media {

// The file `name` of `folder`, made when it is missing, once nobody else holds it. Blocks, at most
// until the deadline: then kBusy.
Result<FileDescriptor> LockFile(int folder, const char* name, Deadline deadline = kNoDeadline);

}  // namespace agent_graph::media
