#include "state/owner/session.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/process.h"
#include "runtime/thread.h"

namespace agent_graph::state {
namespace {

constexpr size_t kBatchOperationsMax = 512;
constexpr size_t kBatchBytesMax = 8 * 1024 * 1024;
// Maximum time between two background sweeps, even if writes never pause.
constexpr std::chrono::milliseconds kSweepInterval{50};
constexpr int kReadThreads = 2;
constexpr int kMemoryThreads = 2;
constexpr int kIndexNiceness = 10;

}  // namespace

Session::Session(std::unique_ptr<Database> database, SessionOptions options, SessionEvents events)
    : database_(std::move(database)),
      options_(std::move(options)),
      events_(std::move(events)),
      store_(*database_, options_.sync, options_.thread_ttl),
      heads_(*database_),
      memories_(*database_, options_.index_directory, options_.memory_index_bytes_max),
      reader_(*database_, heads_, memories_, options_.backup_directory) {}

Session::~Session() {
  Stop(Farewell::kNone);
}

Status Session::Start(FileDescriptor listener) {
  AG_RETURN_IF_ERROR(store_.Load());
  AG_RETURN_IF_ERROR(AddThread("state-write", [this] { Write(); }));
  AG_RETURN_IF_ERROR(AddThread("state-search", [this] { Read(searches_); }));
  for (int i = 0; i < kReadThreads; ++i) {
    AG_RETURN_IF_ERROR(AddThread("state-read", [this] { Read(reads_); }));
  }
  AG_RETURN_IF_ERROR(AddThread("state-maintain", [this] { Read(maintenance_); }));
  for (int i = 0; i < kMemoryThreads; ++i) {
    AG_RETURN_IF_ERROR(AddThread("state-memory", [this] { Read(memory_searches_); }));
  }
  AG_RETURN_IF_ERROR(AddThread("state-reclaim", [this] { Reclaim(); }));
  AG_RETURN_IF_ERROR(AddThread("state-index", [this] {
    // Low priority: all other work comes first.
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kIndexNiceness);
    memories_.KeepIndexes();
  }));
  ServerEvents& events = *this;
  server_ = std::make_unique<Server>(std::move(listener), events);
  return server_->Start();
}

Status Session::AddThread(const std::string& name, std::function<void()> body) {
  return runtime::StartThread(threads_.emplace_back(), name, std::move(body));
}

void Session::Stop(Farewell farewell) {
  stopping_ = true;
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
  if (server_) {
    server_->Stop(farewell == Farewell::kGoAway ? wire::MakeFrame(wire::FrameType::kGoAway)
                                                : std::string());
  }
}

bool Session::OnFrame(const std::shared_ptr<Connection>& connection, std::string payload) {
  pack::Unpacker unpacker(payload);
  switch (wire::ReadFrameType(unpacker)) {
    case wire::FrameType::kHello:
      return OnHello(connection, unpacker);
    case wire::FrameType::kRequest:
      return OnRequest(connection, std::move(payload));
    case wire::FrameType::kBye: {
      auto client = client_of_connection_.find(connection->id());
      if (client == client_of_connection_.end()) return false;
      writes_.Push({WriteItem::Kind::kLeave, connection, client->second, {}, {}});
      return true;
    }
    case wire::FrameType::kPong: {
      auto client = client_of_connection_.find(connection->id());
      if (client == client_of_connection_.end()) return false;
      writes_.Push({WriteItem::Kind::kPong, connection, client->second, {}, {}});
      return true;
    }
    case wire::FrameType::kYield: {
      wire::Yield yield;
      if (!wire::ReadBody(unpacker, yield)) return false;
      events_.on_yield(yield.generation);
      return true;
    }
    default:
      return unpacker.ok();
  }
}

bool Session::OnHello(const std::shared_ptr<Connection>& connection, pack::Unpacker& unpacker) {
  WriteItem item;
  item.kind = WriteItem::Kind::kConnect;
  item.connection = connection;
  if (!wire::ReadBody(unpacker, item.hello) || item.hello.magic != wire::kMagic ||
      client_of_connection_.contains(connection->id())) {
    return false;
  }
  if (item.hello.protocol_max < wire::kProtocolMin ||
      item.hello.protocol_min > wire::kProtocolMax) {
    connection->Send(wire::MakeFrame(
        wire::FrameType::kRefused,
        wire::Refused{StatusCode::kUnavailable,
                      "the state owner speaks another protocol version; restart nginx"}));
    return true;
  }
  item.client = item.hello.client;
  if (connection->process() != 0) item.hello.process = connection->process();
  if (auto old = connection_of_client_.find(item.client); old != connection_of_client_.end()) {
    std::shared_ptr<Connection> previous = old->second;
    previous->ShutDown();
    OnClosed(previous);
  }
  client_of_connection_.emplace(connection->id(), item.client);
  connection_of_client_.insert_or_assign(item.client, connection);
  events_.on_clients_changed(connection_of_client_.size());
  writes_.Push(std::move(item));
  return true;
}

