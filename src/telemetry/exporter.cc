#include "telemetry/exporter.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/clock.h"
#include "base/ids.h"
#include "models/provider_kind.h"
#include "net/retry_after.h"
#include "runtime/runtime.h"
#include "telemetry/otlp_json.h"
#include "telemetry/trace_context.h"

namespace agent_graph::telemetry {
namespace {

constexpr size_t kBatchBytes = 256 * 1024;  // a queue of this size is sent without waiting for more
constexpr int kTriesMax = 4;                // attempts to send a batch
constexpr std::chrono::milliseconds kRetryDelay{500};
constexpr std::chrono::milliseconds kRetryDelayMax{30'000};
constexpr std::chrono::minutes kWarningInterval{1};
constexpr size_t kReplyBytesMax = 64 * 1024;
constexpr uint64_t kSampleScale = 1'000'000;

std::string ConventionalName(const std::string& provider) {
  const models::ProviderKind* kind = models::FindProviderKind(provider);
  return kind != nullptr ? std::string(kind->telemetry_name) : provider;
}

ModelIdentities Identities(const settings::Settings& settings) {
  ModelIdentities identities;
  for (const models::ProviderOptions& model : settings.models) {
    identities[model.name] = {ConventionalName(model.provider), model.model};
  }
  return identities;
}

Attributes Resource(const settings::Settings& settings) {
  const bool production = settings.mode == settings::Mode::kProduction;
  return {{"service.name", settings.observability.service_name},
          {"deployment.environment.name", std::string(production ? "production" : "development")},
          {"process.pid", static_cast<int64_t>(getpid())},
          {"telemetry.sdk.name", std::string("agent_graph")},
          {"telemetry.sdk.language", std::string("cpp")}};
}

// Status codes that the OTLP specification calls retryable.
bool IsRetryable(int status) {
  return status == 429 || status == 502 || status == 503 || status == 504;
}

}  // namespace

Exporter::Exporter(const settings::Settings& settings, LogFunction warn)
    : options_(settings.observability),
      models_(Identities(settings)),
      resource_(Resource(settings)),
      client_(settings.environment),
      warn_(std::move(warn)) {}

void Exporter::Start(runtime::Runtime& runtime) {
  runtime.Spawn([this, &runtime] { Run(runtime); });
}

// If the request belongs to a trace of its client, the client has decided about sampling.
bool Exporter::IsSampled(const run::RunRecord& record) const {
  if (const auto parent = ParseTraceParent(record.trace_parent)) return parent->sampled;
  return RandomUint64() % kSampleScale < options_.sample_millionths;
}

void Exporter::Offer(run::RunRecord record) {
  if (!IsSampled(record)) return;
  const size_t bytes = record.Bytes();
  bool full = false;
  {
    MutexLock lock(mutex_);
    if (closing_) return;
    if (queue_.bytes + bytes > options_.queue_bytes_max) {
      ++dropped_;
      return;
    }
    full = queue_.bytes < kBatchBytes && queue_.bytes + bytes >= kBatchBytes;
    queue_.bytes += bytes;
    queue_.records.push_back(std::move(record));
  }
  if (full) wake_.Notify();
}

void Exporter::Close(runtime::Runtime& runtime, std::chrono::milliseconds timeout) {
  const Deadline close_by = DeadlineAfter(timeout);
  {
    MutexLock lock(mutex_);
    closing_ = true;
    close_by_ = close_by;
  }
  wake_.Notify();
  // A request that was in flight before does not have this deadline, so it is cancelled here.
  runtime.Spawn([this, close_by] {
    ended_.Wait(nullptr, close_by);
    cancellation_.Cancel(runtime::CancelReason::kShutdown);
  });
}

bool Exporter::IsClosing() {
  MutexLock lock(mutex_);
  return closing_;
}

// Waits until the interval has ended, the queue has a full batch, or Close was called. Returns
// false after Close.
bool Exporter::WaitForWork() {
  if (!IsClosing()) {
    wake_.Wait(nullptr, DeadlineAfter(std::chrono::milliseconds(options_.interval_ms)));
  }
  return !IsClosing();
}

// Waits before the next attempt. Only Close shortens the pause: a full queue, of which Offer
// notifies as well, is no reason to ignore the Retry-After of the collector.
void Exporter::Pause(std::chrono::milliseconds delay) {
  const Deadline end = DeadlineAfter(std::min(delay, kRetryDelayMax));
  while (!IsClosing() && wake_.Wait(nullptr, end) == runtime::WakeReason::kNotified) {
  }
}

Exporter::Batch Exporter::TakeBatch() {
  MutexLock lock(mutex_);
  Batch batch;
  while (!queue_.records.empty() && batch.bytes < kBatchBytes) {
    const size_t bytes = queue_.records.front().Bytes();
    batch.records.push_back(std::move(queue_.records.front()));
    queue_.records.pop_front();
    batch.bytes += bytes;
    queue_.bytes -= bytes;
  }
  return batch;
}

void Exporter::Run(runtime::Runtime& runtime) {
  bool open = true;
  while (open) {
    open = WaitForWork();
    for (Batch batch = TakeBatch(); !batch.records.empty(); batch = TakeBatch()) {
      Send(batch, runtime);
      ReportDropped();
    }
    ReportDropped();
  }
  ended_.Notify();
}

void Exporter::Send(const Batch& batch, runtime::Runtime& runtime) {
  std::string body;
  runtime.RunOnIoPool([&] {
    std::vector<Span> spans;
    for (const run::RunRecord& record : batch.records) {
      std::vector<Span> more = SpansOf(record, models_);
      std::move(more.begin(), more.end(), std::back_inserter(spans));
    }
    if (!spans.empty()) body = ExportRequestJson(resource_, spans);
  });
  if (body.empty()) return;
  int tries_left = kTriesMax;
  for (int attempt = 0;; ++attempt) {
    Try state{.last = tries_left == 1, .delay = kRetryDelay * (1 << attempt)};
    const Status sent = Post(body, state);
    if (sent.ok()) return;
    tries_left -= std::max(state.sends, 1);
    if (!state.again || tries_left <= 0 || IsClosing()) {
      MutexLock lock(mutex_);
      dropped_ += batch.records.size();
      failure_ = sent.ToString();
      return;
    }
    Pause(state.delay);
  }
}

Status Exporter::Post(const std::string& body, Try& state) {
  net::HttpRequest request;
  request.url = options_.endpoint;
  request.headers = {{"Content-Type", "application/json"}};
  for (const auto& header : options_.headers) request.headers.push_back(header);
  request.body = body;
  const std::chrono::milliseconds timeout(options_.timeout_ms);
  request.connect_timeout = request.first_byte_timeout = request.idle_timeout = timeout;
  request.deadline = DeadlineAfter(timeout);
  {
    MutexLock lock(mutex_);
    request.deadline = std::min(request.deadline, close_by_);
  }
  request.reply_bytes_max = kReplyBytesMax;
  request.once = state.last;  // a request on a reused connection might be sent twice
  AG_ASSIGN_OR_RETURN(auto call, client_.Start(std::move(request), cancellation_));
  const Result<net::HttpHead> head = call->ReadHead();
  state.sends = call->sends();
  if (!head.ok()) {
    state.again = head.status().code() == StatusCode::kUnavailable;
    return head.status();
  }
  const int status = head->status;
  const int64_t now = UnixMicros() / kMicrosPerSecond;
  if (auto wanted = net::ParseRetryAfter(head->Header("retry-after"), now)) {
    state.delay = *wanted;
  }
  call->Drain(std::chrono::milliseconds(100));
  if (status >= 200 && status < 300) return Status::Ok();
  state.again = IsRetryable(status);
  return Status(StatusCode::kUnavailable, "the collector answered " + std::to_string(status));
}

// Logs at most one line a minute, however many batches fail.
void Exporter::ReportDropped() {
  const Deadline now = MonotonicClock::now();
  MutexLock lock(mutex_);
  if (dropped_ == 0 || now < next_warning_) return;
  std::string line = std::to_string(dropped_) + " runs were not exported as traces";
  line += failure_.empty() ? ": the queue was full" : ": " + failure_;
  if (warn_) warn_(line);
  dropped_ = 0;
  failure_.clear();
  next_warning_ = now + kWarningInterval;
}

}  // namespace agent_graph::telemetry
