#include "state/client/link.h"

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
#include "runtime/thread.h"

namespace agent_graph::state {
namespace {

constexpr std::chrono::milliseconds kBackoff[] = {
    std::chrono::milliseconds(1),  std::chrono::milliseconds(2),  std::chrono::milliseconds(5),
    std::chrono::milliseconds(10), std::chrono::milliseconds(20), std::chrono::milliseconds(50),
    std::chrono::milliseconds(100)};
constexpr size_t kReceiveBytes = 64 * 1024;
constexpr size_t kUnsentKeptBytes = 1024 * 1024;

Status NoAnswer() {
  return Status(StatusCode::kUnavailable, "the state service did not answer in time");
}

int PollTimeout(Deadline deadline) {
  auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - MonotonicClock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, std::numeric_limits<int>::max()));
}

}  // namespace

Link::Link(LinkOptions options)
    : options_(std::move(options)),
      id_(NewUuid()),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      buffer_(kReceiveBytes, '\0') {}

Link::~Link() {
  Stop();
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
  for (auto& [sequence, pending] : pending_) pending.answer.Set({NoAnswer(), {}});
  pending_.clear();
}

void Link::Wake() {
  const uint64_t one = 1;
  [[maybe_unused]] ssize_t written = write(wake_.get(), &one, sizeof one);
}

Result<std::string> Link::Call(std::string frame, const runtime::Cancellation* cancellation,
                               std::chrono::milliseconds queued_wait, bool* taken) {
  if (taken != nullptr) *taken = false;
  if (frame.empty()) {
    return Status(StatusCode::kInvalidArgument, "too large for the state service");
  }
  runtime::Promise<Reply> answer;
  uint64_t sequence = 0;
  const auto started = MonotonicClock::now();
  {
    MutexLock lock(mutex_);
    if (stopping_ || outage_) return NoAnswer();
    if (pending_.size() >= wire::kOperationsInFlightMax ||
        pending_bytes_ + frame.size() > kPendingBytesMax) {
      return Status(StatusCode::kResourceExhausted, "too many state operations are waiting");
    }
    sequence = Number(frame);
    if (ready_) Write(frame);
    pending_bytes_ += frame.size();
    const bool answer_kept = wire::IsAnswerKept(wire::OperationOf(frame));
    pending_.emplace(sequence, Pending{std::move(frame), answer, {}, started, answer_kept});
  }
  if (taken != nullptr) *taken = true;
  const Deadline deadline = DeadlineAfter(options_.operation_timeout);
  Result<Reply> reply = answer.Wait(cancellation, deadline);
  if (!reply.ok() && queued_wait.count() > 0 && IsQueued(sequence)) {
    reply = answer.Wait(cancellation, deadline + queued_wait);
  }
  if (reply.ok()) {
    if (!reply->status.ok()) return reply->status;
    return std::move(reply->body);
  }
  {
    MutexLock lock(mutex_);
    if (auto given_up = pending_.find(sequence); given_up != pending_.end()) {
      pending_bytes_ -= given_up->second.frame.size();
      pending_.erase(given_up);
    }
    if (reply.status().code() == StatusCode::kCancelled) return reply.status();
    if (heard_ < started) GiveUpOnOwner();
  }
  return NoAnswer();
}

// A server that left an operation unanswered for the whole timeout would delay the next one as
// long, so calls fail at once until a server has answered a new Hello.
void Link::GiveUpOnOwner() {
  outage_ = true;
  if (socket_) shutdown(socket_.get(), SHUT_RDWR);
}

Status Link::Hold(const std::string& thread_id, const std::string& run_id,
                  const runtime::Cancellation* cancellation) {
  Holding holding;
  if (cancellation != nullptr) holding.cancellation = *cancellation;
  MutexLock lock(mutex_);
  const auto [held, is_new] = held_runs_.try_emplace({thread_id, run_id}, std::move(holding));
  if (is_new) return Status::Ok();
  // Release names a run by its id: it could not tell two runs with the same id apart.
  if (held->second.released) {
    return Status(StatusCode::kUnavailable, "a run of that id has failed and is not cleared yet");
  }
  return Status(StatusCode::kConflict, "a run of that id is in flight on this thread already");
}

