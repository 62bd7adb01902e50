// A lock between processes. Closing its descriptor releases it.
#pragma once

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/status.h"

namespace agent_graph::media {

// Locks the file `name` in `folder` and creates it if it is missing. Waits (blocks) while another
// process or thread holds the lock; returns kBusy at the deadline.
Result<FileDescriptor> LockFile(int folder, const char* name, Deadline deadline = kNoDeadline);

}  // namespace agent_graph::media
