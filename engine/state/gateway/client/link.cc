#include "state/gateway/client/link.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "runtime/runtime.h"
#include "runtime/signal.h"
#include "runtime/thread.h"

namespace agent_graph::state {
namespace {

// Epochs of 0 are not known. The thread of a run may have been deleted and created again meanwhile,
// so an epoch that is smaller need not be earlier.
bool IsOtherAttempt(uint64_t held_epoch, uint64_t epoch) {
  return held_epoch != 0 && epoch != 0 && held_epoch != epoch;
}

}  // namespace

Status Link::NoAnswer() {
  return Status(StatusCode::kUnavailable, "the state service did not answer in time");
}

Link::Link(StateOptions options, size_t pending_bytes_max)
    : options_(std::move(options)),
      pending_bytes_max_(pending_bytes_max),
      id_(NewUuid()),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      takes_runs_(static_cast<bool>(options_.on_run_granted)),
      buffer_(wire::kReceiveBytes, '\0') {}

Link::~Link() {
  Link::Stop();
}

Status Link::Start() {
  if (!wake_) return Status(StatusCode::kUnavailable, "the state client cannot create an eventfd");
  return runtime::StartThread(thread_, "state-client", [this] { Run(); });
}

void Link::Stop() {
  if (stopping_.exchange(true)) return;
  Wake();
  if (thread_.joinable()) thread_.join();
  MutexLock lock(mutex_);
  for (auto& [sequence, pending] : pending_) pending.answer.Set({0, NoAnswer(), {}});
  pending_.clear();
}

void Link::RefuseGrants() {
  MutexLock lock(mutex_);
  if (!std::exchange(takes_runs_, false)) return;
  if (!ready_) return;
  unsent_.Add(wire::MakeFrame(wire::FrameType::kRefuseGrants));
  SendSoon();
}

void Link::Wake() {
  const uint64_t one = 1;
  [[maybe_unused]] ssize_t written = write(wake_.get(), &one, sizeof one);
}

std::string Link::BeginRequest(Operation operation, int64_t micros) const {
  return wire::BeginRequest(operation, micros);
}

Result<std::string> Link::Call(std::string frame, const CallOptions& options) {
  if (options.taken != nullptr) *options.taken = false;
  if (!wire::EndFrame(frame)) {
    return Status(StatusCode::kInvalidArgument, "too large for the state service");
  }
  runtime::Promise<Reply> answer;
  uint64_t sequence = 0;
  const auto started = MonotonicClock::now();
  {
    MutexLock lock(mutex_);
    if (stopping_ || outage_) return NoAnswer();
    const size_t waiting = std::max(pending_bytes_, unsent_.bytes());
    if (pending_.size() >= wire::kOperationsInFlightMax ||
        waiting + frame.size() > pending_bytes_max_) {
      return Status(StatusCode::kResourceExhausted, "too many state operations are waiting");
    }
    const bool answer_kept = IsAnswerKept(wire::OperationOf(frame));
    sequence = Send(std::move(frame), Pending{{}, answer, {}, 0, started, answer_kept});
  }
  if (options.taken != nullptr) *options.taken = true;
  const Deadline deadline = DeadlineAfter(options_.operation_timeout);
  Result<Reply> reply = answer.Wait(options.cancellation, deadline);
  if (!reply.ok() && options.queued_wait.count() > 0 && IsQueued(sequence)) {
    reply = answer.Wait(options.cancellation, deadline + options.queued_wait);
  }
  if (reply.ok()) {
    if (!reply->status.ok()) return reply->status;
    return std::move(reply->body);
  }
  {
    MutexLock lock(mutex_);
    if (auto given_up = pending_.find(sequence); given_up != pending_.end()) {
      pending_bytes_ -= given_up->second.frame->size();
      pending_.erase(given_up);
    }
    if (options.cancellation != nullptr && options.cancellation->cancelled()) {
      return runtime::WakeStatus(runtime::WakeReason::kCancelled, options.cancellation);
    }
    if (heard_ < started) GiveUpOnServer();
  }
  return NoAnswer();
}

// A server that left an operation unanswered for the whole timeout would delay the next one as
// long, so calls fail at once until a server has answered a new Hello.
void Link::GiveUpOnServer() {
  outage_ = true;
  if (socket_) shutdown(socket_.get(), SHUT_RDWR);
}

Status Link::Hold(const std::string& thread_id, const std::string& run_id, uint64_t granted_epoch,
                  const runtime::Cancellation* cancellation) {
  Holding holding;
  holding.lease_epoch = granted_epoch;
  if (cancellation != nullptr) holding.cancellation = *cancellation;
  MutexLock lock(mutex_);
  const auto [held, is_new] = held_runs_.try_emplace({thread_id, run_id}, std::move(holding));
  if (is_new) return Status::Ok();
  if (IsOtherAttempt(held->second.lease_epoch, granted_epoch)) {
    return Status(StatusCode::kFenced, "the run was granted again");
  }
  if (std::exchange(held->second.granted, false)) {
    held->second.cancellation = std::move(holding.cancellation);
    return Status::Ok();
  }
  // Release names a run by its id: it could not tell two runs with the same id apart.
  if (held->second.released) {
    return Status(StatusCode::kUnavailable, "a failed run with this id is still being released");
  }
  return Status(StatusCode::kConflict, "a run with this id is already in flight on this thread");
}

void Link::Unhold(const std::string& thread_id, const std::string& run_id) {
  MutexLock lock(mutex_);
  held_runs_.erase({thread_id, run_id});
}

void Link::UnholdAttempt(const std::string& thread_id, const std::string& run_id,
                         uint64_t lease_epoch) {
  MutexLock lock(mutex_);
  Forget({thread_id, run_id}, lease_epoch);
}

Link::Holding* Link::FindHeld(const RunName& run, uint64_t lease_epoch) {
  const auto held = held_runs_.find(run);
  if (held == held_runs_.end()) return nullptr;
  return IsOtherAttempt(held->second.lease_epoch, lease_epoch) ? nullptr : &held->second;
}

void Link::Forget(const RunName& run, uint64_t lease_epoch) {
  if (FindHeld(run, lease_epoch) != nullptr) held_runs_.erase(run);
}

void Link::Release(const std::string& thread_id, const std::string& run_id, uint64_t lease_epoch) {
  std::string frame = wire::BeginRequest(Operation::kReleaseRun, UnixMicros());
  pack::Packer packer(frame);
  pack::Pack(packer, ReleaseRunRequest{thread_id, run_id, lease_epoch});
  if (!wire::EndFrame(frame)) return;
  MutexLock lock(mutex_);
  if (stopping_) return;
  // Sent however many operations are waiting: nothing else would free the thread as long as this
  // connection lasts. There is at most one for each run that is held.
  if (Holding* held = FindHeld({thread_id, run_id}, lease_epoch); held != nullptr) {
    held->released = true;
  }
  Pending release{{}, {}, RunName{thread_id, run_id}, lease_epoch, MonotonicClock::now()};
  release.answer_kept = IsAnswerKept(Operation::kReleaseRun);
  Send(std::move(frame), std::move(release));
}

uint64_t Link::Send(std::string frame, Pending pending) {
  const uint64_t sequence = next_sequence_;
  wire::NumberRequest(frame, sequence, AcknowledgedBelow());
  ++next_sequence_;
  pending.frame = std::make_shared<const std::string>(std::move(frame));
  const Pending& kept = pending_.emplace(sequence, std::move(pending)).first->second;
  pending_bytes_ += kept.frame->size();
  if (ready_) {
    unsent_.Add(kept.frame);
    SendSoon();
  }
  return sequence;
}

// The result never decreases, so each operation whose reply the server does not keep is skipped
// only once.
uint64_t Link::AcknowledgedBelow() {
  auto oldest = pending_.lower_bound(acknowledged_below_);
  while (oldest != pending_.end() && !oldest->second.answer_kept) ++oldest;
  acknowledged_below_ = oldest == pending_.end() ? next_sequence_ : oldest->first;
  return acknowledged_below_;
}

void Link::SendSoon() {
  if (runtime::Runtime::CurrentLoop() == nullptr) return SendNow();
  if (flush_posted_) return;
  LetLoopReceive();
  runtime::AtEndOfTurn([link = weak_from_this()] {
    const std::shared_ptr<Link> self = link.lock();
    if (!self) return;
    MutexLock lock(self->mutex_);
    self->flush_posted_ = false;
    self->SendNow();
  });
  flush_posted_ = true;  // only now: what comes before may throw
}

void Link::SendNow() {
  unsent_.Send(socket_.get());
  if (!unsent_.empty()) Wake();  // the thread polls until the socket accepts more
}

bool Link::IsQueued(uint64_t sequence) {
  MutexLock lock(mutex_);
  auto found = pending_.find(sequence);
  return found != pending_.end() && found->second.queued;
}

void Link::DropConnection() {
  MutexLock lock(mutex_);
  if (socket_) shutdown(socket_.get(), SHUT_RDWR);
}

}  // namespace agent_graph::state
