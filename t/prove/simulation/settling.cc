// Schedule: readers, and the end of a schedule.
#include <algorithm>

#include "prove/simulation/schedule.h"
#include "prove/simulation/virtual_time.h"

namespace agent_graph::simulation {
namespace {

using std::chrono::milliseconds;

constexpr size_t kReadersMax = 4;
constexpr size_t kRoundsMax = 4000;
constexpr int64_t kFollowMs = 30'000;
constexpr milliseconds kPause{50};
constexpr int kIdleRounds = 60;
constexpr char kFollowed[] = "readers get each entry once";
constexpr char kEnds[] = "every accepted run ends";

}  // namespace

void Schedule::NewReader(const std::string& thread_id, const std::string& run_id) {
  if (readers_.size() >= kReadersMax) return;
  auto reader = std::make_shared<Reader>();
  reader->thread_id = thread_id;
  reader->run_id = run_id;
  readers_.push_back(reader);
}

void Schedule::Follow(const std::shared_ptr<Reader>& reader) {
  Worker* const worker = AnyWorker();
  if (worker == nullptr) return;
  state::FollowRunRequest follow;
  follow.thread_id = reader->thread_id;
  follow.run_id = reader->run_id;
  follow.first = reader->next;
  follow.entries_max = static_cast<uint32_t>(1 + chance_.Below(3));
  follow.wait_ms = kFollowMs;
  reader->outstanding = true;
  worker->Call(state::Operation::kFollowRun, follow,
               [this, reader](const state::Reply& reply) { OnFollowed(reader, reply); });
}

void Schedule::OnFollowed(const std::shared_ptr<Reader>& reader, const state::Reply& reply) {
  reader->outstanding = false;
  state::FollowRunReply followed;
  if (reply.status.ok() && pack::FromBytes(reply.body, followed)) {
    return TakeEntries(*reader, followed);
  }
  if (reply.status.code() != StatusCode::kNotFound) return;
  witness_.Violate(kFollowed, reader->run_id + " is not found");
  reader->complete = true;
}

void Schedule::TakeEntries(Reader& reader, const state::FollowRunReply& reply) {
  for (const state::IndexedEntry& entry : reply.entries) {
    const bool is_next =
        reader.has_first ? entry.index == reader.next : entry.index == reply.run.log_begin;
    if (!is_next) {
      witness_.Violate(kFollowed, reader.run_id + ": entry " + std::to_string(entry.index) +
                                      " instead of " + std::to_string(reader.next));
    }
    const std::optional<Signature> writer = ReadSignature(entry.entry.json);
    if (writer && writer->run_id != reader.run_id) {
      witness_.Violate(kFollowed, "an entry of " + writer->run_id + " for " + reader.run_id);
    }
    reader.has_first = true;
    reader.next = entry.index + 1;
    reader.last_kind = entry.entry.kind;
  }
  if (!reply.complete) return;
  reader.complete = true;
  // A run that was stopped while it waited has no entries.
  if (reader.has_first && reader.last_kind != "run_finished") {
    witness_.Violate(kFollowed, reader.run_id + " ends with " + reader.last_kind);
  }
}

bool Schedule::Waits() const {
  const auto starts = [](const auto& starter) { return !starter->answered; };
  const auto reads = [](const auto& reader) { return !reader->complete; };
  return std::ranges::any_of(starters_, starts) || std::ranges::any_of(readers_, reads);
}

// Returns false if nothing was done.
bool Schedule::SettleRound() {
  bool acted = false;
  for (const auto& worker : workers_) {
    if (!worker->alive()) worker->Boot();
    while (worker->Act()) acted = true;
  }
  while (server_.has_work()) {
    ServerWrites(false);
    server_.Read();
    acted = true;
  }
  for (const auto& starter : starters_) {
    if (!starter->answered && !starter->outstanding) Ask(starter);
  }
  for (const auto& reader : readers_) {
    if (!reader->complete && !reader->outstanding) Follow(reader);
  }
  return acted;
}

void Schedule::Settle() {
  if (!server_.running() && !server_.Start()) {
    return witness_.Violate(kEnds, "the state server does not start");
  }
  for (const auto& worker : workers_) worker->Thaw();
  int idle = 0;
  for (size_t round = 0; witness_.violation().empty(); ++round) {
    if (SettleRound()) {
      idle = 0;
    } else if (!Waits() && ++idle > kIdleRounds) {
      break;
    }
    if (round > kRoundsMax) return witness_.Violate(kEnds, "nothing happens any more");
    PassTime(kPause);
    ServerWrites(false);
  }
  if (server_.late_answers() > 0) witness_.Violate(kFollowed, "a reader was not woken");
  if (witness_.violation().empty()) witness_.CheckEnd(server_.database(), threads_);
}

}  // namespace agent_graph::simulation
