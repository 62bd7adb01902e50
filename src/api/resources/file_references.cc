#include "api/resources/file_references.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <variant>

#include "api/http/validation.h"
#include "api/resources/file_record.h"
#include "api/resources/inline_files.h"
#include "api/resources/message_input.h"
#include "base/text.h"
#include "media/mime.h"
#include "media/storage.h"
#include "message/codec.h"

namespace agent_graph::api {
namespace {

using Documents = settings::MediaSettings::Documents;

constexpr size_t kShownIdBytesMax = 100;

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

// Returns the block with the type, name and size of its stored file.
MediaBlock Described(const MediaBlock& block, const media::FileRecord& record) {
  MediaBlock described = block;
  described.type = TypeOf(record);
  described.media.mime_type = record.mime_type;
  described.media.filename = record.filename;
  described.media.size_bytes = static_cast<int64_t>(record.size_bytes);
  return described;
}

// Resolves a block of a message; nullopt if the block must be left out.
Result<std::optional<ContentBlock>> Resolve(HandlerContext& context, const MediaBlock& block) {
  media::Storage& files = *context.api().files;
  const std::string& file_id = block.media.file_id;
  Result<media::FileRecord> found = files.Find(ReaderOf(context), file_id);
  if (found.status().code() == StatusCode::kNotFound) {
    return NotFound("file not found: " + OneLine(file_id, kShownIdBytesMax));
  }
  AG_ASSIGN_OR_RETURN(media::FileRecord record, std::move(found));
  MediaBlock resolved = Described(block, record);
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

// File references in the messages of a thread.
class StoredReferences {
 public:
  StoredReferences(HandlerContext& context, const std::string& thread_id)
      : context_(context), thread_id_(thread_id) {}

  // Returns null if the thread has no message with that id, or if the message does not refer to the
  // file.
  Result<const MediaBlock*> Find(const std::string& message_id, const std::string& file_id) {
    if (thread_id_.empty() || message_id.empty() || context_.api().state == nullptr) return nullptr;
    auto [found, added] = read_.try_emplace(message_id);
    if (added) AG_RETURN_IF_ERROR(Read(message_id, found->second));
    for (const ContentBlock& block : found->second) {
      const auto& media = std::get<MediaBlock>(block);
      if (media.media.file_id == file_id) return &media;
    }
    return nullptr;
  }

 private:
  Status Read(const std::string& message_id, std::vector<ContentBlock>& references) {
    const Result<state::StoredMessage> stored =
        context_.state().GetMessage(context_.caller().scope, thread_id_, message_id);
    if (stored.status().code() == StatusCode::kNotFound) return Status::Ok();
    AG_RETURN_IF_ERROR(stored.status());
    AG_ASSIGN_OR_RETURN(Message message, message::FromJsonText(stored->json));
    references = std::move(message.content);
    std::erase_if(references, [](const ContentBlock& block) { return !IsReference(block); });
    return Status::Ok();
  }

  HandlerContext& context_;
  const std::string& thread_id_;
  std::unordered_map<std::string, std::vector<ContentBlock>> read_;  // by message id
};

// `path` is the location of the message.
ErrorInfo TooMany(std::vector<std::string> path) {
  path.emplace_back("content");
  Problems problems;
  problems.Add(std::move(path),
               "must refer to at most " + std::to_string(kFileReferencesMax) + " files",
               ProblemType::kValue);
  return std::move(problems).Error();
}

// Limits messages whose documents were replaced by text to the size of other messages. It adds up
// the raw size of each text first, so that no more texts are read than necessary; Finish checks the
// exact size in JSON.
class GrowthCheck {
 public:
  GrowthCheck(const HandlerContext& context, const std::vector<std::string>& path, size_t message)
      : path_(path), message_(message), bytes_max_(MessageLimitsOf(context).message_bytes_max) {}

  bool has_grown() const { return text_bytes_ > 0; }
  std::optional<ErrorInfo> Add(const ContentBlock& resolved) {
    const auto* text = std::get_if<TextBlock>(&resolved);
    if (text == nullptr) return std::nullopt;
    text_bytes_ += text->text.size();
    Problems problems;
    if (text_bytes_ > bytes_max_) AddTooLarge(path_, message_, bytes_max_, problems);
    return ErrorOf(std::move(problems));
  }
  std::optional<ErrorInfo> Finish(const Message& message) const {
    Problems problems;
    if (has_grown()) CheckMessageSize(message, path_, message_, bytes_max_, problems);
    return ErrorOf(std::move(problems));
  }

 private:
  static std::optional<ErrorInfo> ErrorOf(Problems problems) {
    if (problems.empty()) return std::nullopt;
    return std::move(problems).Error();
  }

  const std::vector<std::string>& path_;
  const size_t message_;
  const size_t bytes_max_;
  size_t text_bytes_ = 0;
};

}  // namespace

std::optional<ErrorInfo> ResolveFiles(HandlerContext& context, const std::vector<std::string>& path,
                                      const std::string& thread_id,
                                      std::vector<Message>& messages) {
  StoredReferences stored(context, thread_id);
  size_t references = 0;
  bool any_has_grown = false;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (std::ranges::none_of(messages[i].content, IsReference)) continue;
    GrowthCheck growth(context, path, i);
    std::vector<ContentBlock> content;
    for (ContentBlock& block : messages[i].content) {
      if (!IsReference(block)) {
        content.push_back(std::move(block));
        continue;
      }
      auto& reference = std::get<MediaBlock>(block);
      const Result<const MediaBlock*> known = stored.Find(messages[i].id, reference.media.file_id);
      if (!known.ok()) return context.Explain(known.status());
      if (*known != nullptr) {
        reference.type = (*known)->type;
        reference.media = (*known)->media;
        content.push_back(std::move(block));
        continue;
      }
      if (++references > kFileReferencesMax) {
        std::vector<std::string> place = path;
        place.push_back(std::to_string(i));
        return TooMany(std::move(place));
      }
      Result<std::optional<ContentBlock>> resolved = Resolve(context, reference);
      if (!resolved.ok()) return context.Explain(resolved.status());
      if (!*resolved) continue;
      content.push_back(*std::move(*resolved));
      if (auto error = growth.Add(content.back())) return error;
    }
    messages[i].content = std::move(content);
    if (auto error = growth.Finish(messages[i])) return error;
    any_has_grown = any_has_grown || growth.has_grown();
  }
  return StoreInlineFiles(context, messages, any_has_grown);
}

std::optional<ErrorInfo> DescribeFiles(HandlerContext& context,
                                       const std::vector<std::string>& path, Message& message) {
  size_t references = 0;
  for (ContentBlock& block : message.content) {
    if (!IsReference(block)) continue;
    if (++references > kFileReferencesMax) return TooMany(path);
    auto& media = std::get<MediaBlock>(block);
    Result<media::FileRecord> record =
        context.api().files->Find(ReaderOf(context), media.media.file_id);
    if (record.ok()) {
      media = Described(media, *record);
    } else if (record.status().code() != StatusCode::kNotFound) {
      return context.Explain(record.status());
    }
  }
  return std::nullopt;
}

}  // namespace agent_graph::api
