// Loads the uploaded files that messages refer to, so that models get their contents.
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
class ReferencedFiles {
 public:
  ReferencedFiles(media::Storage& files, runtime::Runtime& runtime, bool ownerless_too)
      : files_(files), runtime_(runtime), ownerless_too_(ownerless_too) {}

  // Replaces references by the bytes of the files, in the newest messages first, up to the limit of
  // one call. The model receives only the names of the other files, and of files that the run's
  // user may not read. The bytes count towards the worker's limit until the returned object is
  // destroyed. Suspends the calling fiber while other calls hold too many bytes. kDeadlineExceeded,
  // kCancelled: the run ended meanwhile. kGraph: see run::FileLoader.
  Result<std::shared_ptr<void>> Load(const run::RunEnvironment& environment,
                                     std::vector<Message>& messages);

 private:
  Status Reserve(const run::RunEnvironment& environment, int64_t bytes);

  media::Storage& files_;
  runtime::Runtime& runtime_;
  const bool ownerless_too_;
  std::atomic<int64_t> held_{0};  // bytes reserved by all calls in progress
};

}  // namespace agent_graph::service
