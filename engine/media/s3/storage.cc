#include "media/s3/storage.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/ids.h"
#include "base/sha256.h"
#include "net/retry.h"
#include "net/retry_after.h"
#include "net/url.h"
#include "runtime/runtime.h"

namespace agent_graph::media::s3 {
namespace {

constexpr std::chrono::seconds kIdleMax{30};
// A client waits meanwhile; if the storage asks for a longer pause, there is no retry.
constexpr std::chrono::seconds kPauseMax{10};
constexpr size_t kErrorBytesMax = 2048;
constexpr int kTriesMax = 3;               // sends of one request
constexpr size_t kPieceBytes = 64 * 1024;  // upload piece

Status NoSuchFile() {
  return Status(StatusCode::kNotFound, "file not found");
}

Status StorageFault(const std::string& detail) {
  return Status(StatusCode::kUnavailable, "the file storage failed").WithDetail(detail);
}

int64_t UnixNow() {
  return UnixMicros() / kMicrosPerSecond;
}

// The pause before the next attempt.
std::chrono::milliseconds PauseAfter(const Result<net::HttpHead>& head, int attempt) {
  const auto wanted = head.ok() ? net::ParseRetryAfter(head->Header("retry-after"), UnixNow())
                                : std::optional<std::chrono::milliseconds>();
  return wanted.value_or(net::RetryDelay(attempt, RandomUint64()));
}

std::string Refusal(const Request& request, const net::HttpHead& head, net::HttpCall& call) {
  const Result<std::string> text = call.ReadRest(kErrorBytesMax);
  return request.method + " answered " + std::to_string(head.status) + ": " +
         (text.ok() ? *text : "");
}

// A reply 404 to a GET means that there is no such file, unless the bucket is missing.
Status MissingObject(const std::string& refusal) {
  const bool lacks_file =
      refusal.starts_with("GET ") && refusal.find("NoSuchBucket") == std::string::npos;
  return lacks_file ? NoSuchFile() : StorageFault(refusal);
}

class CallStream : public ByteStream {
 public:
  CallStream(std::unique_ptr<net::HttpCall> call, uint64_t length)
      : call_(std::move(call)), left_(length) {}

  Result<std::string> Read() override {
    AG_ASSIGN_OR_RETURN(std::string piece, call_->Read());
    if (piece.size() > left_ || (piece.empty() && left_ > 0)) {
      return StorageFault("an object of another length");
    }
    left_ -= piece.size();
    return piece;
  }