void Link::Unhold(const std::string& thread_id, const std::string& run_id) {
  MutexLock lock(mutex_);
  Forget({thread_id, run_id});
}

void Link::Forget(const HeldRun& run) {
  held_runs_.erase(run);
}

void Link::Release(const std::string& thread_id, const std::string& run_id) {
  std::string frame = wire::MakeRequest(wire::Operation::kReleaseRun, UnixMicros(),
                                        wire::ReleaseBody{thread_id, run_id});
  MutexLock lock(mutex_);
  if (stopping_) return;
  if (pending_.size() >= wire::kOperationsInFlightMax) {
    Forget({thread_id, run_id});
    return;
  }
  const uint64_t sequence = Number(frame);
  if (ready_) Write(frame);
  pending_bytes_ += frame.size();
  if (auto held = held_runs_.find({thread_id, run_id}); held != held_runs_.end()) {
    held->second.released = true;
  }
  Pending release{std::move(frame), {}, HeldRun{thread_id, run_id}, MonotonicClock::now()};
  release.answer_kept = wire::IsAnswerKept(wire::Operation::kReleaseRun);
  pending_.emplace(sequence, std::move(release));
}

uint64_t Link::Number(std::string& frame) {
  wire::NumberRequest(frame, next_sequence_, AcknowledgedBelow());
  return next_sequence_++;
}

// The result never decreases, so each operation whose reply the server does not keep is skipped
// only once.
uint64_t Link::AcknowledgedBelow() {
  auto oldest = pending_.lower_bound(acknowledged_below_);
  while (oldest != pending_.end() && !oldest->second.answer_kept) ++oldest;
  acknowledged_below_ = oldest == pending_.end() ? next_sequence_ : oldest->first;
  return acknowledged_below_;
}

void Link::Write(std::string_view frame) {
  if (unsent_start_ > kUnsentKeptBytes) unsent_.erase(0, std::exchange(unsent_start_, 0));
  unsent_.append(frame);
  if (runtime::Runtime::CurrentLoop() == nullptr) return FlushNow();
  if (std::exchange(flush_posted_, true)) return;
  runtime::AtEndOfTurn([link = weak_from_this()] {
    const std::shared_ptr<Link> self = link.lock();
    if (!self) return;
    MutexLock lock(self->mutex_);
    self->flush_posted_ = false;
    self->FlushNow();
  });
}

void Link::FlushNow() {
  Flush();
  if (!unsent_.empty()) Wake();  // the thread polls until the socket accepts more
}

