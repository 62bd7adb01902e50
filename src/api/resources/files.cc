// GET /v1/files/{file_id}, …/info and …/url: uploaded files.
#include <string>
#include <utility>

#include "agent_graph/json.h"
#include "api/http/byte_range.h"
#include "api/http/page_reads.h"
#include "api/http/request_memory.h"
#include "api/resources/file_record.h"
#include "api/resources/handlers.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/percent_encoding.h"
#include "media/mime.h"
#include "media/storage.h"

namespace agent_graph::api {
namespace {

constexpr size_t kContentTypeBytesMax = 255;
constexpr size_t kEtagDigits = 32;  // digits of the SHA-256

std::string EtagOf(const media::FileRecord& record) {
  return '"' + record.sha256.substr(0, kEtagDigits) + '"';
}

// Returns a header value such as: attachment; filename="naive_.txt";
// filename*=UTF-8''na%C3%AFve%22.txt (RFC 6266)
std::string Disposition(const media::FileRecord& record) {
  bool in_place = !record.active && media::IsShownInPlace(record.mime_type);
  std::string fallback;
  for (char c : record.filename) {
    auto byte = static_cast<unsigned char>(c);
    bool plain = byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\' && c != '%';
    fallback.push_back(plain ? c : '_');
  }
  return std::string(in_place ? "inline" : "attachment") + "; filename=\"" + fallback +
         "\"; filename*=UTF-8''" + PercentEncode(record.filename);
}

// Prevents browsers from running active content.
void AppendSandbox(const media::FileRecord& record, bridge::HeaderList& headers) {
  if (record.active) headers.emplace_back("Content-Security-Policy", "sandbox; default-src 'none'");
}

bridge::HeaderList FileHeaders(const media::FileRecord& record) {
  bridge::HeaderList headers;
  headers.emplace_back("Content-Type", record.mime_type);
  headers.emplace_back("Content-Disposition", Disposition(record));
  headers.emplace_back("X-Content-Type-Options", "nosniff");
  AppendSandbox(record, headers);
  // "private": another user of the same browser must not get a cached copy. "no-cache": the file
  // never changes, so revalidation is cheap.
  headers.emplace_back("Cache-Control", "private, no-cache");
  headers.emplace_back("ETag", EtagOf(record));
  headers.emplace_back("Accept-Ranges", "bytes");
  return headers;
}

void AnswerNotModified(HandlerContext& context, const media::FileRecord& record) {
  bridge::HeaderList headers;
  headers.emplace_back("Cache-Control", "private, no-cache");
  headers.emplace_back("ETag", EtagOf(record));
  // A browser replaces headers of its cached response by those of this one.
  AppendSandbox(record, headers);
  context.exchange().SendHead(context.MakeHead(304, std::move(headers)));
  context.exchange().End("ok");
}

void AnswerUnsatisfiable(HandlerContext& context, const media::FileRecord& record) {
  const ErrorInfo error{ApiError::kRangeNotSatisfiable, "", {}};
  context.Fail(error, {{"Content-Range", "bytes */" + std::to_string(record.size_bytes)}});
}

// Sends the content. Returns false if it ended early; the client detects that by the
// Content-Length.
bool PassOn(HandlerContext& context, media::ByteStream& stream) {
  for (;;) {
    Result<std::string> piece = stream.Read();
    if (!piece.ok()) {
      context.Log(bridge::LogLevel::kError, "a file was cut short: " + piece.status().ToString());
      return false;
    }
    if (piece->empty()) return true;
    Status sent = context.exchange().Send(*piece, bridge::kSendWaitMax);
    if (!sent.ok()) return false;
  }
}

json InfoOf(const media::FileRecord& record, const std::optional<std::string>& text,
            const std::optional<media::DirectUrl>& direct) {
  return {{"file_id", record.file_id},
          {"mime_type", record.mime_type},
          {"size_bytes", record.size_bytes},
          {"filename", record.filename},
          {"extracted_text", text ? json(*text) : json()},
          {"direct_url", direct ? json(direct->url) : json()},
          {"direct_url_expires_at", direct ? json(direct->expires) : json()}};
}

Result<media::FileRecord> FindFile(HandlerContext& context) {
  return context.api().files->Find(ReaderOf(context), context.head().path_parameters.at(0));
}

bool IsHeaderText(std::string_view text) {
  for (char c : text) {
    if (c < 0x20 || c > 0x7e) return false;
  }
  return true;
}

// Returns the extracted text. nullopt if there is none or it cannot be read, because the text is
// optional.
std::optional<std::string> TextOf(HandlerContext& context, const media::FileRecord& record) {
  if (!record.has_text) return std::nullopt;
  Result<std::string> text = context.api().files->ReadText(record);
  if (!text.ok()) return std::nullopt;
  return std::move(text).value();
}

}  // namespace

media::Reader ReaderOf(const HandlerContext& context) {
  return {context.caller().user_id, !context.api().settings->media.require_owner};
}

media::FileRecord NewFileRecord(const HandlerContext& context, const std::string& content_type,
                                const std::string& filename) {
  media::FileRecord record;
  record.file_id = NewHexId();
  record.owner = context.caller().user_id;
  record.created_micros = UnixMicros();
  record.filename = media::CleanFileName(filename);
  bool usable = content_type.size() <= kContentTypeBytesMax && IsHeaderText(content_type) &&
                !media::Essence(content_type).empty();
  record.mime_type = usable ? content_type : media::TypeOfName(record.filename);
  record.active = media::IsActiveType(record.mime_type);
  return record;
}

ErrorInfo FileTooLarge(const settings::MediaSettings& media) {
  return {ApiError::kRequestTooLarge,
          "the file has more than " + std::to_string(media.file_bytes_max()) + " bytes",
          {}};
}

ErrorInfo TypeRefused(const media::FileRecord& record) {
  return {ApiError::kUnsupportedMediaType,
          "files of type " + record.mime_type + " are not accepted",
          {}};
}

std::string FilePath(const HandlerContext& context, const std::string& file_id) {
  return context.head().base_path + std::string(kFilesPath) + file_id;
}

std::string UploadedJson(const HandlerContext& context, const media::FileRecord& record,
                         const std::optional<std::string>& text,
                         const std::optional<media::DirectUrl>& direct) {
  json out = InfoOf(record, text, direct);
  out["url"] = FilePath(context, record.file_id);
  return DumpJson(out);
}

void DownloadFile(HandlerContext& context) {
  Result<media::FileRecord> record = FindFile(context);
  if (!record.ok()) return context.Fail(record.status());
  const bridge::RequestHead& request = context.head();
  const std::string etag = EtagOf(*record);
  if (MatchesEtag(request.Header("if-none-match"), etag)) {
    return AnswerNotModified(context, *record);
  }
  bool head_only = request.method == "HEAD";
  ByteRange range = ReadRange(head_only ? std::string_view() : request.Header("range"),
                              request.Header("if-range"), etag, record->size_bytes);
  if (range.kind == ByteRange::Kind::kUnsatisfiable) return AnswerUnsatisfiable(context, *record);
  Result<media::Content> content = media::Content();
  if (!head_only) content = context.api().files->Open(*record, range.first, range.length);
  if (!content.ok()) return context.Fail(content.status());

  bridge::HeaderList headers = FileHeaders(*record);
  int status = 200;
  if (range.kind == ByteRange::Kind::kPart) {
    status = 206;
    headers.emplace_back("Content-Range", "bytes " + std::to_string(range.first) + "-" +
                                              std::to_string(range.first + range.length - 1) + "/" +
                                              std::to_string(record->size_bytes));
  }
  bridge::ReplyHead reply = context.MakeHead(status, std::move(headers));
  reply.content_length = static_cast<int64_t>(range.length);
  context.exchange().SendHead(std::move(reply));
  if (head_only) return context.exchange().End("ok");
  if (content->stream == nullptr) {
    context.exchange().SendFile(std::move(content->file), range.first, range.length);
    return context.exchange().End("ok");
  }
  context.exchange().End(PassOn(context, *content->stream) ? "ok" : "error");
}

void GetFileInfo(HandlerContext& context) {
  Result<media::FileRecord> record = FindFile(context);
  if (!record.ok()) return context.Fail(record.status());
  PageReads::Place place;
  // Not among the readers of pages: a bucket may answer slowly.
  if (auto error = EnterPageReads(context.exchange(), *context.api().page_searches,
                                  context.api().settings->limits, place)) {
    return context.Fail(*error);
  }
  context.Succeed(
      DumpJson(InfoOf(*record, TextOf(context, *record), context.api().files->UrlOf(*record))));
}

void GetFileUrl(HandlerContext& context) {
  Result<media::FileRecord> record = FindFile(context);
  if (!record.ok()) return context.Fail(record.status());
  std::optional<media::DirectUrl> direct = context.api().files->UrlOf(*record);
  context.Succeed(DumpJson({{"file_id", record->file_id},
                            {"url", direct ? direct->url : FilePath(context, record->file_id)},
                            {"expires_at", direct ? json(direct->expires) : json()},
                            {"mime_type", record->mime_type}}));
}

}  // namespace agent_graph::api
