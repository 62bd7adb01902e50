#include "run/host/run_host.h"

#include <chrono>
#include <utility>
#include <vector>

#include "agent_graph/graph.h"
#include "run/context/execution_meta.h"
#include "run/host/live_sink.h"
#include "run/host/stored_request.h"
#include "run/run_request.h"
#include "runtime/runtime.h"
#include "state/service.h"

namespace agent_graph::run {
namespace {

constexpr int64_t kMicrosPerMillisecond = 1000;

// The place where the attempt before had arrived; empty if it had stored nothing.
std::string PlaceOf(const state::GrantedRun& granted) {
  const std::string& node = granted.current_node;
  return node == START || node == ExecutionMeta().current_node ? std::string() : node;
}

// The deadline is a time of day, because it holds for all attempts.
std::chrono::milliseconds TimeLeft(const state::GrantedRun& granted) {
  return std::chrono::milliseconds((granted.deadline_micros - UnixMicros()) /
                                   kMicrosPerMillisecond);
}

}  // namespace

RunHost::RunHost(Runner& runner, state::Service& state, runtime::Runtime& runtime,
                 RunHostOptions options)
    : runner_(runner), state_(state), runtime_(runtime), options_(std::move(options)) {}

void RunHost::Execute(state::GrantedRun granted) {
  Key key(granted.thread_id, granted.run_id);
  std::shared_ptr<Hosted> hosted = Admit(key);
  if (hosted == nullptr) {
    runtime_.Spawn([this, key = std::move(key)] {
      const Status given = state_.HandOverRun(key.first, key.second);
      if (!given.ok()) Log(LogLevel::kWarning, key.second, given);
    });
    return;
  }
  const bool continues = !PlaceOf(granted).empty();
  // In an object that can be copied, as std::function requires.
  auto run = std::make_shared<state::GrantedRun>(std::move(granted));
  const auto body = [this, key = std::move(key), hosted = std::move(hosted), run = std::move(run)] {
    const std::shared_ptr<void> removal(nullptr, [&](void*) { Remove(key, hosted); });
    Run(hosted, std::move(*run));
  };
  Spawn(body, continues);
}

// If many runs have lost their worker, they are not all loaded at the same time.
void RunHost::Spawn(std::function<void()> body, bool continues) {
  if (continues) {
    MutexLock lock(mutex_);
    if (starting_ >= options_.starts_max) {
      waiting_.push_back(std::move(body));
      return;
    }
    ++starting_;
  }
  runtime_.Spawn(std::move(body));
}

void RunHost::EndStart() {
  std::function<void()> next;
  {
    MutexLock lock(mutex_);
    if (waiting_.empty()) {
      --starting_;
      return;
    }
    next = std::move(waiting_.front());
    waiting_.pop_front();
  }
  runtime_.Spawn(std::move(next));
}

// A run may be granted again before the fiber of an attempt that lost its lease has ended; the new
// attempt takes its place.
std::shared_ptr<RunHost::Hosted> RunHost::Admit(const Key& key) {
  auto hosted = std::make_shared<Hosted>();
  MutexLock lock(mutex_);
  if (leaving_ || runs_.size() >= options_.runs_max) return nullptr;
  runs_[key] = hosted;
  return hosted;
}

void RunHost::Remove(const Key& key, const std::shared_ptr<Hosted>& hosted) {
  {
    MutexLock lock(mutex_);
    const auto found = runs_.find(key);
    if (found != runs_.end() && found->second == hosted) runs_.erase(found);
  }
  hosted->live->End();
}

void RunHost::Run(const std::shared_ptr<Hosted>& hosted, state::GrantedRun granted) {
  const Status failure = Begin(hosted, granted);
  if (failure.ok()) return;
  Log(LogLevel::kWarning, granted.run_id, failure);
  // The run is still ours if the state server did not answer. No effect on a run that has ended.
  (void)state_.HandOverRun(granted.thread_id, granted.run_id);
}

Status RunHost::Begin(const std::shared_ptr<Hosted>& hosted, state::GrantedRun& granted) {
  AcceptedRun accepted{.attempt = granted.attempt,
                       .current_node = PlaceOf(granted),
                       .step = granted.step,
                       .hand_over = hosted->hand_over};
  std::shared_ptr<void> start;
  if (accepted.continues()) start.reset(this, [](RunHost* host) { host->EndStart(); });
  Result<RunRequest> loaded = LoadRequest(granted.request);
  granted.request = {};
  const Status readable = loaded.status();
  RunRequest request = loaded.ok() ? *std::move(loaded) : RunRequest{};
  request.thread_id = granted.thread_id;
  request.run_id = granted.run_id;
  request.accepted = std::move(accepted);
  const auto end = [&](Status failure, std::string reason) {
    AG_RETURN_IF_ERROR(
        runner_.EndUnexecuted(request, hosted->cancellation, failure, std::move(reason)));
    return failure;
  };
  if (!readable.ok()) return end(readable, std::string(StatusCodeName(readable.code())));
  if (granted.deadline_micros > 0) {
    const std::chrono::milliseconds left = TimeLeft(granted);
    if (left.count() <= 0) {
      return end(Status(StatusCode::kDeadlineExceeded, "the run took longer than it may"),
                 runtime::CancelReasonName(runtime::CancelReason::kDeadline));
    }
    request.deadline = DeadlineAfter(left);
    request.cancelled_after = left;
  }
  LiveSink sink(*hosted->live, hosted->cancellation, options_, std::move(start));
  return runner_.Execute(std::move(request), hosted->cancellation, sink).status();
}

std::shared_ptr<LiveRun> RunHost::Find(const std::string& thread_id,
                                       const std::string& run_id) const {
  MutexLock lock(mutex_);
  const auto found = runs_.find(Key(thread_id, run_id));
  return found == runs_.end() ? nullptr : found->second->live;
}

size_t RunHost::count() const {
  MutexLock lock(mutex_);
  return runs_.size();
}

void RunHost::HandOver() {
  MutexLock lock(mutex_);
  leaving_ = true;
  for (const auto& [key, hosted] : runs_) hosted->hand_over->Request();
}

void RunHost::HandOverNow() {
  std::vector<std::shared_ptr<Hosted>> runs;
  {
    MutexLock lock(mutex_);
    leaving_ = true;
    for (const auto& [key, hosted] : runs_) runs.push_back(hosted);
  }
  // Without the lock: waits of the runs end within the call.
  for (const std::shared_ptr<Hosted>& hosted : runs) hosted->hand_over->RequestNow();
}

void RunHost::Log(LogLevel level, const std::string& run_id, const Status& status) const {
  if (options_.log) options_.log(level, "run " + run_id + ": " + status.ToString());
}

}  // namespace agent_graph::run