bool Session::OnRequest(const std::shared_ptr<Connection>& connection, std::string payload) {
  auto client = client_of_connection_.find(connection->id());
  if (client == client_of_connection_.end()) return false;
  pack::Unpacker unpacker(payload);
  wire::ReadFrameType(unpacker);
  const wire::RequestHeader header = wire::ReadRequestHeader(unpacker);
  if (!unpacker.ok()) return false;
  connection->Enqueued(payload.size());
  if (wire::IsMutating(header.operation)) {
    writes_.Push({WriteItem::Kind::kRequest, connection, client->second, std::move(payload), {}});
    return true;
  }
  QueueOf(Reader::CostOf(header.operation, unpacker)).Push({connection, std::move(payload), 0, {}});
  return true;
}

WorkQueue<Session::ReadItem>& Session::QueueOf(Reader::Cost cost) {
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

void Session::OnClosed(const std::shared_ptr<Connection>& connection) {
  auto client = client_of_connection_.find(connection->id());
  if (client == client_of_connection_.end()) return;
  writes_.Push({WriteItem::Kind::kDisconnect, connection, client->second, {}, {}});
  connection_of_client_.erase(client->second);
  client_of_connection_.erase(client);
  events_.on_clients_changed(connection_of_client_.size());
}

void Session::Write() {
  auto next_sweep = MonotonicClock::now();
  while (!writes_.stopped()) {
    const Deadline wake = store_.wants_sweep() ? MonotonicClock::now() : store_.next_tick();
    std::vector<WriteItem> items = writes_.Take(kBatchOperationsMax, wake);
    size_t executed = 0;
    for (WriteItem& item : items) {
      Execute(item);
      ++executed;
      if (store_.batch_bytes() > kBatchBytesMax && !Commit()) {
        return RefuseWrites(std::move(items), executed);
      }
    }
    store_.Tick(MonotonicClock::now());
    if (store_.wants_sweep() && (items.empty() || MonotonicClock::now() >= next_sweep)) {
      store_.Sweep();
      next_sweep = MonotonicClock::now() + kSweepInterval;
    }
    if (!Commit()) return RefuseWrites(std::move(items), executed);
    if (!store_.wants_sweep()) {
      for (auto& range : store_.TakeDeletedRanges()) deleted_ranges_.Push(std::move(range));
    }
    for (const WriteItem& item : items) {
      if (item.kind == WriteItem::Kind::kRequest) item.connection->Executed(item.payload.size());
    }
  }
}

void Session::RefuseWrites(std::vector<WriteItem> items, size_t executed) {
  const auto refuse = [this](uint64_t connection, uint64_t sequence) {
    const Status status(StatusCode::kUnavailable, "the state database takes no writes");
    const auto found = connections_.find(connection);
    if (found != connections_.end()) found->second->Send(wire::MakeReply(sequence, status, {}));
  };
  for (const ReplyAddress& address : store_.Abandon()) refuse(address.connection, address.sequence);
  while (!writes_.stopped()) {
    for (size_t i = 0; i < items.size(); ++i) {
      const WriteItem& item = items[i];
      const uint64_t id = item.connection->id();
      if (item.kind == WriteItem::Kind::kRequest) {
        pack::Unpacker unpacker(item.payload);
        wire::ReadFrameType(unpacker);
        if (i >= executed) refuse(id, wire::ReadRequestHeader(unpacker).sequence);
        item.connection->Executed(item.payload.size());
      } else if (item.kind == WriteItem::Kind::kConnect && i >= executed) {
        Welcome(item);
      } else if (item.kind == WriteItem::Kind::kDisconnect) {
        connections_.erase(id);
      }
    }
    executed = 0;
    items = writes_.Take(kBatchOperationsMax, kNoDeadline);
  }
}

void Session::Welcome(const WriteItem& item) {
  connections_.insert_or_assign(item.connection->id(), item.connection);
  const wire::Welcome welcome{std::min(item.hello.protocol_max, wire::kProtocolMax),
                              options_.epoch};
  item.connection->Send(wire::MakeFrame(wire::FrameType::kWelcome, welcome));
}

void Session::Reclaim() {
  while (!deleted_ranges_.stopped()) {
    for (const auto& [first, last] : deleted_ranges_.Take(1, kNoDeadline)) {
      database_->Compact(first, last);
    }
  }
}

bool Session::Commit() {
  heads_.CommitBegins();
  Result<std::vector<StoreReply>> replies = store_.Commit();
  if (replies.ok()) {
    // Before the replies are sent, so that a client that received one finds what it stored.
    heads_.CommitEnds(store_.TakeChangedThreads());
    memories_.Changed(store_.TakeChangedMemories());
    for (const Store::Report& report : store_.TakeReports()) {
      if (events_.on_report) events_.on_report(report);
    }
    SendReplies(std::move(*replies));
    for (Store::Notice& notice : store_.TakeNotices()) {
      auto connection = connections_.find(notice.connection);
      if (connection != connections_.end()) connection->second->Send(std::move(notice.frame));
    }
  } else {
    heads_.CommitEnds({});
    events_.on_failed(replies.status());
  }
  return replies.ok();
}

void Session::Execute(WriteItem& item) {
  switch (item.kind) {
    case WriteItem::Kind::kConnect: {
      item.hello.process_start = ProcessStartTime(item.hello.process);
      store_.Connect(item.hello, item.connection->id());
      Welcome(item);
      break;
    }
    case WriteItem::Kind::kDisconnect:
      store_.Disconnect(item.client, item.connection->id());
      connections_.erase(item.connection->id());
      break;
    case WriteItem::Kind::kLeave:
      store_.Leave(item.client);
      break;
    case WriteItem::Kind::kPong:
      store_.Hear(item.client);
      break;
    case WriteItem::Kind::kRequest: {
      pack::Unpacker unpacker(item.payload);
      wire::ReadFrameType(unpacker);
      const wire::RequestHeader header = wire::ReadRequestHeader(unpacker);
      store_.Apply({item.client, item.connection->id(), header.sequence}, header, unpacker);
      break;
    }
  }
}

void Session::SendReplies(std::vector<StoreReply> replies) {
  // Combine all replies of a commit to one client: one send, and one wake-up of the client.
  std::unordered_map<uint64_t, std::string> frames;
  for (StoreReply& reply : replies) {
    auto connection = connections_.find(reply.to.connection);
    if (connection == connections_.end()) continue;
    if (reply.queued) {
      frames[connection->first] +=
          wire::MakeFrame(wire::FrameType::kQueued, wire::Queued{reply.to.sequence});
    } else if (reply.status.ok() && reply.reply.load != ReplyRow::Load::kNothing) {
      reads_.Push({connection->second, {}, reply.to.sequence, std::move(reply.reply)});
    } else {
      frames[connection->first] +=
          wire::MakeReply(reply.to.sequence, reply.status, reply.reply.body);
    }
  }
  for (auto& [connection, bytes] : frames) connections_.at(connection)->Send(std::move(bytes));
}

void Session::Read(WorkQueue<ReadItem>& queue) {
  while (!queue.stopped()) {
    for (ReadItem& item : queue.Take(1, kNoDeadline)) ExecuteRead(item);
  }
}

void Session::ExecuteRead(ReadItem& item) {
  uint64_t sequence = item.sequence;
  Result<std::string> body = Status(StatusCode::kInternal, "the state owner failed");
  try {
    if (item.payload.empty()) {
      body = reader_.Load(item.load);
    } else {
      pack::Unpacker unpacker(item.payload);
      wire::ReadFrameType(unpacker);
      const wire::RequestHeader header = wire::ReadRequestHeader(unpacker);
      sequence = header.sequence;
      body = reader_.Execute(header.operation, unpacker);
    }
  } catch (const std::exception& failure) {
    body = Status(StatusCode::kInternal, "the state owner failed").WithDetail(failure.what());
  }
  // Interrupted reads get no reply: the client repeats them at the next server.
  if (!body.ok() && stopping_) return;
  item.connection->Send(body.ok() ? wire::MakeReply(sequence, Status::Ok(), *body)
                                  : wire::MakeReply(sequence, body.status(), {}));
  if (!item.payload.empty()) item.connection->Executed(item.payload.size());
}

}  // namespace agent_graph::state
