#include "service/referenced_files.h"

#include <algorithm>
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

Result<std::shared_ptr<void>> ReferencedFiles::Reserve(const run::RunEnvironment& environment,
                                                       int64_t bytes) {
  if (memory_->waiting() >= kWaitersMax) {
    return Status(StatusCode::kResourceExhausted, "too many model calls wait to read files");
  }
  const Status room = memory_->AwaitRoom(static_cast<uint64_t>(bytes), environment.cancellation,
                                         environment.deadline);
  if (room.code() == StatusCode::kDeadlineExceeded) {
    return Status(StatusCode::kDeadlineExceeded,
                  "the run took longer than it may: it waited for memory for its files");
  }
  AG_RETURN_IF_ERROR(room);
  return std::shared_ptr<void>(nullptr,
                               [memory = memory_, bytes](void*) { memory->CountHeld(-bytes); });
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
  AG_ASSIGN_OR_RETURN(std::shared_ptr<void> share, Reserve(environment, kCopies * bytes));
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
  return share;
}

}  // namespace agent_graph::service
