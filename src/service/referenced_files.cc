#include "service/referenced_files.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <variant>

#include "agent_graph/json.h"
#include "models/media.h"
#include "run/run_environment.h"
#include "runtime/runtime.h"

namespace agent_graph::service {
namespace {

constexpr int64_t kBytesPerCallMax = 20 * 1024 * 1024;
constexpr int64_t kBytesPerWorkerMax = 96 * 1024 * 1024;
// Memory for each byte of a file: the byte as read, base64 in the conversation and in the request.
constexpr int64_t kCopies = 4;
constexpr std::chrono::milliseconds kRetryInterval{20};

// The memory that one call has reserved of the worker's total. Its destructor returns it.
class Share {
 public:
  explicit Share(std::atomic<int64_t>& all) : all_(all) {}
  ~Share() { all_ -= held_; }
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;
  void Add(int64_t bytes) { held_ += bytes; }

 private:
  std::atomic<int64_t>& all_;
  int64_t held_ = 0;
};

bool IsRequired(const run::RunEnvironment& environment, const MediaReference& media,
                const Status& failure) {
  return failure.code() == StatusCode::kNotFound &&
         std::ranges::find(environment.request_files, media.file_id) !=
             environment.request_files.end();
}

Status Gone(const MediaReference& media) {
  return Status(StatusCode::kGraph, std::string(run::kFileGoneReason) + ": the file " +
                                        (media.filename.empty() ? media.file_id : media.filename) +
                                        " of the run's request is not there any more");
}

}  // namespace

Status ReferencedFiles::Reserve(const run::RunEnvironment& environment, int64_t bytes) {
  for (;;) {
    int64_t used = held_.load();
    // If no other call holds memory, a call always passes, however large it is.
    while (used == 0 || used + bytes <= kBytesPerWorkerMax) {
      if (held_.compare_exchange_weak(used, used + bytes)) return Status::Ok();
    }
    if (MonotonicClock::now() >= environment.deadline) {
      return Status(StatusCode::kDeadlineExceeded, "the run took longer than it may");
    }
    AG_RETURN_IF_ERROR(runtime::SleepFor(kRetryInterval, &environment.cancellation));
  }
}

Result<std::shared_ptr<void>> ReferencedFiles::Load(const run::RunEnvironment& environment,
                                                    std::vector<Message>& messages) {
  std::vector<MediaReference*> chosen;
  int64_t bytes = 0;
  for (auto message = messages.rbegin(); message != messages.rend(); ++message) {
    for (ContentBlock& block : message->content) {
      auto* media = std::get_if<MediaBlock>(&block);
      if (media == nullptr || media->media.kind != MediaReference::Kind::kFileId) continue;
      // The size was set when the reference was looked up; 0 if it was not.
      const int64_t size = media->media.size_bytes.value_or(0);
      if (size <= 0 || size > kBytesPerCallMax - bytes) continue;
      bytes += size;
      chosen.push_back(&media->media);
    }
  }
  if (chosen.empty()) return std::shared_ptr<void>();
  auto share = std::make_shared<Share>(held_);
  AG_RETURN_IF_ERROR(Reserve(environment, kCopies * bytes));
  share->Add(kCopies * bytes);
  const media::Reader reader{environment.user_id, ownerless_too_};
  for (MediaReference* media : chosen) {
    const auto size = static_cast<uint64_t>(*media->size_bytes);
    Result<std::string> content = media::ReadFile(files_, runtime_, reader, media->file_id, size);
    if (!content.ok()) {
      if (IsRequired(environment, *media, content.status())) return Gone(*media);
      environment.Log(LogLevel::kWarning, "",
                      "a file is not shown to the model: " + content.status().ToString());
      continue;
    }
    media->data_base64 = models::EncodeBase64(*content);
    media->kind = MediaReference::Kind::kData;
  }
  return std::shared_ptr<void>(std::move(share));
}

}  // namespace agent_graph::service
