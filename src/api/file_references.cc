#include "api/file_references.h"

#include <string>
#include <utility>
#include <variant>

#include "api/file_record.h"
#include "api/inline_files.h"
#include "media/mime.h"
#include "media/storage.h"

namespace agent_graph::api {
namespace {

using Documents = settings::MediaSettings::Documents;

MediaBlock::Type TypeOf(const media::FileRecord& record) {
  std::string type = media::Essence(record.mime_type);
  if (type.starts_with("image/")) return MediaBlock::Type::kImage;
  if (type.starts_with("audio/")) return MediaBlock::Type::kAudio;
  if (type.starts_with("video/")) return MediaBlock::Type::kVideo;
  return MediaBlock::Type::kDocument;
}

bool IsReference(const ContentBlock& block) {
  const auto* media = std::get_if<MediaBlock>(&block);
  return media != nullptr && media->media.kind == MediaReference::Kind::kFileId;
}

// One block of one message; nothing when it is to be left out.
Result<std::optional<ContentBlock>> Resolve(HandlerContext& context, const MediaBlock& block) {
  media::Storage& files = *context.api().files;
  AG_ASSIGN_OR_RETURN(media::FileRecord record, files.Find(ReaderOf(context), block.media.file_id));
  MediaBlock resolved = block;
  resolved.type = TypeOf(record);
  resolved.media.mime_type = record.mime_type;
  resolved.media.filename = record.filename;
  resolved.media.size_bytes = static_cast<int64_t>(record.size_bytes);
  const Documents documents = context.api().settings->media.documents;
  if (resolved.type == MediaBlock::Type::kDocument) {
    if (documents == Documents::kSkip) return std::optional<ContentBlock>();
    if (documents == Documents::kExtractText && record.has_text) {
      AG_ASSIGN_OR_RETURN(std::string text, files.ReadText(record));
      return std::optional<ContentBlock>(TextBlock{std::move(text)});
    }
  }
  return std::optional<ContentBlock>(std::move(resolved));
}

}  // namespace

std::optional<ErrorInfo> ResolveFiles(HandlerContext& context, std::vector<Message>& messages) {
  size_t references = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    std::vector<ContentBlock> content;
    for (ContentBlock& block : messages[i].content) {
      if (!IsReference(block)) {
        content.push_back(std::move(block));
        continue;
      }
      if (++references > kFileReferencesMax) {
        Problems problems;
        problems.Add({"body", "messages", std::to_string(i), "content"},
                     "at most " + std::to_string(kFileReferencesMax) + " files may be referred to",
                     "value_error");
        return std::move(problems).Error();
      }
      Result<std::optional<ContentBlock>> resolved = Resolve(context, std::get<MediaBlock>(block));
      if (!resolved.ok()) return context.Explain(resolved.status());
      if (*resolved) content.push_back(*std::move(*resolved));
    }
    messages[i].content = std::move(content);
  }
  return StoreInlineFiles(context, messages);
}

}  // namespace agent_graph::api
