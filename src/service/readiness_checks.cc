#include "service/readiness_checks.h"

#include <sys/statvfs.h>
#include <unistd.h>

namespace agent_graph::service {
namespace {

// The state takes no new data with less (engine/state/leveldb/disk/).
constexpr uint64_t kFreeBytesMin = 4 * 1024 * 1024;

}  // namespace

Status CheckWritable(const std::string& directory) {
  struct statvfs disk{};
  const bool writable = access(directory.c_str(), W_OK) == 0 &&
                        statvfs(directory.c_str(), &disk) == 0 && (disk.f_flag & ST_RDONLY) == 0;
  const bool has_room = static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize >= kFreeBytesMin;
  if (writable && has_room) return Status::Ok();
  return Status(StatusCode::kUnavailable, "the directory cannot be written to");
}

void AddReadinessChecks(Readiness& readiness, state::Backend* state, const models::Registry& models,
                        runtime::Runtime& runtime, const std::string& state_directory) {
  readiness.Add(api::ReadyPart::kEngine, [](const auto&) { return Status::Ok(); });
  if (state != nullptr) {
    readiness.Add(api::ReadyPart::kState, [state](const runtime::Cancellation& cancellation) {
      return state->Probe(cancellation);
    });
  }
  readiness.Add(api::ReadyPart::kDisk, [&runtime, &state_directory](const auto&) {
    Status writable;
    runtime.RunOnIoPool([&] { writable = CheckWritable(state_directory); });
    return writable;
  });
  readiness.Add(api::ReadyPart::kModels, [&models](const auto&) {
    return models.failing() ? Status(StatusCode::kUnavailable, "a provider fails") : Status::Ok();
  });
}

}  // namespace agent_graph::service
