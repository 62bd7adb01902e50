// Files that messages refer to, shown to models.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "agent_graph/message.h"
#include "base/status.h"
#include "media/storage.h"

namespace agent_graph::run {
struct RunEnvironment;
}

namespace agent_graph::service {

// Thread-safe.
class ShownFiles {
 public:
  ShownFiles(media::Storage& files, runtime::Runtime& runtime, bool ownerless_too)
      : files_(files), runtime_(runtime), ownerless_too_(ownerless_too) {}

  // Replaces references by the bytes, in the newest messages first, as far as one call may show;
  // the model is told the names of the rest, and of files that the run's user may not read. The
  // bytes count until the returned object is gone; waits while other calls hold too many.
  Result<std::shared_ptr<void>> Show(const run::RunEnvironment& environment,
                                     std::vector<Message>& messages);

 private:
  Status Reserve(const run::RunEnvironment& environment, int64_t bytes);

  media::Storage& files_;
  runtime::Runtime& runtime_;
  const bool ownerless_too_;
  std::atomic<int64_t> held_{0};  // by all calls at work
};

}  // namespace agent_graph::service