void Link::Flush() {
  while (unsent_start_ < unsent_.size()) {
    const ssize_t sent = send(socket_.get(), unsent_.data() + unsent_start_,
                              unsent_.size() - unsent_start_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;  // buffer full, or an error that the client's thread will see as well
    unsent_start_ += static_cast<size_t>(sent);
  }
  if (unsent_.capacity() > kUnsentKeptBytes) std::string().swap(unsent_);
  unsent_.clear();
  unsent_start_ = 0;
}

void Link::Run() {
  size_t attempt = 0;
  auto missing_since = MonotonicClock::now();
  bool told = false;
  while (!stopping_) {
    Result<StateDirectory> directory =
        StateDirectory::Open(options_.directory, options_.root_serves);
    Result<FileDescriptor> socket =
        directory.ok() ? directory->Connect() : Result<FileDescriptor>(directory.status());
    if (socket.ok() && Serve(std::move(*socket))) {
      attempt = 0;
      missing_since = MonotonicClock::now();
      told = false;
    }
    const auto missing = MonotonicClock::now() - missing_since;
    if (missing >= options_.owner_wait && !std::exchange(told, true) && options_.on_owner_missing) {
      options_.on_owner_missing();
    }
    if (missing >= options_.operation_timeout) FailOverdue();
    WaitForWake(kBackoff[attempt]);
    attempt = std::min(attempt + 1, std::size(kBackoff) - 1);
  }
}

void Link::FailOverdue() {
  const auto overdue = MonotonicClock::now() - options_.operation_timeout;
  std::vector<runtime::Promise<Reply>> failed;
  {
    MutexLock lock(mutex_);
    outage_ = true;
    for (auto it = pending_.begin(); it != pending_.end();) {
      if (it->second.released || it->second.started > overdue) {
        ++it;
        continue;
      }
      failed.push_back(it->second.answer);
      pending_bytes_ -= it->second.frame.size();
      it = pending_.erase(it);
    }
  }
  for (const auto& answer : failed) answer.Set({NoAnswer(), {}});
}

void Link::WaitForWake(std::chrono::milliseconds duration) {
  pollfd event{wake_.get(), POLLIN, 0};
  if (stopping_) return;
  poll(&event, 1, static_cast<int>(duration.count()));
  uint64_t count;
  [[maybe_unused]] ssize_t drained = read(wake_.get(), &count, sizeof count);
}

bool Link::Serve(FileDescriptor socket) {
  const int fd = socket.get();
  {
    MutexLock lock(mutex_);
    socket_ = std::move(socket);
    welcomed_ = false;
    Write(MakeHello());
  }
  wire::FrameReader reader;
  bool connected = true;
  const Deadline welcome_deadline = DeadlineAfter(options_.operation_timeout);
  while (connected && !stopping_) {
    pollfd events[2] = {{wake_.get(), POLLIN, 0}, {fd, POLLIN, 0}};
    int timeout = -1;
    {
      MutexLock lock(mutex_);
      if (!unsent_.empty()) events[1].events |= POLLOUT;
      if (!welcomed_) timeout = PollTimeout(welcome_deadline);
    }
    if (poll(events, 2, timeout) == 0) break;  // accepted, but the server process does not respond
    if (events[0].revents != 0) {
      uint64_t count;
      [[maybe_unused]] ssize_t drained = read(wake_.get(), &count, sizeof count);
    }
    if (events[1].revents & POLLOUT) {
      MutexLock lock(mutex_);
      Flush();
    }
    if (events[1].revents & ~POLLOUT) connected = Receive(fd, reader);
  }
  MutexLock lock(mutex_);
  if (stopping_ && ready_) Write(wire::MakeFrame(wire::FrameType::kBye));
  ready_ = false;
  socket_.Reset();
  std::string().swap(unsent_);
  unsent_start_ = 0;
  return welcomed_;
}

bool Link::Receive(int socket, wire::FrameReader& reader) {
  const ssize_t received = recv(socket, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  if (received < 0) return errno == EAGAIN || errno == EINTR;
  if (received == 0) return false;
  {
    MutexLock lock(mutex_);
    heard_ = MonotonicClock::now();
  }
  reader.Add({buffer_.data(), static_cast<size_t>(received)});
  std::string payload;
  while (reader.Next(payload)) {
    if (!OnFrame(payload)) return false;
  }
  return !reader.broken();
}

bool Link::OnFrame(std::string_view payload) {
  pack::Unpacker unpacker(payload);
  switch (wire::ReadFrameType(unpacker)) {
    case wire::FrameType::kWelcome:
      return OnWelcome(unpacker);
    case wire::FrameType::kReply:
      OnReply(unpacker, payload);
      return unpacker.ok();
    case wire::FrameType::kQueued:
      OnQueued(unpacker);
      return unpacker.ok();
    case wire::FrameType::kCancelRun:
      return OnCancelRun(unpacker);
    case wire::FrameType::kThreadDeleted:
      return OnThreadDeleted(unpacker);
    case wire::FrameType::kPing: {
      MutexLock lock(mutex_);
      if (ready_) Write(wire::MakeFrame(wire::FrameType::kPong));
      return unpacker.ok();
    }
    case wire::FrameType::kRefused:
    case wire::FrameType::kGoAway:
      return false;
    default:
      return unpacker.ok();
  }
}

bool Link::OnWelcome(pack::Unpacker& unpacker) {
  wire::Welcome welcome;
  if (!wire::ReadBody(unpacker, welcome)) return false;
  MutexLock lock(mutex_);
  // An owner that was overtaken without noticing it.
  if (welcome.epoch != 0 && welcome.epoch < epoch_) return false;
  epoch_ = std::max(epoch_, welcome.epoch);
  ready_ = true;
  welcomed_ = true;
  outage_ = false;
  for (auto& [sequence, pending] : pending_) {
    pending.queued = false;
    unsent_ += pending.frame;
  }
  Write({});
  return true;
}

bool Link::OnCancelRun(pack::Unpacker& unpacker) {
  wire::CancelRun cancel;
  if (!wire::ReadBody(unpacker, cancel)) return false;
  std::optional<runtime::Cancellation> cancelled;
  {
    MutexLock lock(mutex_);
    auto run = held_runs_.find({cancel.thread_id, cancel.run_id});
    if (run != held_runs_.end()) cancelled = run->second.cancellation;
  }
  if (cancelled) cancelled->Cancel(runtime::CancelReason::kStopped);
  return true;
}

bool Link::OnThreadDeleted(pack::Unpacker& unpacker) {
  wire::ThreadDeleted deleted;
  if (!wire::ReadBody(unpacker, deleted)) return false;
  if (options_.on_thread_deleted) options_.on_thread_deleted(deleted.thread_id);
  return true;
}

void Link::OnReply(pack::Unpacker& unpacker, std::string_view payload) {
  wire::ReplyHeader header = wire::ReadReplyHeader(unpacker);
  if (!unpacker.ok()) return;
  Reply reply{Status(header.code, std::move(header.message)), {}};
  reply.status.WithDetail(std::move(header.detail));
  reply.body = payload.substr(payload.size() - unpacker.remaining());
  runtime::Promise<Reply> answer;
  {
    MutexLock lock(mutex_);
    auto found = pending_.find(header.sequence);
    if (found == pending_.end()) return;  // the caller no longer waits
    if (found->second.released) Forget(*found->second.released);
    if (!found->second.queued) {
      const auto took = MonotonicClock::now() - found->second.started;
      ++counters_.answers;
      counters_.micros += static_cast<uint64_t>(
          std::chrono::duration_cast<std::chrono::microseconds>(took).count());
    }
    answer = found->second.answer;
    pending_bytes_ -= found->second.frame.size();
    pending_.erase(found);
  }
  answer.Set(std::move(reply));
}

void Link::OnQueued(pack::Unpacker& unpacker) {
  wire::Queued queued;
  if (!wire::ReadBody(unpacker, queued)) return;
  MutexLock lock(mutex_);
  if (auto found = pending_.find(queued.sequence); found != pending_.end()) {
    found->second.queued = true;
  }
}

bool Link::IsQueued(uint64_t sequence) {
  MutexLock lock(mutex_);
  auto found = pending_.find(sequence);
  return found != pending_.end() && found->second.queued;
}

std::string Link::MakeHello() const {
  wire::Hello hello;
  hello.magic = wire::kMagic;
  hello.protocol_min = wire::kProtocolMin;
  hello.protocol_max = wire::kProtocolMax;
  hello.client = id_;
  hello.process = getpid();
  hello.answers_pings = true;
  for (const auto& [run, holding] : held_runs_) hello.runs.push_back(run.run_id);
  return wire::MakeFrame(wire::FrameType::kHello, hello);
}

void Link::DropConnection() {
  MutexLock lock(mutex_);
  if (socket_) shutdown(socket_.get(), SHUT_RDWR);
}

}  // namespace agent_graph::state
