// Link: its thread, which maintains the connection and receives frames.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <limits>
#include <utility>
#include <vector>

#include "state/gateway/client/link.h"

#include "runtime/runtime.h"
#include "state/gateway/client/loop_reader.h"

namespace agent_graph::state {
namespace {

constexpr std::chrono::milliseconds kBackoff[] = {
    std::chrono::milliseconds(1),  std::chrono::milliseconds(2),  std::chrono::milliseconds(5),
    std::chrono::milliseconds(10), std::chrono::milliseconds(20), std::chrono::milliseconds(50),
    std::chrono::milliseconds(100)};
// While an engine thread receives, the link's thread reads the socket at this interval, too: the
// engine thread may be busy.
constexpr std::chrono::milliseconds kLoopBusyMax{20};
// An engine thread that has received nothing for this long is idle: the link's thread waits for the
// socket again and need not look.
constexpr std::chrono::milliseconds kLoopIdleMax{200};

int PollTimeout(Deadline deadline) {
  auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - MonotonicClock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, std::numeric_limits<int>::max()));
}

}  // namespace

void Link::Run() {
  size_t attempt = 0;
  auto missing_since = MonotonicClock::now();
  bool reported = false;
  while (!stopping_) {
    Result<StateDirectory> directory =
        StateDirectory::Open(options_.directory, options_.root_serves);
    Result<FileDescriptor> socket =
        directory.ok() ? directory->Connect() : Result<FileDescriptor>(directory.status());
    if (socket.ok() && Serve(std::move(*socket))) {
      attempt = 0;
      missing_since = MonotonicClock::now();
      reported = false;
    }
    const auto missing = MonotonicClock::now() - missing_since;
    if (missing >= options_.server_wait && !std::exchange(reported, true) &&
        options_.on_server_missing) {
      options_.on_server_missing();
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
      pending_bytes_ -= it->second.frame->size();
      it = pending_.erase(it);
    }
  }
  for (const auto& answer : failed) answer.Set({0, NoAnswer(), {}});
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
    MutexLock receiving(receiving_);
    reader_ = {};
    connected_ = true;
    loop_received_ = 0;
  }
  {
    MutexLock lock(mutex_);
    socket_ = std::move(socket);
    welcomed_ = false;
    unsent_.Add(MakeHello());
    SendSoon();
  }
  const Deadline welcome_deadline = DeadlineAfter(options_.operation_timeout);
  bool connected = true;
  while (connected && !stopping_) {
    const bool loop_receives = LoopReceives();
    const short readable = loop_receives ? 0 : POLLIN;
    pollfd events[2] = {{wake_.get(), POLLIN, 0}, {fd, readable, 0}};
    int timeout = loop_receives ? static_cast<int>(kLoopBusyMax.count()) : -1;
    {
      MutexLock lock(mutex_);
      if (!unsent_.empty()) events[1].events |= POLLOUT;
      if (!welcomed_) timeout = PollTimeout(welcome_deadline);
    }
    const bool timed_out = poll(events, 2, timeout) == 0;
    if (timed_out && !loop_receives) break;  // accepted, but the server process does not respond
    if (events[0].revents != 0) {
      uint64_t count;
      [[maybe_unused]] ssize_t drained = read(wake_.get(), &count, sizeof count);
    }
    if (events[1].revents & POLLOUT) {
      MutexLock lock(mutex_);
      unsent_.Send(fd);
    }
    const bool may_receive = timed_out || (events[1].revents & ~POLLOUT) != 0;
    MutexLock receiving(receiving_);
    if (may_receive && connected_) connected_ = Receive(fd);
    connected = connected_;
  }
  MutexLock receiving(receiving_);
  MutexLock lock(mutex_);
  ++connection_;
  if (stopping_ && ready_) {
    unsent_.Add(wire::MakeFrame(wire::FrameType::kBye));
    unsent_.Send(fd);
  }
  ready_ = false;
  shutdown(fd, SHUT_RDWR);  // wakes the engine thread, whose descriptor would keep the connection
  loop_receives_ = false;
  socket_.Reset();
  unsent_.Clear();
  return welcomed_;
}

bool Link::LoopReceives() const {
  const MonotonicClock::duration last(loop_received_.load());
  return last.count() != 0 && MonotonicClock::now().time_since_epoch() - last < kLoopIdleMax;
}

// With several engine threads, one that is busy would delay the replies to the others.
void Link::LetLoopReceive() {
  if (!ready_ || loop_receives_ || runtime::Runtime::Current()->threads() != 1) return;
  loop_receives_ = true;
  LoopReader::Start(
      *runtime::Runtime::CurrentLoop(), socket_.get(),
      [link = weak_from_this(), socket = socket_.get(), connection = connection_.load()] {
        const std::shared_ptr<Link> self = link.lock();
        return self && self->ReceiveOnLoop(socket, connection);
      });
}

bool Link::ReceiveOnLoop(int socket, uint64_t connection) {
  MutexLock receiving(receiving_);
  if (stopping_ || connection_ != connection || !connected_) return false;
  loop_received_ = MonotonicClock::now().time_since_epoch().count();
  connected_ = Receive(socket);
  if (!connected_) Wake();
  return connected_;
}

