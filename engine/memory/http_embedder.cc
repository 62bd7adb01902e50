#include "memory/http_embedder.h"

#include <algorithm>
#include <cmath>

#include "agent_graph/json.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/text.h"
#include "net/retry.h"
#include "net/retry_after.h"
#include "runtime/runtime.h"

namespace agent_graph::memory {
namespace {

constexpr size_t kRequestsMax = 4;  // in flight at a time
constexpr size_t kDimensionsMax = 8192;
constexpr size_t kInlineJsonBytes = 64 * 1024;  // larger replies are parsed on the io pool
// A model's limit is a number of tokens. A token has about four bytes of English, but only one or
// two of other scripts, numbers and code, so a text that is refused is cut to this fraction.
constexpr size_t kDenseTextShare = 3;
// Bytes of one float as text, with some margin.
constexpr size_t kFloatTextBytes = 32;

Status ProviderFailed(const std::string& why) {
  return Status(StatusCode::kUnavailable, "the embedding provider " + why);
}

// The failure for a status other than 200. Some statuses mean that the texts were refused, the
// others are failures of ours or of the provider.
Status Refused(int http_status) {
  const std::string answered = "answered HTTP " + std::to_string(http_status);
  if (http_status != 400 && http_status != 413 && http_status != 422) {
    return ProviderFailed(answered);
  }
  return Status(StatusCode::kInvalidArgument,
                "the embedding provider refuses the text: it " + answered);
}

std::string SpaceOf(const EmbeddingOptions& options) {
  std::string space = options.provider + ":" + options.model;
  if (options.dimensions > 0) space += ":" + std::to_string(options.dimensions);
  return space;
}

Result<std::vector<float>> ReadVector(const json& values) {
  std::vector<float> vector;
  if (!values.is_array() || values.empty() || values.size() > kDimensionsMax) {
    return ProviderFailed("sent something that is no vector");
  }
  vector.reserve(values.size());
  for (const json& value : values) {
    const float number = value.is_number() ? value.get<float>() : NAN;
    if (!std::isfinite(number)) return ProviderFailed("sent something that is no vector");
    vector.push_back(number);
  }
  return vector;
}

}  // namespace

const std::vector<float>* VectorCache::Find(const std::string& text) {
  return vectors_.Find(text);
}

void VectorCache::Add(const std::string& text, const std::vector<float>& vector) {
  if (text.size() > kTextBytesMax || vectors_.Peek(text) != nullptr) return;
  vectors_.Put(text, vector);
}

HttpEmbedder::HttpEmbedder(EmbeddingOptions options, std::shared_ptr<const net::HttpClient> client)
    : options_(std::move(options)), client_(std::move(client)), space_(SpaceOf(options_)) {}

Result<std::vector<float>> HttpEmbedder::Embed(const std::string& text,
                                               const runtime::Cancellation& cancellation,
                                               Deadline deadline) {
  Waiting waiting{std::string(CutAtCharacter(text, options_.text_bytes_max)), {}};
  {
    MutexLock lock(mutex_);
    if (const std::vector<float>* known = cache_.Find(waiting.text)) return *known;
    if (waiting_.size() >= kWaitingMax) {
      return Status(StatusCode::kResourceExhausted, "too many texts wait for their embedding");
    }
    waiting_.push_back(waiting);
    if (requests_ < kRequestsMax) {
      ++requests_;
      runtime::Runtime::Current()->Spawn([this] { SendWaiting(); });
    }
  }
  auto answer = waiting.answer.Wait(&cancellation, deadline);
  if (!answer.ok()) return answer.status();
  return *std::move(answer);
}

void HttpEmbedder::SendWaiting() {
  for (;;) {
    const std::vector<Waiting> batch = TakeBatch();
    if (batch.empty()) return;
    Send(batch);
  }
}

void HttpEmbedder::Send(std::span<const Waiting> batch) {
  Result<Vectors> vectors = Ask(batch);
  // The texts of a batch come from different callers: split it, so that only refused texts fail.
  if (vectors.status().code() == StatusCode::kInvalidArgument && batch.size() > 1) {
    Send(batch.first(batch.size() / 2));
    Send(batch.subspan(batch.size() / 2));
    return;
  }
  if (vectors.status().code() == StatusCode::kInvalidArgument) {
    const std::string& text = batch.front().text;
    const size_t bytes_max = options_.text_bytes_max / kDenseTextShare;
    const Waiting cut{std::string(CutAtCharacter(text, bytes_max)), batch.front().answer};
    if (cut.text.size() < text.size()) vectors = Ask({&cut, 1});
  }
  Answer(batch, std::move(vectors));
}

std::vector<HttpEmbedder::Waiting> HttpEmbedder::TakeBatch() {
  MutexLock lock(mutex_);
  std::vector<Waiting> batch;
  while (!waiting_.empty() && batch.size() < options_.batch_max) {
    batch.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  if (batch.empty()) --requests_;
  return batch;
}

void HttpEmbedder::Answer(std::span<const Waiting> batch, Result<Vectors> vectors) {
  if (vectors.ok()) {
    MutexLock lock(mutex_);
    for (size_t i = 0; i < batch.size(); ++i) cache_.Add(batch[i].text, (*vectors)[i]);
  }
  for (size_t i = 0; i < batch.size(); ++i) {
    if (vectors.ok()) {
      batch[i].answer.Set(std::move((*vectors)[i]));
    } else {
      batch[i].answer.Set(vectors.status());
    }
  }
}

net::HttpRequest HttpEmbedder::MakeRequest(std::span<const Waiting> batch) const {
  json body = {{"model", options_.model}, {"encoding_format", "float"}, {"input", json::array()}};
  // Some servers refuse empty texts.
  for (const Waiting& waiting : batch) {
    body["input"].push_back(waiting.text.empty() ? " " : waiting.text);
  }
  if (options_.dimensions > 0) body["dimensions"] = options_.dimensions;
  net::HttpRequest request;
  request.url = options_.base_url + "/embeddings";
  request.headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}};
  if (!options_.api_key.empty()) {
    request.headers.emplace_back("Authorization", "Bearer " + options_.api_key);
  }
  for (const auto& header : options_.headers) request.headers.push_back(header);
  request.body = DumpJson(body);
  request.lasts_long = true;
  request.http2 = options_.http2;
  request.first_byte_timeout = options_.timeout;
  request.idle_timeout = options_.timeout;
  request.reply_bytes_max = 4096 + batch.size() * kDimensionsMax * kFloatTextBytes;
  return request;
}

