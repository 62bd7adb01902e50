// POST /v1/files/upload: stores a file from multipart/form-data while it arrives.
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "api/http/request_memory.h"
#include "api/resources/file_record.h"
#include "api/resources/handlers.h"
#include "media/extractor.h"
#include "media/mime.h"
#include "media/storage.h"
#include "multipart/parser.h"
#include "runtime/runtime.h"

namespace agent_graph::api {
namespace {

// Maximum bytes of everything except the file: other fields, part heads, boundaries.
constexpr uint64_t kOtherBytesMax = 1024 * 1024;
constexpr std::string_view kField = "file";

ErrorInfo BadUpload(std::string message) {
  return {ApiError::kBadRequest, message, {{{"body", "file"}, message, ProblemType::kValue}}};
}

class FileUpload {
 public:
  explicit FileUpload(HandlerContext& context)
      : context_(context), media_(context.api().settings->media) {}

  // Receives and stores the file. Returns the error to answer with, if there is one.
  std::optional<ErrorInfo> Receive();

  const media::FileRecord& record() const { return record_; }
  const std::optional<std::string>& text() const { return text_; }

 private:
  std::optional<ErrorInfo> CheckLength() const;
  std::optional<ErrorInfo> TakePart(const multipart::Part& part);
  std::optional<ErrorInfo> TakeData(std::string_view data);
  std::optional<ErrorInfo> Finish();
  std::string TurnKey() const;

  HandlerContext& context_;
  const settings::MediaSettings& media_;
  bool in_file_ = false;  // the current part is the file
  uint64_t other_bytes_ = 0;
  std::optional<media::Spool> spool_;
  media::FileRecord record_;
  std::optional<std::string> text_;
};

// Refuses a body by its Content-Length before anything is read.
std::optional<ErrorInfo> FileUpload::CheckLength() const {
  std::string_view length = context_.head().Header("content-length");
  uint64_t bytes = 0;
  for (char c : length) {
    // Not a valid length: nginx checks it.
    if (c < '0' || c > '9' || bytes > (uint64_t{1} << 60)) return std::nullopt;
    bytes = bytes * 10 + static_cast<uint64_t>(c - '0');
  }
  if (bytes > media_.file_bytes_max() + kOtherBytesMax) return FileTooLarge(media_);
  return std::nullopt;
}

std::optional<ErrorInfo> FileUpload::Receive() {
  if (auto error = CheckLength()) return error;
  std::optional<std::string> boundary =
      multipart::BoundaryOf(context_.head().Header("content-type"));
  if (!boundary) return BadUpload("no form field \"file\": the body is not multipart/form-data");
  // nginx may read as much at once.
  if (const uint64_t bytes = context_.head().late_body_bytes; bytes > 0) {
    if (Status room = AwaitInputMemory(context_.exchange(), bytes); !room.ok()) {
      return ErrorOf(room);
    }
  }
  multipart::Parser parser(*boundary);
  const uint64_t limit = context_.head().run_timeout_ms;
  const Deadline deadline =
      limit > 0 ? DeadlineAfter(std::chrono::milliseconds(limit)) : kNoDeadline;
  for (;;) {
    std::optional<ErrorInfo> error;
    switch (parser.Next()) {
      case multipart::Parser::Event::kNeedMore: {
        Result<std::string> piece = context_.exchange().body().TakePiece(deadline);
        if (!piece.ok()) return ErrorOf(piece.status());
        if (piece->empty()) return BadUpload("the multipart body ends too early");
        if (!in_file_) other_bytes_ += piece->size();
        parser.Feed(*piece);
        break;
      }
      case multipart::Parser::Event::kPart:
        error = TakePart(parser.part());
        break;
      case multipart::Parser::Event::kData:
        error = TakeData(parser.data());
        break;
      case multipart::Parser::Event::kPartEnd:
        in_file_ = false;
        break;
      case multipart::Parser::Event::kEnd:
        return Finish();
      case multipart::Parser::Event::kError:
        return BadUpload("the multipart body is malformed: " + parser.error());
    }
    if (error) return error;
    if (other_bytes_ > kOtherBytesMax) {
      return ErrorInfo{
          ApiError::kRequestTooLarge, "the form fields beside the file are too large", {}};
    }
  }
}

std::optional<ErrorInfo> FileUpload::TakePart(const multipart::Part& part) {
  if (part.name != kField) return std::nullopt;
  if (spool_) return BadUpload("there is more than one form field \"file\"");
  record_ = NewFileRecord(context_, part.content_type, part.filename.value_or(""));
  if (record_.filename.empty()) return BadUpload("the form field \"file\" has no filename");
  if (!media::IsAllowed(record_.mime_type, media_.allowed_types)) return TypeRefused(record_);
  Result<media::Spool> spool = context_.api().files->Receive();
  if (!spool.ok()) return context_.Explain(spool.status());
  spool_.emplace(std::move(spool).value());
  in_file_ = true;
  return std::nullopt;
}

std::optional<ErrorInfo> FileUpload::TakeData(std::string_view data) {
  if (!in_file_) return std::nullopt;
  if (spool_->size() + data.size() > media_.file_bytes_max()) return FileTooLarge(media_);
  Status written;
  context_.api().runtime->RunOnIoPool([&] { written = spool_->Write(data); });
  if (!written.ok()) return context_.Explain(written);
  return std::nullopt;
}

// Key for fair scheduling of extraction: the user, or the client's address if there are no users.
std::string FileUpload::TurnKey() const {
  if (!record_.owner.empty()) return "user " + record_.owner;
  return "address " + context_.head().peer_address;
}

std::optional<ErrorInfo> FileUpload::Finish() {
  if (!spool_) return BadUpload("no form field \"file\"");
  if (spool_->size() == 0) return BadUpload("the file is empty");
  record_.active = record_.active || media::LooksActive(spool_->first_bytes());
  if (media_.documents == settings::MediaSettings::Documents::kExtractText) {
    text_ = context_.api().extractor->Extract(
        spool_->file(), media::FormatOf(record_.mime_type, record_.filename), TurnKey());
  }
  Status kept = context_.api().files->Keep(*spool_, record_, text_);
  if (!kept.ok()) return context_.Explain(kept);
  return std::nullopt;
}

}  // namespace

void UploadFile(HandlerContext& context) {
  FileUpload upload(context);
  if (std::optional<ErrorInfo> error = upload.Receive()) return context.Fail(*error);
  context.Succeed(UploadedJson(context, upload.record(), upload.text(),
                               context.api().files->UrlOf(upload.record())));
}

}  // namespace agent_graph::api
