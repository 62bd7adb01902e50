#include "prove/simulation/server.h"

#include "prove/simulation/trace.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/clock.h"
#include "state/leveldb/database/database.h"
#include "state/runs.h"

namespace agent_graph::simulation {
namespace {

constexpr size_t kFramesAtOnce = 6;
constexpr size_t kIndexBytes = 1 << 20;

}  // namespace

// The connection as requests carry it: only its id matters here.
class Server::Line : public state::ClientConnection {
 public:
  explicit Line(uint64_t id) : id_(id) {}
  uint64_t id() const override { return id_; }
  void SendAll(std::vector<state::ClientMessage>) override {}
  void Executed(size_t) override {}

 private:
  const uint64_t id_;
};

bool Server::Start() {
  Trace([&] { return std::string("a state server starts"); });
  Result<std::unique_ptr<state::LevelDatabase>> database = state::LevelDatabase::OpenMemory();
  if (!database.ok()) return false;
  database_ = *std::move(database);
  heads_ = std::make_unique<state::ListingHeads>(*database_);
  memory_rows_ = std::make_unique<state::StoredMemoryRows>(*database_);
  memories_ = std::make_unique<state::MemoryIndex>(*memory_rows_, "", kIndexBytes);
  followers_ = std::make_unique<state::Followers>();
  store_ = std::make_unique<state::Store>(*database_, state::StateOptions());
  reader_ = std::make_unique<state::Reader>(*database_, *heads_, *memories_, "",
                                            store_->longest_wait_micros());
  ++epoch_;
  return store_->Load().ok();
}

void Server::Crash(bool power_cut) {
  Trace([&] { return std::string(power_cut ? "the power is cut" : "the state server ends"); });
  reader_.reset();
  store_.reset();
  memories_.reset();
  memory_rows_.reset();
  heads_.reset();
  followers_.reset();
  reads_.clear();
  database_.reset();
  for (const WirePtr& wire : wires_) wire->cut = true;
  wires_.clear();
  lost_power_ = power_cut;
  if (power_cut) disk_.CutPower();
}

WirePtr Server::Connect(const std::string& client) {
  auto wire = std::make_shared<Wire>();
  wire->client = client;
  wire->cut = !running();
  wire->id = next_connection_++;
  if (running()) wires_.push_back(wire);
  return wire;
}

WirePtr Server::Find(uint64_t connection) const {
  const auto found =
      std::ranges::find(wires_, connection, [](const auto& wire) { return wire->id; });
  return found == wires_.end() ? nullptr : *found;
}

std::vector<std::string> Server::Write(bool may_crash) {
  const size_t frames = 1 + chance_.Below(kFramesAtOnce);
  for (size_t i = 0; i < frames; ++i) {
    const std::vector<WirePtr> ready = ReadyWires();
    if (ready.empty()) break;
    const WirePtr wire = ready[chance_.Below(ready.size())];
    Frame frame = std::move(wire->up.front());
    wire->up.pop_front();
    Execute(wire, std::move(frame));
  }
  const auto now = MonotonicClock::now();
  store_->Tick(now);
  if (!followers_->empty()) Resume(followers_->TakeOverdue(now), /*overdue=*/true);
  if (store_->wants_sweep()) store_->Sweep();
  if (may_crash && chance_.OneIn(2)) {
    Crash(/*power_cut=*/chance_.OneIn(3));
    return {};
  }
  Result<std::vector<state::StoreReply>> replies = store_->Commit();
  if (!replies.ok()) {
    Crash(false);
    return {};
  }
  std::vector<std::string> changed = store_->TakeChangedRuns();
  if (may_crash) {
    Crash(/*power_cut=*/chance_.OneIn(3));
    return changed;
  }
  if (!followers_->empty()) Resume(followers_->TakeChanged(changed), /*overdue=*/false);
  (void)store_->TakeReports();
  (void)store_->TakeChangedMemories();
  (void)store_->TakeChangedThreads();
  (void)store_->TakeDeletedRanges();
  Send(*std::move(replies));
  for (state::Store::Notice& notice : store_->TakeNotices()) {
    if (const WirePtr wire = Find(notice.connection))
      wire->down.push_back(std::move(notice.message));
  }
  return changed;
}

// The requests of a connection may be read when a later connection of the client was read. Their
// Hellos come in the order in which the client connected, as the server accepts connections.
std::vector<WirePtr> Server::ReadyWires() const {
  std::vector<WirePtr> ready;
  std::set<std::string> say_hello;
  for (const WirePtr& wire : wires_) {
    if (wire->up.empty()) continue;
    const bool is_hello = wire->up.front().kind == Frame::Kind::kHello;
    if (is_hello && !say_hello.insert(wire->client).second) continue;
    ready.push_back(wire);
  }
  return ready;
}

void Server::Execute(const WirePtr& wire, Frame frame) {
  Trace([&] {
    return "server executes " + std::to_string(static_cast<int>(frame.kind)) + " of " +
           wire->client + ", operation " +
           std::to_string(static_cast<int>(frame.header.operation)) + ", number " +
           std::to_string(frame.header.sequence);
  });
  switch (frame.kind) {
    case Frame::Kind::kHello:
      store_->Connect(frame.hello, wire->id);
      wire->down.push_back(state::Welcome{epoch_});
      break;
    case Frame::Kind::kEnd:
      store_->Disconnect(wire->client, wire->id);
      wire->cut = true;
      std::erase(wires_, wire);
      break;
    case Frame::Kind::kLeave:
      store_->Leave(wire->client, wire->id);
      break;
    case Frame::Kind::kPong:
      store_->OnPong(wire->client, wire->id);
      break;
    case Frame::Kind::kRefuseGrants:
      store_->RefuseGrants(wire->client, wire->id);
      break;
    case Frame::Kind::kRequest:
      Apply(wire, frame);
      break;
  }
}

void Server::Apply(const WirePtr& wire, Frame& frame) {
  if (state::IsMutating(frame.header.operation)) {
    pack::Unpacker body{std::string_view(frame.body)};
    store_->Apply({wire->client, wire->id, frame.header.sequence}, frame.header, body);
    return;
  }
  ReadItem item;
  item.request.connection = std::make_shared<Line>(wire->id);
  item.request.client = wire->client;
  item.request.header = frame.header;
  item.request.bytes = std::move(frame.body);
  reads_.push_back(std::move(item));
}

void Server::Send(std::vector<state::StoreReply> replies) {
  for (state::StoreReply& reply : replies) {
    const WirePtr wire = Find(reply.to.connection);
    if (wire == nullptr) continue;
    if (reply.queued) {
      wire->down.push_back(state::Queued{reply.to.sequence});
    } else if (reply.status.ok() && reply.reply.load != state::ReplyRow::Load::kNothing) {
      ReadItem item;
      item.request.connection = std::make_shared<Line>(wire->id);
      item.request.header.sequence = reply.to.sequence;
      item.load = std::move(reply.reply);
      reads_.push_back(std::move(item));
    } else {
      wire->down.push_back(
          state::Reply{reply.to.sequence, std::move(reply.status), std::move(reply.reply.body)});
    }
  }
}

// Reads run on several threads, so any of them may be the next.
void Server::Read() {
  if (reads_.empty()) return;
  const size_t chosen = chance_.Below(reads_.size());
  ReadItem item = std::move(reads_[chosen]);
  reads_.erase(reads_.begin() + static_cast<ptrdiff_t>(chosen));
  if (item.load.load != state::ReplyRow::Load::kNothing)
    return Answer(item, reader_->Load(item.load));
  if (item.request.header.operation == state::Operation::kFollowRun) {
    return item.seen_version ? Park(std::move(item)) : Follow(std::move(item));
  }
  pack::Unpacker body{std::string_view(item.request.bytes)};
  Answer(item, reader_->Execute(item.request.header.operation, body));
}

// As StoreExecutor::ExecuteFollow, in two steps: others may write between them.
void Server::Follow(ReadItem item) {
  state::FollowRunRequest follow;
  pack::Unpacker body{std::string_view(item.request.bytes)};
  if (!pack::TryUnpack(body, follow)) return Answer(item, Status(StatusCode::kInvalidArgument, ""));
  const Deadline until =
      item.parked_until.value_or(DeadlineAfter(std::chrono::milliseconds(follow.wait_ms)));
  const uint64_t version = followers_->Begin(follow.thread_id);
  const Result<state::FollowRunReply> reply = reader_->Follow(follow);
  const bool waits =
      reply.ok() && reply->entries.empty() && !reply->complete && MonotonicClock::now() < until;
  if (waits) {
    item.parked_until = until;
    item.seen_version = version;
    reads_.push_back(std::move(item));
    return;
  }
  followers_->End(follow.thread_id);
  Answer(item, reply.ok() ? Result<std::string>(pack::ToBytes(*reply)) : reply.status());
}

void Server::Park(ReadItem item) {
  state::FollowRunRequest follow;
  pack::Unpacker body{std::string_view(item.request.bytes)};
  (void)pack::TryUnpack(body, follow);
  state::Followers::Parked parked{std::move(item.request), *item.parked_until};
  const auto outcome = followers_->Park(follow.thread_id, *item.seen_version, parked);
  followers_->End(follow.thread_id);
  if (outcome == state::Followers::Outcome::kParked) return;
  item.request = std::move(parked.request);
  item.seen_version.reset();
  reads_.push_back(std::move(item));
}

void Server::Resume(std::vector<state::Followers::Parked> parked, bool overdue) {
  for (state::Followers::Parked& one : parked) {
    ReadItem item;
    item.request = std::move(one.request);
    item.parked_until = one.deadline;
    if (overdue) {
      state::FollowRunRequest follow;
      pack::Unpacker body{std::string_view(item.request.bytes)};
      (void)pack::TryUnpack(body, follow);
      const Result<state::FollowRunReply> reply = reader_->Follow(follow);
      if (reply.ok() && (!reply->entries.empty() || reply->complete)) ++late_answers_;
    }
    reads_.push_back(std::move(item));
  }
}

void Server::Answer(const ReadItem& item, const Result<std::string>& body) {
  const WirePtr wire = Find(item.request.connection->id());
  if (wire == nullptr) return;
  const uint64_t sequence = item.request.header.sequence;
  wire->down.push_back(body.ok() ? state::Reply{sequence, Status::Ok(), *body}
                                 : state::Reply{sequence, body.status(), {}});
}

bool Server::has_work() const {
  if (!running()) return false;
  if (!reads_.empty() || store_->wants_sweep()) return true;
  return std::ranges::any_of(wires_, [](const WirePtr& wire) { return !wire->up.empty(); });
}

Deadline Server::next_tick() const {
  return store_->next_tick();
}

}  // namespace agent_graph::simulation
