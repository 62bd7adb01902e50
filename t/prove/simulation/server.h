// The state server without threads and sockets: the store, the reader and the followers of
// engine/state/store, called in the order in which StoreExecutor calls them, one step at a
// time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "prove/simulation/chance.h"
#include "prove/simulation/disk.h"
#include "prove/simulation/wire.h"
#include "state/follow/followers.h"
#include "state/leveldb/database/database.h"
#include "state/store/memory_rows.h"
#include "state/store/reader.h"
#include "state/store/store.h"
#include "state/thread/listing_heads.h"

namespace agent_graph::simulation {

class Server {
 public:
  explicit Server(Chance& chance) : chance_(chance) {}

  // Opens the database and loads what an earlier server has left. False: it cannot be opened.
  bool Start();
  // kill -9. `power_cut`: also loses what was not synced.
  void Crash(bool power_cut);
  bool running() const { return store_ != nullptr; }
  // The last crash was a power cut.
  bool lost_power() const { return lost_power_; }

  // Accepts a worker's connection; cut at once if no server runs.
  WirePtr Connect(const std::string& client);

  // Executes some requests of some workers and commits them. With `may_crash` the server may die
  // before the commit, or after it and before its replies. Returns the threads whose runs have
  // changed.
  std::vector<std::string> Write(bool may_crash);
  // Executes one read, or continues one.
  void Read();

  bool has_work() const;
  // When the store wants to be called without a request.
  Deadline next_tick() const;
  const state::Database& database() const { return *database_; }
  // Number of followers that were answered only because their time was over, although there were
  // entries for them.
  size_t late_answers() const { return late_answers_; }

 private:
  struct ReadItem {
    state::Request request;
    state::ReplyRow load;
    std::optional<Deadline> parked_until = {};
    // A FollowRun that has read nothing, and is about to be parked.
    std::optional<uint64_t> seen_version = {};
  };
  class Line;

  std::vector<WirePtr> ReadyWires() const;
  void Execute(const WirePtr& wire, Frame frame);
  void Apply(const WirePtr& wire, Frame& frame);
  bool Commit();
  void Send(std::vector<state::StoreReply> replies);
  void Resume(std::vector<state::Followers::Parked> parked, bool overdue);
  void Follow(ReadItem item);
  void Park(ReadItem item);
  void Answer(const ReadItem& item, const Result<std::string>& body);
  WirePtr Find(uint64_t connection) const;

  Chance& chance_;
  Disk disk_;
  std::unique_ptr<state::LevelDatabase> database_;
  std::unique_ptr<state::Store> store_;
  std::unique_ptr<state::ListingHeads> heads_;
  std::unique_ptr<state::StoredMemoryRows> memory_rows_;
  std::unique_ptr<state::MemoryIndex> memories_;
  std::unique_ptr<state::Reader> reader_;
  std::unique_ptr<state::Followers> followers_;
  std::vector<WirePtr> wires_;
  std::deque<ReadItem> reads_;
  uint64_t next_connection_ = 1;
  uint64_t epoch_ = 0;
  size_t late_answers_ = 0;
  bool lost_power_ = false;
};

}  // namespace agent_graph::simulation
