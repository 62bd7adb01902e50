// The executor of backends that keep rows in a Database: the database, an epoch and the threads
// between them.
//
// Mutating requests go to the write thread, which executes all that are queued and commits them as
// one batch. If any of them needs an fsync, a thread of its own syncs what was written, and the
// replies wait for it (HeldMessages), but the next batch does not (group commit). Reads go to two
// read threads; the write thread itself loads a thread for a run that begins, if that is little.
// Slow work has threads of its own so that it does not delay other requests: one for searches and
// large offsets, two for searches through memories, one for maintenance operations that read the
// whole database.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "state/calls/executor.h"
#include "state/follow/followers.h"
#include "state/follow/run_watches.h"
#include "state/options.h"
#include "state/rows/database.h"
#include "state/store/deleted_ranges.h"
#include "state/store/held_messages.h"
#include "state/store/memory_rows.h"
#include "state/store/reader.h"
#include "state/store/store.h"
#include "state/store/work_queue.h"
#include "state/thread/listing_heads.h"

namespace agent_graph::state {

struct StoreExecutorOptions {
  StateOptions state;
  uint64_t epoch = 0;
  std::string index_directory;      // see MemoryIndex
  std::string backup_directory;     // see Reader
  std::function<void()> on_failed;  // see Storage::OpenOptions
  // With a shared database: the time from a failed write to the next executor. Reads go on.
  std::chrono::milliseconds reopen_after{0};
  // Null: the memories of the database, which no other host changes.
  std::shared_ptr<const MemoryRows> memory_rows = nullptr;
  // Called if the stored data was moved or removed while it was in use. May be empty.
  std::function<void()> on_lost;
};

class StoreExecutor : public Executor {
 public:
  StoreExecutor(std::unique_ptr<Database> database, StoreExecutorOptions options);
  ~StoreExecutor() override;

  uint64_t epoch() const override { return options_.epoch; }
  Status Start() override;
  void Stop() override;

  void Connect(std::shared_ptr<ClientConnection> connection, ClientHello hello) override;
  void Disconnect(std::shared_ptr<ClientConnection> connection, std::string client) override;
  void Leave(std::shared_ptr<ClientConnection> connection, std::string client) override;
  void RefuseGrants(std::shared_ptr<ClientConnection> connection, std::string client) override;
  void OnPong(std::shared_ptr<ClientConnection> connection, std::string client) override;
  void Execute(Request request) override;

  Result<Condition> Tend() override;

  // --- a database that several hosts write ---
  // Thread-safe; return at once. Another host has sent a notice, or has died.
  void OnHostNotice(HostNotice notice);
  // `first`: see Store::TakeOver.
  void TakeOver(std::string instance, uint64_t first = 0);

 protected:
  // Called first in Stop: from now on requests that fail because they are interrupted get no reply;
  // their clients send them again to the next executor.
  void BeginStop() { stopping_ = true; }
  // Sets the failure after which another executor has to be opened.
  void SetFailure(const Status& failure);
  Status failure();
  void Log(LogLevel level, const std::string& text) const;
  const Database& database() const { return *database_; }
  // Threads whose runs clients follow or watch; ResumeChanged answers them. Thread-safe.
  std::vector<std::string> FollowedThreads() const;
  void ResumeChanged(const std::vector<std::string>& thread_ids);

  // --- readers on other hosts; these are called on threads of the executor and must not block ---
  // Runs of these threads have changed by a commit of this executor.
  virtual void OnRunsChanged(const std::vector<std::string>& /*thread_ids*/) {}
  // A client has published a piece that is kept for watchers.
  virtual void OnPiece(const PublishPieceRequest& /*piece*/) {}
  // A client watches a run, or an attempt of it, that was not watched before.
  virtual void OnWatched() {}
  // The following are thread-safe and do not block. The runs that clients watch:
  std::vector<RunWatches::Known> WatchedRuns() const { return watches_.AllKnown(); }
  // Lets watchers of this host read a piece of another host's run; ResumeWatchers shows it to them.
  PublishPieceReply TakePiece(const PublishPieceRequest& piece) { return watches_.Publish(piece); }
  void ResumeWatchers(const std::vector<std::string>& thread_ids);
  std::optional<RunWatches::Known> WatchedRun(const RunWatches::Key& run) const {
    return watches_.KnownOf(run);
  }
  // Clients of another host watch a run until then.
  void WatchFromOutside(const RunWatches::Key& run, uint64_t lease_epoch, Deadline until);
  // The next part of its message behind what `known` names; nullopt: no message is known.
  std::optional<RunWatches::Kept> ReadPiece(const WatchRunRequest& known) const {
    return watches_.Find(known);
  }