Result<HttpEmbedder::Vectors> HttpEmbedder::Ask(std::span<const Waiting> batch) {
  net::HttpRequest request = MakeRequest(batch);
  int tries_left = options_.retries_max + 1;
  for (int attempt = 0;; ++attempt) {
    request.deadline = DeadlineAfter(options_.timeout);
    request.once = tries_left == 1;  // the client may send twice on a kept connection
    Attempt result = AskOnce(request, batch.size());
    tries_left -= std::max(result.sends, 1);
    if (result.vectors.ok() || !result.may_repeat || tries_left <= 0) {
      return std::move(result.vectors);
    }
    const std::chrono::milliseconds delay =
        result.retry_after.value_or(net::RetryDelay(attempt, RandomUint64()));
    if (delay > options_.timeout) return std::move(result.vectors);
    AG_RETURN_IF_ERROR(runtime::SleepFor(delay, &closing_));
  }
}

HttpEmbedder::Attempt HttpEmbedder::LostCall(const Status& status) {
  if (status.code() == StatusCode::kCancelled) return {.vectors = status};
  return {.vectors = ProviderFailed("failed: " + status.message()).WithDetail(status.detail()),
          .may_repeat = status.code() != StatusCode::kInvalidArgument};
}

HttpEmbedder::Attempt HttpEmbedder::AskOnce(const net::HttpRequest& request, size_t count) const {
  const Result<std::unique_ptr<net::HttpCall>> call = client_->Start(request, closing_);
  if (!call.ok()) return LostCall(call.status());
  Attempt attempt = ReadReply(**call, request, count);
  attempt.sends = (*call)->sends();
  return attempt;
}

HttpEmbedder::Attempt HttpEmbedder::ReadReply(net::HttpCall& call, const net::HttpRequest& request,
                                              size_t count) const {
  const Result<net::HttpHead> head = call.ReadHead();
  if (!head.ok()) return LostCall(head.status());
  if (head->status != 200) {
    Attempt refused;
    refused.vectors = Refused(head->status);
    refused.may_repeat = net::IsRetryable(head->status);
    refused.retry_after =
        net::ParseRetryAfter(head->Header("retry-after"), UnixMicros() / kMicrosPerSecond);
    return refused;
  }
  const Result<std::string> body = call.ReadRest(request.reply_bytes_max);
  if (!body.ok()) return LostCall(body.status());
  Attempt read;
  if (body->size() <= kInlineJsonBytes) {
    read.vectors = ReadVectors(*body, count);
  } else {
    runtime::Runtime::Current()->RunOnIoPool([&] { read.vectors = ReadVectors(*body, count); });
  }
  return read;
}

Result<HttpEmbedder::Vectors> HttpEmbedder::ReadVectors(const std::string& body,
                                                        size_t count) const {
  const Result<json> parsed =
      ParseJson(body, {.depth_max = 16, .values_max = count * (kDimensionsMax + 16) + 64});
  if (!parsed.ok() || !parsed->is_object()) return ProviderFailed("did not answer with JSON");
  const auto data = parsed->find("data");
  if (data == parsed->end() || !data->is_array() || data->size() != count) {
    return ProviderFailed("did not answer with a vector for each text");
  }
  Vectors vectors(count);
  for (size_t i = 0; i < count; ++i) {
    const json& item = (*data)[i];
    if (!item.is_object() || !item.contains("embedding")) {
      return ProviderFailed("did not answer with a vector for each text");
    }
    const auto index = item.find("index");
    const size_t place =
        index != item.end() && index->is_number_unsigned() ? index->get<size_t>() : i;
    if (place >= count || !vectors[place].empty()) {
      return ProviderFailed("did not answer with a vector for each text");
    }
    AG_ASSIGN_OR_RETURN(vectors[place], ReadVector(item["embedding"]));
    if (options_.dimensions > 0 && vectors[place].size() != options_.dimensions) {
      return ProviderFailed("sent vectors of " + std::to_string(vectors[place].size()) +
                            " dimensions instead of " + std::to_string(options_.dimensions));
    }
  }
  return vectors;
}

std::unique_ptr<Embedder> CreateHttpEmbedder(const EmbeddingOptions& options,
                                             const Environment& environment) {
  return std::make_unique<HttpEmbedder>(options,
                                        std::make_shared<const net::HttpClient>(environment));
}

}  // namespace agent_graph::memory
