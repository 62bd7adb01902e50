#include "state/store/executor.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <utility>

#include "base/process.h"
#include "runtime/thread.h"

namespace agent_graph::state {
namespace {

constexpr size_t kBatchOperationsMax = 512;
constexpr size_t kBatchBytesMax = 8 * 1024 * 1024;
// While writes come in, a pause follows each background sweep: at least kSweepPause, and at least
// kSweepPauseFactor times as long as the sweep, which takes a millisecond or two.
constexpr std::chrono::milliseconds kSweepPause{10};
constexpr int kSweepPauseFactor = 9;
constexpr int kReadThreads = 2;
// Bits of the numbers of watches; an executor never needs more. Above them are the lowest bits of
// its epoch, by which executors that follow each other differ.
constexpr unsigned kWatchNumberBits = 40;
constexpr int kMemoryThreads = 2;
constexpr int kIndexNiceness = 10;

}  // namespace

StoreExecutor::StoreExecutor(std::unique_ptr<Database> database, StoreExecutorOptions options)
    : database_(std::move(database)),
      options_(std::move(options)),
      store_(*database_, options_.state),
      heads_(*database_),
      memory_rows_(options_.memory_rows != nullptr
                       ? options_.memory_rows
                       : std::make_shared<StoredMemoryRows>(*database_)),
      memories_(*memory_rows_, options_.index_directory, options_.state.memory_index_bytes_max),
      reader_(*database_, heads_, memories_, options_.backup_directory,
              store_.longest_wait_micros()),
      watches_(options_.epoch << kWatchNumberBits),
      held_([this] { return database_->SyncWritten(); },
            [this](const Status& failure) {
              SetFailure(failure);
              WriteItem wake;
              wake.kind = WriteItem::Kind::kSyncFailed;
              writes_.Push(std::move(wake));
            }) {}

StoreExecutor::~StoreExecutor() {
  StoreExecutor::Stop();
}

Status StoreExecutor::Start() {
  AG_RETURN_IF_ERROR(store_.Load());
  if (database_->syncs_later()) AG_RETURN_IF_ERROR(held_.Start());
  AG_RETURN_IF_ERROR(AddThread("state-write", [this] { Write(); }));
  AG_RETURN_IF_ERROR(AddThread("state-search", [this] { Read(searches_); }));
  for (int i = 0; i < kReadThreads; ++i) {
    AG_RETURN_IF_ERROR(AddThread("state-read", [this] { Read(reads_); }));
  }
  AG_RETURN_IF_ERROR(AddThread("state-maintain", [this] { Read(maintenance_); }));
  for (int i = 0; i < kMemoryThreads; ++i) {
    AG_RETURN_IF_ERROR(AddThread("state-memory", [this] { Read(memory_searches_); }));
  }
  AG_RETURN_IF_ERROR(AddThread("state-reclaim", [this] { deleted_ranges_.Reclaim(*database_); }));
  return AddThread("state-index", [this] {
    // Low priority: all other work comes first.
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kIndexNiceness);
    memories_.KeepIndexes();
  });
}

Status StoreExecutor::AddThread(const std::string& name, std::function<void()> body) {
  return runtime::StartThread(threads_.emplace_back(), name, std::move(body));
}

void StoreExecutor::Stop() {
  BeginStop();
  database_->StopWaiting();
  writes_.Stop();
  reads_.Stop();
  searches_.Stop();
  memory_searches_.Stop();
  maintenance_.Stop();
  deleted_ranges_.Stop();
  reader_.Stop();
  memories_.Stop();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  threads_.clear();
  held_.Stop();
}

void StoreExecutor::Connect(std::shared_ptr<ClientConnection> connection, ClientHello hello) {
  std::string client = hello.client;
  writes_.Push({WriteItem::Kind::kConnect,
                {std::move(connection), std::move(client), {}, {}, 0},
                std::move(hello)});
}

void StoreExecutor::Disconnect(std::shared_ptr<ClientConnection> connection, std::string client) {
  writes_.Push(
      {WriteItem::Kind::kDisconnect, {std::move(connection), std::move(client), {}, {}, 0}, {}});
}

void StoreExecutor::Leave(std::shared_ptr<ClientConnection> connection, std::string client) {
  writes_.Push(
      {WriteItem::Kind::kLeave, {std::move(connection), std::move(client), {}, {}, 0}, {}});
}

void StoreExecutor::RefuseGrants(std::shared_ptr<ClientConnection> connection, std::string client) {
  writes_.Push(
      {WriteItem::Kind::kRefuseGrants, {std::move(connection), std::move(client), {}, {}, 0}, {}});
}

void StoreExecutor::OnPong(std::shared_ptr<ClientConnection> connection, std::string client) {
  writes_.Push({WriteItem::Kind::kPong, {std::move(connection), std::move(client), {}, {}, 0}, {}});
}

void StoreExecutor::Execute(Request request) {
  if (IsMutating(request.header.operation)) {
    return writes_.Push({WriteItem::Kind::kRequest, std::move(request), {}});
  }
  WorkQueue<ReadItem>& queue = QueueOf(Reader::CostOf(request.header.operation, request.body()));
  queue.Push({std::move(request), {}, {}});
}