 private:
  struct WriteItem {
    enum class Kind {
      kConnect,
      kRequest,
      kPong,
      kRefuseGrants,
      kDisconnect,
      kLeave,
      kWatched,
      kHostNotice,
      kHostGone,
      kSyncFailed,  // without a connection
    };
    Kind kind = Kind::kRequest;
    Request request;    // only `connection` and `client`, except for kRequest
    ClientHello hello;  // for kConnect
    RunWatched watched = {};
    HostNotice notice = {};  // for kHostNotice; kHostGone: only its instance
    uint64_t first = 0;      // for kHostGone; see Store::TakeOver
  };
  struct ReadItem {
    Request request;
    ReplyRow load;  // read for the reply to a mutating request; it has no bytes here
    // Set for a request that was parked: when its wait ends.
    std::optional<Deadline> parked_until = {};
    // For `load`: rows that are known already; null: none.
    std::unique_ptr<DatabaseView> known = nullptr;
  };

  Status AddThread(const std::string& name, std::function<void()> body);
  void Write();
  // Takes the items of the next batch.
  std::vector<WriteItem> NextItems(Deadline wake);
  // The items of a database that several hosts write (executor_hosts.cc).
  BatchUse UseOf(const std::vector<WriteItem>& items);
  // Locks and reads the rows in `use`.
  Status PrepareBatch(BatchUse use);
  enum class Trial { kNone, kCommitted, kFailed };
  // Executes and commits the items in one round trip, if the rows that they need are in memory.
  // kNone: they are not, and nothing has happened.
  Trial TryBatch(std::vector<WriteItem>& items, const BatchUse& use);
  static bool MayBeTried(const WriteItem& item);
  Deadline NextTick() const;
  // Called after a Commit that failed. `items` are the latest requests, of which the first
  // `executed` have been executed.
  void RefuseWrites(std::vector<WriteItem> items, size_t executed);
  // Call after a failure of a shared database. If the database was unreachable, the requests are
  // not answered: the clients send them again to the next executor. If it has refused one of them,
  // they are answered with the failure.
  void AwaitNextExecutor(const std::vector<WriteItem>& items);
  bool is_shared() const { return !database_->instance().empty(); }
  void RefuseWrite(uint64_t connection, uint64_t sequence);
  void Accept(const WriteItem& item);
  void ExecuteWrite(WriteItem& item);
  bool Commit();
  Status CommitBatch();
  void NoteExecuted(const std::vector<WriteItem>& items);
  // Sends what a commit says to clients (executor_replies.cc). `syncs_later`: the commit is not on
  // the disk yet.
  void Send(std::vector<StoreReply> replies, std::vector<StoreNotice> notices, bool syncs_later);
  // Fills in the body of a reply that needs few rows. Returns false for others, and after failures:
  // they are left to a read thread.
  bool LoadIfLittle(StoreReply& reply);
  void Read(WorkQueue<ReadItem>& queue);
  void ExecuteRead(ReadItem& item, WorkQueue<ReadItem>& queue);
  // Puts the request in the queue again when everything that it may show is on the disk.
  void AwaitSync(ReadItem item, WorkQueue<ReadItem>& queue);
  static bool ShowsRows(const ReadItem& item);

  // Requests that wait for runs (executor_follow.cc).
  static bool WaitsForRuns(Operation operation);
  // Both park the request, or return its reply.
  std::optional<Result<std::string>> ExecuteWaiting(ReadItem& item);
  struct Waiting;
  std::optional<Result<std::string>> AnswerOrPark(ReadItem& item, const Waiting& waiting);
  // The part that the watching client does not have; nullopt: it has everything.
  Result<std::optional<std::string>> ReadNews(const WatchRunRequest& watch, Deadline until,
                                              bool is_last);
  Result<std::string> ExecutePublish(const Request& request);
  void NoticeWatched(const RunWatches::Key& run, uint64_t watch);
  void Resume(std::vector<Followers::Parked> parked);
  void ResumeOverdue();

  WorkQueue<ReadItem>& QueueOf(Reader::Cost cost);
  const std::unique_ptr<Database> database_;
  const StoreExecutorOptions options_;
  Store store_;  // write thread only, after Start
  ListingHeads heads_;
  const std::shared_ptr<const MemoryRows> memory_rows_;
  MemoryIndex memories_;
  Reader reader_;  // thread-safe
  // Connections by id, to send replies; a BeginRun can be answered long after its request. Write
  // thread only.
  std::unordered_map<uint64_t, std::shared_ptr<ClientConnection>> connections_;

  std::atomic<bool> stopping_{false};
  Followers followers_;      // FollowRun
  Followers watchers_;       // WatchRun
  Deadline next_overdue_{};  // when waits that are over are looked for again; write thread only
  RunWatches watches_;
  WorkQueue<WriteItem> writes_;
  std::vector<WriteItem> deferred_;  // taken, for the next batch; write thread only
  WorkQueue<ReadItem> reads_;
  WorkQueue<ReadItem> searches_;
  WorkQueue<ReadItem> memory_searches_;
  WorkQueue<ReadItem> maintenance_;
  DeletedRanges deleted_ranges_;
  HeldMessages held_;
  std::vector<std::thread> threads_;

  bool low_on_space_ = false;  // already logged; Tend only
  // Next check whether a database whose writes have failed can be reopened; Tend only.
  Deadline next_try_ = kNoDeadline;
  Mutex mutex_;
  Status failure_ AG_GUARDED_BY(mutex_);  // failure of the database's writes
};

}  // namespace agent_graph::state
