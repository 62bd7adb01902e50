// Loads the uploaded files that messages refer to, so that models get their contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "agent_graph/message.h"
#include "base/status.h"
#include "bridge/worker_memory.h"
#include "media/storage.h"

namespace agent_graph::run {
struct RunEnvironment;
}

namespace agent_graph::service {

// Thread-safe.
class ReferencedFiles {
 public:
  // Memory for the files of all calls in progress.
  static constexpr int64_t kBytesPerWorkerMax = 96 * 1024 * 1024;
  // Memory for each byte of a file: the byte as read, base64 in the conversation and in the
  // request.
  static constexpr int64_t kCopies = 4;
  // Calls that wait for this memory.
  static constexpr size_t kWaitersMax = 1000;

  ReferencedFiles(media::Storage& files, runtime::Runtime& runtime, bool ownerless_too)
      : files_(files), runtime_(runtime), ownerless_too_(ownerless_too) {}

  // Replaces references by the bytes of the files, in the newest messages first, up to the limit of
  // one call. The model receives only the names of the other files, and of files that the run's
  // user may not read. The bytes count towards the worker's limit until the returned object is
  // destroyed. Suspends the calling fiber while other calls hold too many bytes: calls are served
  // in order. kDeadlineExceeded, kCancelled: the run ended meanwhile. kResourceExhausted: too many
  // calls wait. kGraph: see run::FileLoader.
  Result<std::shared_ptr<void>> Load(const run::RunEnvironment& environment,
                                     std::vector<Message>& messages);

 private:
  Result<std::shared_ptr<void>> Reserve(const run::RunEnvironment& environment, int64_t bytes);

  media::Storage& files_;
  runtime::Runtime& runtime_;
  const bool ownerless_too_;
  // The memory that the files of calls in progress take. The calls share it.
  const std::shared_ptr<bridge::WorkerMemory> memory_ = std::make_shared<bridge::WorkerMemory>(
      kBytesPerWorkerMax, bridge::WorkerMemory::Order::kStrict);
};

}  // namespace agent_graph::service