WorkQueue<StoreExecutor::ReadItem>& StoreExecutor::QueueOf(Reader::Cost cost) {
  switch (cost) {
    case Reader::Cost::kSmall:
      return reads_;
    case Reader::Cost::kRows:
      return searches_;
    case Reader::Cost::kVectors:
      return memory_searches_;
    case Reader::Cost::kEverything:
      return maintenance_;
  }
  return reads_;
}

void StoreExecutor::Write() {
  auto next_sweep = MonotonicClock::now();
  while (!writes_.stopped()) {
    const Deadline wake = store_.wants_sweep() ? MonotonicClock::now() : NextTick();
    std::vector<WriteItem> items = NextItems(wake);
    if (is_shared()) {
      BatchUse use = UseOf(items);
      const Trial trial = TryBatch(items, use);
      if (trial == Trial::kCommitted) continue;
      const bool prepared = trial == Trial::kNone && PrepareBatch(std::move(use)).ok();
      if (!prepared) return AwaitNextExecutor(items);
    }
    if (held_.failed()) return RefuseWrites(std::move(items), 0);
    size_t executed = 0;
    bool written = true;
    for (WriteItem& item : items) {
      ExecuteWrite(item);
      ++executed;
      // In a shared database a commit releases the locks of the whole batch, so it is never divided
      // here: NextItems limits its size instead.
      const bool is_large = store_.batch_bytes() > kBatchBytesMax && !is_shared();
      if (is_large) written = Commit();
      if (!written) break;
    }
    if (!written) return RefuseWrites(std::move(items), executed);
    store_.Tick(MonotonicClock::now());
    ResumeOverdue();
    if (store_.wants_sweep() && (items.empty() || MonotonicClock::now() >= next_sweep)) {
      const auto begun = MonotonicClock::now();
      store_.Sweep();
      const auto ended = MonotonicClock::now();
      next_sweep = ended + std::max<MonotonicClock::duration>(kSweepPause,
                                                              kSweepPauseFactor * (ended - begun));
    }
    if (!Commit()) {
      return is_shared() ? AwaitNextExecutor(items) : RefuseWrites(std::move(items), executed);
    }
    if (!store_.wants_sweep()) deleted_ranges_.Add(store_.TakeDeletedRanges());
    NoteExecuted(items);
  }
}

void StoreExecutor::NoteExecuted(const std::vector<WriteItem>& items) {
  for (const WriteItem& item : items) {
    if (item.kind != WriteItem::Kind::kRequest) continue;
    item.request.connection->Executed(item.request.bytes.size());
  }
}

std::vector<StoreExecutor::WriteItem> StoreExecutor::NextItems(Deadline wake) {
  if (!is_shared()) return writes_.Take(kBatchOperationsMax, wake);
  std::vector<WriteItem> items = std::exchange(deferred_, {});
  if (items.empty()) items = writes_.Take(kBatchOperationsMax, wake);
  size_t bytes = 0;
  const auto large = std::ranges::find_if(items, [&](const WriteItem& item) {
    bytes += item.request.bytes.size();
    return bytes > kBatchBytesMax && bytes > item.request.bytes.size();
  });
  deferred_.assign(std::make_move_iterator(large), std::make_move_iterator(items.end()));
  items.erase(large, items.end());
  return items;
}

Deadline StoreExecutor::NextTick() const {
  if (followers_.empty() && watchers_.empty() && watches_.empty()) return store_.next_tick();
  return std::min(store_.next_tick(), next_overdue_);
}

void StoreExecutor::RefuseWrite(uint64_t connection, uint64_t sequence) {
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  found->second->Send(RefusedWrite(sequence));
}

void StoreExecutor::RefuseWrites(std::vector<WriteItem> items, size_t executed) {
  for (const ReplyAddress& address : store_.Abandon()) {
    RefuseWrite(address.connection, address.sequence);
  }
  while (!writes_.stopped()) {
    for (size_t i = 0; i < items.size(); ++i) {
      const WriteItem& item = items[i];
      const Request& request = item.request;
      if (request.connection == nullptr) continue;
      const uint64_t id = request.connection->id();
      if (item.kind == WriteItem::Kind::kRequest) {
        if (i >= executed) RefuseWrite(id, request.header.sequence);
        request.connection->Executed(request.bytes.size());
      } else if (item.kind == WriteItem::Kind::kConnect && i >= executed) {
        Accept(item);
      } else if (item.kind == WriteItem::Kind::kDisconnect) {
        connections_.erase(id);
      }
    }
    executed = 0;
    items = writes_.Take(kBatchOperationsMax, kNoDeadline);
  }
}

void StoreExecutor::Accept(const WriteItem& item) {
  const std::shared_ptr<ClientConnection>& connection = item.request.connection;
  connections_.insert_or_assign(connection->id(), connection);
  connection->Send(Welcome{options_.epoch});
}

bool StoreExecutor::Commit() {
  const Status committed = CommitBatch();
  if (!committed.ok()) SetFailure(committed);
  return committed.ok();
}