bool Link::Receive(int socket) {
  // NOLINTNEXTLINE: it does not block while the mutex is held
  const ssize_t received = recv(socket, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  if (received < 0) return errno == EAGAIN || errno == EINTR;
  if (received == 0) return false;
  {
    MutexLock lock(mutex_);
    heard_ = MonotonicClock::now();
  }
  try {
    reader_.Add({buffer_.data(), static_cast<size_t>(received)});
    std::string payload;
    while (reader_.Next(payload)) {
      if (!OnFrame(payload)) return false;
    }
    return !reader_.broken();
  } catch (const std::exception& failure) {
    // A message is lost. On the next connection the server learns what is held here, and gets all
    // requests that have no reply.
    const std::string text = std::string("state client: ") + failure.what();
    if (options_.log) options_.log(LogLevel::kAlert, text);
    return false;
  }
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
    case wire::FrameType::kGrantedRun:
      return OnGrantedRun(unpacker);
    case wire::FrameType::kRunWatched:
      return OnRunWatched(unpacker);
    case wire::FrameType::kPing: {
      MutexLock lock(mutex_);
      if (ready_) {
        unsent_.Add(wire::MakeFrame(wire::FrameType::kPong));
        SendSoon();
      }
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
  if (!pack::TryUnpack(unpacker, welcome)) return false;
  MutexLock lock(mutex_);
  // A server that was replaced without noticing it.
  if (welcome.epoch != 0 && welcome.epoch < epoch_) return false;
  epoch_ = std::max(epoch_, welcome.epoch);
  ready_ = true;
  welcomed_ = true;
  outage_ = false;
  // The Hello may have been sent before RefuseGrants was called.
  if (options_.on_run_granted && !takes_runs_) {
    unsent_.Add(wire::MakeFrame(wire::FrameType::kRefuseGrants));
  }
  for (auto& [sequence, pending] : pending_) {
    pending.queued = false;
    unsent_.Add(pending.frame);
  }
  SendSoon();
  return true;
}

bool Link::OnCancelRun(pack::Unpacker& unpacker) {
  CancelRun cancel;
  if (!pack::TryUnpack(unpacker, cancel)) return false;
  std::optional<runtime::Cancellation> cancelled;
  bool has_not_begun = false;
  {
    MutexLock lock(mutex_);
    auto run = held_runs_.find({cancel.thread_id, cancel.run_id});
    if (run != held_runs_.end()) {
      cancelled = run->second.cancellation;
      has_not_begun = run->second.granted;
    }
  }
  if (cancelled) cancelled->Cancel(runtime::CancelReason::kStopped);
  if (has_not_begun && options_.on_run_cancelled) {
    options_.on_run_cancelled(cancel.thread_id, cancel.run_id);
  }
  return true;
}

bool Link::OnThreadDeleted(pack::Unpacker& unpacker) {
  ThreadDeleted deleted;
  if (!pack::TryUnpack(unpacker, deleted)) return false;
  if (options_.on_thread_deleted) options_.on_thread_deleted(deleted.thread_id);
  return true;
}

bool Link::OnGrantedRun(pack::Unpacker& unpacker) {
  GrantedRun granted;
  if (!pack::TryUnpack(unpacker, granted)) return false;
  {
    MutexLock lock(mutex_);
    Holding holding;
    holding.granted = true;
    holding.lease_epoch = granted.lease_epoch;
    // The server has ended every earlier lease of this run.
    held_runs_.insert_or_assign({granted.thread_id, granted.run_id}, std::move(holding));
  }
  if (!options_.on_run_granted) return true;
  const RunName run{granted.thread_id, granted.run_id};
  const uint64_t lease_epoch = granted.lease_epoch;
  try {
    options_.on_run_granted(std::move(granted));
  } catch (const std::exception&) {
    // The next Hello does not name the run then, so that the server grants it again.
    MutexLock lock(mutex_);
    Forget(run, lease_epoch);
    throw;
  }
  return true;
}

bool Link::OnRunWatched(pack::Unpacker& unpacker) {
  RunWatched watched;
  if (!pack::TryUnpack(unpacker, watched)) return false;
  if (options_.on_run_watched) options_.on_run_watched(watched);
  return true;
}

void Link::OnReply(pack::Unpacker& unpacker, std::string_view payload) {
  wire::ReplyHeader header = wire::ReadReplyHeader(unpacker);
  if (!unpacker.ok()) return;
  Reply reply{header.sequence, Status(header.code, std::move(header.message)), {}};
  reply.status.WithDetail(std::move(header.detail));
  reply.body = payload.substr(payload.size() - unpacker.remaining());
  runtime::Promise<Reply> answer;
  {
    MutexLock lock(mutex_);
    auto found = pending_.find(header.sequence);
    if (found == pending_.end()) return;  // the caller no longer waits
    if (found->second.released) Forget(*found->second.released, found->second.released_epoch);
    if (!found->second.queued) {
      const auto took = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                                  MonotonicClock::now() - found->second.started)
                                                  .count());
      ++counters_.answers;
      counters_.micros += took;
      counters_.durations.Add(took);
    }
    answer = found->second.answer;
    pending_bytes_ -= found->second.frame->size();
    pending_.erase(found);
  }
  answer.Set(std::move(reply));
}

void Link::OnQueued(pack::Unpacker& unpacker) {
  Queued queued;
  if (!pack::TryUnpack(unpacker, queued)) return;
  MutexLock lock(mutex_);
  if (auto found = pending_.find(queued.sequence); found != pending_.end()) {
    found->second.queued = true;
  }
}

std::string Link::MakeHello() const {
  wire::Hello hello;
  hello.magic = wire::kMagic;
  hello.protocol_min = wire::kProtocolMin;
  hello.protocol_max = wire::kProtocolMax;
  hello.client = id_;
  hello.process = getpid();
  hello.answers_pings = true;
  hello.takes_runs = takes_runs_;
  hello.held.emplace();
  for (const auto& [run, holding] : held_runs_) {
    hello.runs.push_back(run.run_id);
    hello.held->push_back({run.thread_id, run.run_id, holding.lease_epoch});
  }
  return wire::MakeFrame(wire::FrameType::kHello, hello);
}

}  // namespace agent_graph::state
