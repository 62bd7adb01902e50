// HostExecutor: readers on one host of runs that another host executes.
//
// The reader's host asks the other one about once a second for each run. The other one reports for
// a few seconds: changes of the thread's runs as soon as they are committed, and the pieces of the
// message in progress as its worker publishes them. The reader's host keeps pieces as if a worker
// of its own had published them. A piece that was lost leaves a gap; then the reader's host asks
// again, with the part that it has.
#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "state/postgres/host_executor.h"

namespace agent_graph::state::postgres {
namespace {

constexpr std::chrono::seconds kAskInterval{1};
// How long a host reports after it was asked.
constexpr std::chrono::seconds kReportTime{3};
// Least time between two questions about gaps of one message, because the pieces that fill the gap
// are under way for a while.
constexpr std::chrono::milliseconds kGapInterval{100};
constexpr size_t kGapsMax = 1000;
// Bytes of a message that one question brings, and bytes of one piece.
constexpr size_t kCatchUpBytesMax = size_t{1} * 1024 * 1024;
constexpr size_t kTextBytesMax = 2'500;

}  // namespace

void HostExecutor::Send(const std::string& instance, HostMessage message) {
  message.sender = membership_->id();
  link_.Send(instance, pack::ToBytes(message));
}

// --- the host that has readers ---

void HostExecutor::OnWatched() {
  {
    MutexLock lock(mutex_);
    has_new_watch_ = true;
  }
  stop_.NotifyAll();
}

void HostExecutor::AskHosts(const std::vector<RunWatches::Known>& watched,
                            const std::vector<std::string>& threads,
                            const std::vector<Database::LeaseState>& leases) {
  std::unordered_map<std::string, std::string> instances;  // that execute runs of the threads
  for (size_t i = 0; i < threads.size(); ++i) {
    const std::string& instance = leases[i].instance;
    if (!instance.empty() && instance != membership_->id()) instances.emplace(threads[i], instance);
  }
  const auto now = MonotonicClock::now();
  std::map<RunWatches::Key, Asked> asked;
  const auto ask = [&](const RunWatches::Known& run) {
    const auto instance = instances.find(run.run.first);
    if (instance == instances.end()) return;
    const auto before = asked_.find(run.run);
    const bool is_due = before == asked_.end() || before->second.again <= now ||
                        before->second.instance != instance->second;
    if (is_due) Ask(instance->second, run);
    asked.emplace(run.run, is_due ? Asked{instance->second, now + kAskInterval} : before->second);
  };
  std::set<std::string> asked_threads;
  for (const RunWatches::Known& run : watched) {
    // An attempt that has not begun has no pieces.
    if (run.lease_epoch == 0) continue;
    ask(run);
    asked_threads.insert(run.run.first);
  }
  for (const std::string& thread : threads) {
    if (asked_threads.insert(thread).second) ask({.run = {thread, ""}});
  }
  asked_ = std::move(asked);
}

void HostExecutor::Ask(const std::string& instance, const RunWatches::Known& run) {
  HostMessage message;
  message.readers = {.thread_id = run.run.first,
                     .run_id = run.run.second,
                     .lease_epoch = run.lease_epoch,
                     .message_id = run.message_id,
                     .reasoning_bytes = run.reasoning_bytes,
                     .text_bytes = run.text_bytes};
  Send(instance, std::move(message));
}

void HostExecutor::Receive(const std::vector<std::string>& messages) {
  std::vector<std::string> changed;
  std::vector<std::string> watched;
  for (const std::string& bytes : messages) {
    HostMessage message;
    if (!pack::FromBytes(bytes, message)) continue;
    if (message.readers) {
      Report(message.sender, *message.readers);
    } else if (message.piece) {
      TakePieceOf(message.sender, *message.piece);
      watched.push_back(std::move(message.piece->thread_id));
    } else if (message.changed) {
      changed.push_back(std::move(message.changed->thread_id));
    }
  }
  ResumeChanged(changed);
  ResumeWatchers(watched);
}

void HostExecutor::TakePieceOf(const std::string& sender, const PublishPieceRequest& piece) {
  const PublishPieceReply kept = TakePiece(piece);
  const bool leaves_gap = kept.watched && !kept.full && piece.piece &&
                          (kept.reasoning_bytes < piece.piece->reasoning_begin ||
                           kept.text_bytes < piece.piece->text_begin);
  if (!leaves_gap) return;
  const auto now = MonotonicClock::now();
  if (gaps_.size() >= kGapsMax) {
    std::erase_if(gaps_, [&](const auto& gap) { return gap.second <= now; });
  }
  const auto [gap, is_new] = gaps_.try_emplace({piece.thread_id, piece.run_id}, now);
  if (gap->second > now || gaps_.size() > kGapsMax) return;
  gap->second = now + kGapInterval;
  if (const auto known = WatchedRun(gap->first)) Ask(sender, *known);
}

// --- the host that executes the run ---

void HostExecutor::Report(const std::string& reader, const ReadersMessage& readers) {
  const Deadline until = DeadlineAfter(kReportTime);
  if (!remote_readers_.Add(readers.thread_id, reader, until) || readers.run_id.empty()) return;
  WatchFromOutside({readers.thread_id, readers.run_id}, readers.lease_epoch, until);
  WatchRunRequest known;
  known.thread_id = readers.thread_id;
  known.run_id = readers.run_id;
  known.message_id = readers.message_id;
  known.reasoning_bytes = readers.reasoning_bytes;
  known.text_bytes = readers.text_bytes;
  PublishPieceRequest missing{.thread_id = readers.thread_id,
                              .run_id = readers.run_id,
                              .lease_epoch = readers.lease_epoch,
                              .piece = {}};
  for (size_t bytes = 0; bytes < kCatchUpBytesMax;) {
    std::optional<RunWatches::Kept> kept = ReadPiece(known);
    if (!kept) {
      // The message has ended meanwhile, and the reader does not know yet.
      if (!known.message_id.empty()) SendPiece({reader}, missing);
      return;
    }
    MessagePiece& piece = kept->piece;
    if (piece.reasoning.empty() && piece.text.empty()) return;
    bytes += piece.reasoning.size() + piece.text.size();
    known.message_id = piece.message_id;
    known.reasoning_bytes = piece.reasoning_begin + piece.reasoning.size();
    known.text_bytes = piece.text_begin + piece.text.size();
    missing.lease_epoch = kept->lease_epoch;
    missing.piece = std::move(piece);
    SendPiece({reader}, missing);
  }
}

void HostExecutor::OnRunsChanged(const std::vector<std::string>& thread_ids) {
  if (remote_readers_.empty()) return;
  for (const std::string& thread_id : thread_ids) {
    for (const std::string& instance : remote_readers_.Of(thread_id)) {
      HostMessage message;
      message.changed = {.thread_id = thread_id};
      Send(instance, std::move(message));
    }
  }
}

void HostExecutor::OnPiece(const PublishPieceRequest& piece) {
  if (remote_readers_.empty()) return;
  const std::vector<std::string> readers = remote_readers_.Of(piece.thread_id);
  if (!readers.empty()) SendPiece(readers, piece);
}

void HostExecutor::SendPiece(const std::vector<std::string>& instances,
                             const PublishPieceRequest& piece) {
  HostMessage message;
  message.piece = piece;
  const auto send = [&] {
    for (const std::string& instance : instances) Send(instance, message);
  };
  if (!piece.piece) return send();
  // Parts that a message of the link can hold, first those of the reasoning.
  std::string_view reasoning = piece.piece->reasoning;
  std::string_view text = piece.piece->text;
  MessagePiece& part = *message.piece->piece;
  for (;;) {
    part.reasoning = CutAtCharacter(reasoning, kTextBytesMax);
    part.text = part.reasoning.size() == reasoning.size()
                    ? CutAtCharacter(text, kTextBytesMax - part.reasoning.size())
                    : std::string_view();
    send();
    part.reasoning_begin += part.reasoning.size();
    part.text_begin += part.text.size();
    reasoning.remove_prefix(part.reasoning.size());
    text.remove_prefix(part.text.size());
    const bool is_rest = reasoning.empty() && text.empty();
    if (is_rest || (part.reasoning.empty() && part.text.empty())) return;
  }
}

}  // namespace agent_graph::state::postgres