 private:
  std::unique_ptr<net::HttpCall> call_;
  uint64_t left_;
};

}  // namespace

S3Storage::S3Storage(StorageOptions options, std::unique_ptr<Storage> spool, net::HttpClient client,
                     runtime::Runtime& runtime)
    : options_(std::move(options)),
      spool_(std::move(spool)),
      client_(std::move(client)),
      runtime_(runtime) {
  if (options_.endpoint.empty()) {
    host_ = options_.bucket + ".s3." + options_.region + ".amazonaws.com";
    base_url_ = "https://" + host_;
    base_path_ = "/";
  } else {
    // As the HTTP client sends it: in lower case, without the scheme's default port.
    const net::Url url = net::ParseUrl(options_.endpoint).value_or(net::Url());
    host_ = net::HostHeader(url);
    base_url_ = url.scheme + "://" + host_;
    base_path_ = "/" + options_.bucket + "/";
  }
  if (!options_.prefix.empty()) base_path_ += options_.prefix + "/";
}

S3Storage::~S3Storage() = default;

Request S3Storage::MakeRequest(std::string method, const std::string& name) const {
  Request request;
  request.method = std::move(method);
  request.host = host_;
  request.path = base_path_ + name;
  request.payload_hash = kEmptyPayload;
  return request;
}

// Sends the request and reads the head of the reply. Temporary failures are retried: all requests
// are safe to repeat.
Result<std::unique_ptr<net::HttpCall>> S3Storage::Send(const Request& request,
                                                       const net::HttpRequest& wanted,
                                                       const Spool* upload) const {
  net::HttpRequest http = wanted;
  http.method = request.method;
  http.url = base_url_ + EncodePath(request.path);
  http.idle_timeout = kIdleMax;
  // The reply to a PUT begins after the whole body was sent.
  http.first_byte_timeout =
      request.method == "PUT" ? options_.transfer_max : std::chrono::milliseconds(kIdleMax);
  if (upload != nullptr) http.upload_bytes = upload->size();
  int tries_left = kTriesMax;
  for (int attempt = 0;; ++attempt) {
    http.once = tries_left == 1;  // the client may send twice on a kept connection
    http.headers = SignedHeaders(request, options_.credentials, options_.region, UnixNow());
    AG_ASSIGN_OR_RETURN(std::unique_ptr<net::HttpCall> call, client_.Start(http, never_));
    const Status uploaded = upload != nullptr ? Upload(*call, *upload) : Status::Ok();
    Result<net::HttpHead> head = uploaded.ok() ? call->ReadHead() : uploaded;
    tries_left -= std::max(call->sends(), 1);
    if (head.ok() && head->status >= 200 && head->status < 300) return call;
    if (head.ok() && head->status == 404) return MissingObject(Refusal(request, *head, *call));
    const bool may_pass = head.ok() ? net::IsRetryable(head->status)
                                    : head.status().code() == StatusCode::kUnavailable;
    const std::chrono::milliseconds pause = PauseAfter(head, attempt);
    if (!may_pass || tries_left <= 0 || pause > kPauseMax) {
      return StorageFault(head.ok() ? Refusal(request, *head, *call) : head.status().ToString());
    }
    call.reset();
    AG_RETURN_IF_ERROR(runtime::SleepFor(pause, &never_));
  }
}

Status S3Storage::Upload(net::HttpCall& call, const Spool& spool) const {
  for (uint64_t sent = 0; sent < spool.size();) {
    Result<std::string> piece = std::string();
    runtime_.RunOnIoPool([&] { piece = spool.ReadAt(sent, kPieceBytes); });
    if (!piece.ok()) return piece.status();
    sent += piece->size();
    AG_RETURN_IF_ERROR(call.Write(*std::move(piece)));
  }
  return Status::Ok();
}

Status S3Storage::Put(const std::string& name, net::HttpRequest http, std::string hash,
                      const std::string& content_type, const Spool* upload) const {
  http.deadline = DeadlineAfter(options_.transfer_max);
  Request request = MakeRequest("PUT", name);
  request.payload_hash = std::move(hash);
  request.headers.emplace_back("content-type", content_type);
  AG_ASSIGN_OR_RETURN(std::unique_ptr<net::HttpCall> call, Send(request, http, upload));
  call->Drain(kIdleMax);
  return Status::Ok();
}

Result<std::string> S3Storage::Get(const std::string& name, size_t bytes_max) const {
  net::HttpRequest http;
  http.deadline = DeadlineAfter(options_.transfer_max);
  http.reply_bytes_max = bytes_max;
  AG_ASSIGN_OR_RETURN(std::unique_ptr<net::HttpCall> call, Send(MakeRequest("GET", name), http));
  Result<std::string> text = call->ReadRest(bytes_max);
  if (!text.ok()) return StorageFault(text.status().ToString());
  return text;
}

Status S3Storage::Keep(Spool& spool, FileRecord& record, const std::optional<std::string>& text) {
  record.size_bytes = spool.size();
  record.sha256 = spool.Sha256();
  record.has_text = text.has_value();
  AG_RETURN_IF_ERROR(Put(record.file_id, {}, record.sha256, record.mime_type, &spool));
  if (text) {
    net::HttpRequest http;
    http.body = *text;
    AG_RETURN_IF_ERROR(Put(record.file_id + ".txt", http, Sha256Hex(*text), "text/plain"));
  }
  net::HttpRequest http;
  http.body = ToText(record);
  std::string hash = Sha256Hex(http.body);
  AG_RETURN_IF_ERROR(Put(record.file_id + ".json", http, std::move(hash), "application/json"));
  Remember(record);
  return Status::Ok();
}

Result<FileRecord> S3Storage::Find(const Reader& reader, const std::string& file_id) {
  if (!IsFileId(file_id)) return NoSuchFile();
  std::optional<FileRecord> known = Recall(file_id);
  if (!known) {
    AG_ASSIGN_OR_RETURN(std::string text, Get(file_id + ".json", kRecordBytesMax));
    AG_ASSIGN_OR_RETURN(known, RecordFromText(text, file_id));
    Remember(*known);
  }
  if (!MayRead(reader, *known)) return NoSuchFile();
  return *std::move(known);
}

Result<Content> S3Storage::Open(const FileRecord& record, uint64_t first, uint64_t length) {
  Request request = MakeRequest("GET", record.file_id);
  const bool is_part = length != record.size_bytes;
  if (is_part) {
    request.headers.emplace_back(
        "range", "bytes=" + std::to_string(first) + "-" + std::to_string(first + length - 1));
  }
  // No deadline: a client may read a large file slowly.
  net::HttpRequest http;
  http.reply_bytes_max = static_cast<size_t>(length) + 1;
  AG_ASSIGN_OR_RETURN(std::unique_ptr<net::HttpCall> call, Send(request, http));
  AG_ASSIGN_OR_RETURN(const net::HttpHead head, call->ReadHead());
  // Otherwise the reply begins with other bytes of the file.
  if (is_part && head.status != 206) return StorageFault("it does not answer ranges");
  Content content;
  content.stream = std::make_unique<CallStream>(std::move(call), length);
  return content;
}

Result<std::string> S3Storage::ReadText(const FileRecord& record) {
  return Get(record.file_id + ".txt", kExtractedTextBytesMax + 1);
}

std::optional<DirectUrl> S3Storage::UrlOf(const FileRecord& record) {
  const int64_t now = UnixNow();
  MutexLock lock(mutex_);
  Known* const known = known_.Peek(record.file_id);
  if (known != nullptr && known->url && known->url->expires - now > options_.url_refresh_seconds) {
    return known->url;
  }
  DirectUrl url;
  Request request = MakeRequest("GET", record.file_id);
  // The bucket, too, must serve active content as a download only.
  if (record.active) request.query.emplace_back("response-content-disposition", "attachment");
  url.expires = now + options_.url_lifetime_seconds;
  url.url = base_url_ + EncodePath(request.path) + "?" +
            PresignedQuery(request, options_.credentials, options_.region, now,
                           options_.url_lifetime_seconds);
  if (known != nullptr) known->url = url;
  return url;
}

std::optional<FileRecord> S3Storage::Recall(const std::string& file_id) {
  MutexLock lock(mutex_);
  const Known* const known = known_.Find(file_id);
  return known != nullptr ? std::optional(known->record) : std::nullopt;
}

void S3Storage::Remember(const FileRecord& record) {
  MutexLock lock(mutex_);
  if (known_.Peek(record.file_id) == nullptr) known_.Put(record.file_id, Known{record, {}});
}

}  // namespace agent_graph::media::s3
