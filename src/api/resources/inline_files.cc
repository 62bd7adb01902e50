#include "api/resources/inline_files.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "api/resources/file_record.h"
#include "api/resources/message_input.h"
#include "media/mime.h"
#include "media/storage.h"
#include "message/codec.h"
#include "models/media.h"
#include "runtime/runtime.h"

namespace agent_graph::api {
namespace {

ErrorInfo Invalid(std::string problem) {
  return {ApiError::kValidation, problem, {{{"body"}, problem, ProblemType::kValue}}};
}

Status Keep(HandlerContext& context, std::string_view bytes, media::FileRecord& record) {
  media::Storage& files = *context.api().files;
  AG_ASSIGN_OR_RETURN(media::Spool spool, files.Receive());
  Status written;
  context.api().runtime->RunOnIoPool([&] { written = spool.Write(bytes); });
  AG_RETURN_IF_ERROR(written);
  record.active = record.active || media::LooksActive(spool.first_bytes());
  return files.Keep(spool, record, std::nullopt);
}

size_t DecodedBytes(std::string_view base64) {
  return base64.size() / 4 * 3;
}

std::optional<models::InlineData> LargeDataOf(const ContentBlock& block) {
  const auto* media = std::get_if<MediaBlock>(&block);
  if (media == nullptr) return std::nullopt;
  std::optional<models::InlineData> data = models::InlineDataOf(*media);
  if (!data || DecodedBytes(data->base64) <= kStoredInlineBytesMax) return std::nullopt;
  return data;
}

bool IsAdmitted(const HandlerContext& context, const MediaReference& reference,
                const models::InlineData& data) {
  const settings::MediaSettings& settings = context.api().settings->media;
  const media::FileRecord record = NewFileRecord(context, data.mime_type, reference.filename);
  return media::MayRead(ReaderOf(context), record) &&
         media::IsAllowed(record.mime_type, settings.allowed_types) &&
         DecodedBytes(data.base64) <= settings.file_bytes_max();
}

std::optional<ErrorInfo> Store(HandlerContext& context, MediaReference& reference,
                               const models::InlineData& data) {
  const settings::MediaSettings& settings = context.api().settings->media;
  std::optional<std::string> bytes = models::DecodeBase64(data.base64);
  if (!bytes || bytes->empty()) {
    return Invalid("a file in a message is not base64");
  }
  if (bytes->size() > settings.file_bytes_max()) return FileTooLarge(settings);
  media::FileRecord record = NewFileRecord(context, data.mime_type, reference.filename);
  if (!media::IsAllowed(record.mime_type, settings.allowed_types)) return TypeRefused(record);
  if (Status kept = Keep(context, *bytes, record); !kept.ok()) return context.Explain(kept);
  reference.kind = MediaReference::Kind::kFileId;
  reference.file_id = record.file_id;
  reference.mime_type = record.mime_type;
  reference.size_bytes = static_cast<int64_t>(record.size_bytes);
  reference.data_base64.clear();
  reference.url.clear();
  return std::nullopt;
}

}  // namespace

std::optional<ErrorInfo> StoreInlineFiles(HandlerContext& context, std::vector<Message>& messages,
                                          bool texts_added) {
  const MessageLimits limits = MessageLimitsOf(context);
  if (!texts_added && !limits.may_be_exceeded()) return std::nullopt;
  for (Message& message : messages) {
    if (message::ToJsonText(message).size() <= limits.message_bytes_max) continue;
    // The caller could not read the file after it is stored.
    if (!media::MayRead(ReaderOf(context), NewFileRecord(context, "", ""))) {
      return Invalid("a message must have at most " + std::to_string(limits.message_bytes_max) +
                     " bytes");
    }
    for (ContentBlock& block : message.content) {
      auto* media = std::get_if<MediaBlock>(&block);
      if (media == nullptr) continue;
      std::optional<models::InlineData> data = models::InlineDataOf(*media);
      if (!data) continue;
      if (auto error = Store(context, media->media, *data)) return error;
    }
  }
  return std::nullopt;
}

std::optional<ErrorInfo> StoreLargeInlineFiles(HandlerContext& context,
                                               std::vector<Message>& messages) {
  using Storage = settings::MediaSettings::Storage;
  if (context.api().settings->media.storage == Storage::kMemory) return std::nullopt;
  for (Message& message : messages) {
    for (ContentBlock& block : message.content) {
      const std::optional<models::InlineData> data = LargeDataOf(block);
      if (!data) continue;
      MediaReference& reference = std::get<MediaBlock>(block).media;
      if (!IsAdmitted(context, reference, *data)) continue;
      if (auto error = Store(context, reference, *data)) return error;
    }
  }
  return std::nullopt;
}

}  // namespace agent_graph::api