Status StoreExecutor::CommitBatch() {
  heads_.CommitBegins();
  const bool syncs_later = store_.syncs_later();
  if (syncs_later) held_.ExpectWrite();
  Result<std::vector<StoreReply>> replies =
      syncs_later ? store_.CommitBeforeSync() : store_.Commit();
  if (!replies.ok()) {
    if (syncs_later) held_.NoteWritten({});
    heads_.CommitEnds({});
    return replies.status();
  }
  // Before the replies are sent, so that a client that received one finds what it stored.
  heads_.CommitEnds(store_.TakeChangedThreads());
  memories_.Changed(store_.TakeChangedMemories());
  const std::vector<std::string> changed_runs = store_.TakeChangedRuns();
  ResumeChanged(changed_runs);
  OnRunsChanged(changed_runs);
  for (const Store::Report& report : store_.TakeReports()) {
    Log(report.level, "state of " + options_.state.directory + ": " + report.text);
  }
  Send(std::move(*replies), store_.TakeNotices(), syncs_later);
  return Status::Ok();
}

void StoreExecutor::ExecuteWrite(WriteItem& item) {
  const Request& request = item.request;
  switch (item.kind) {
    case WriteItem::Kind::kConnect: {
      item.hello.process_start = ProcessStartTime(item.hello.process);
      store_.Connect(item.hello, request.connection->id());
      Accept(item);
      // The client may execute runs that were watched before it connected.
      for (const auto& [run, watch] : watches_.All()) NoticeWatched(run, watch);
      break;
    }
    case WriteItem::Kind::kDisconnect:
      store_.Disconnect(request.client, request.connection->id());
      connections_.erase(request.connection->id());
      break;
    case WriteItem::Kind::kLeave:
      store_.Leave(request.client, request.connection->id());
      break;
    case WriteItem::Kind::kPong:
      store_.OnPong(request.client, request.connection->id());
      break;
    case WriteItem::Kind::kRefuseGrants:
      store_.RefuseGrants(request.client, request.connection->id());
      break;
    case WriteItem::Kind::kWatched:
      store_.NoticeWatched(item.watched);
      break;
    case WriteItem::Kind::kHostNotice:
      store_.OnHostNotice(item.notice);
      break;
    case WriteItem::Kind::kSyncFailed:
      break;  // Write has checked for it before it executes items
    case WriteItem::Kind::kHostGone:
      if (const auto next = store_.TakeOver(item.notice.instance, item.first)) {
        TakeOver(item.notice.instance, *next);
      }
      break;
    case WriteItem::Kind::kRequest: {
      pack::Unpacker body = request.body();
      store_.Apply({request.client, request.connection->id(), request.header.sequence},
                   request.header, body);
      break;
    }
  }
}

void StoreExecutor::Read(WorkQueue<ReadItem>& queue) {
  while (!queue.stopped()) {
    for (ReadItem& item : queue.Take(1, kNoDeadline)) ExecuteRead(item, queue);
  }
}

// False for replies that need not wait for the disk. Pieces of messages and the progress of a run
// may be lost in a power cut. A new run may load a state that is not on the disk yet, because the
// log keeps the order: the run's own end cannot survive a power cut without that state.
bool StoreExecutor::ShowsRows(const ReadItem& item) {
  const Operation operation = item.request.header.operation;
  return item.load.load != ReplyRow::Load::kBeginRun && operation != Operation::kPublishPiece &&
         operation != Operation::kWatchRun;
}

void StoreExecutor::ExecuteRead(ReadItem& item, WorkQueue<ReadItem>& queue) {
  if (ShowsRows(item) && held_.is_full()) return AwaitSync(std::move(item), queue);
  const Request& request = item.request;
  const bool is_load = item.load.load != ReplyRow::Load::kNothing;
  Result<std::string> body = Status(StatusCode::kInternal, "the state server failed");
  try {
    if (is_load) {
      body = reader_.Load(item.load, std::move(item.known));
    } else if (WaitsForRuns(request.header.operation)) {
      std::optional<Result<std::string>> reply = ExecuteWaiting(item);
      if (!reply) return;
      body = *std::move(reply);
    } else if (request.header.operation == Operation::kPublishPiece) {
      body = ExecutePublish(request);
    } else {
      pack::Unpacker unpacker = request.body();
      body = reader_.Execute(request.header.operation, unpacker);
    }
  } catch (const std::exception& failure) {
    body = Status(StatusCode::kInternal, "the state server failed").WithDetail(failure.what());
  }
  // Interrupted reads get no reply: the client repeats them at the next executor.
  if (!body.ok() && stopping_) return;
  const uint64_t sequence = request.header.sequence;
  Reply reply = body.ok() ? Reply{sequence, Status::Ok(), std::move(*body)}
                          : Reply{sequence, body.status(), {}};
  // A power cut must not undo a change that a client has seen.
  if (ShowsRows(item) && held_.is_behind()) {
    held_.Hold({{.connection = request.connection, .message = std::move(reply)}});
  } else {
    request.connection->Send(std::move(reply));
  }
  if (!is_load && !item.parked_until) request.connection->Executed(request.bytes.size());
}

}  // namespace agent_graph::state
