#include "net/redis.h"

#include <hiredis/hiredis.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <atomic>
#include <boost/asio/connect.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <cstring>
#include <list>
#include <map>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "net/resolve.h"
#include "runtime/runtime.h"
#include "runtime/signal.h"

namespace agent_graph::net {
namespace {

using boost::system::error_code;

constexpr size_t kReadBytes = 16 * 1024;
// Extra time when the data has already arrived but this thread was too busy to read it.
constexpr std::chrono::seconds kOwnDelayMax{10};
constexpr std::chrono::seconds kResolveMax{1};

Status NoRedis(const std::string& detail) {
  Status status(StatusCode::kUnavailable, "Redis does not answer");
  return status.WithDetail(detail);
}

RedisReply Convert(const redisReply& reply) {
  RedisReply out;
  switch (reply.type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
      out.type = RedisReply::Type::kText;
      out.text.assign(reply.str, reply.len);
      break;
    case REDIS_REPLY_ERROR:
      out.type = RedisReply::Type::kError;
      out.text.assign(reply.str, reply.len);
      break;
    case REDIS_REPLY_INTEGER:
      out.type = RedisReply::Type::kInteger;
      out.integer = reply.integer;
      break;
    case REDIS_REPLY_ARRAY:
      out.type = RedisReply::Type::kArray;
      for (size_t i = 0; i < reply.elements; ++i) {
        if (reply.element[i] != nullptr) out.elements.push_back(Convert(*reply.element[i]));
      }
      break;
    default:
      break;
  }
  return out;
}

// The failure in an error reply of a server that is not, or not yet, the one to be asked; Ok for
// other replies. Before Redis 7, scripts quote the error of their command.
Status WrongServer(const RedisReply& reply) {
  if (reply.type != RedisReply::Type::kError) return Status::Ok();
  for (const std::string_view error : {"READONLY ", "LOADING ", "MASTERDOWN "}) {
    if (reply.text.find(error) != std::string::npos) return NoRedis(reply.text);
  }
  return Status::Ok();
}

// hiredis trusts any element count and allocates memory for it.
redisReplyObjectFunctions* BoundedFunctions() {
  static const redisReplyObjectFunctions* const kOriginal = [] {
    redisReader* reader = redisReaderCreate();
    const redisReplyObjectFunctions* functions = reader->fn;
    redisReaderFree(reader);
    return functions;
  }();
  static redisReplyObjectFunctions bounded = [] {
    redisReplyObjectFunctions functions = *kOriginal;
    functions.createArray = [](const redisReadTask* task, int elements) -> void* {
      if (elements < 0 || static_cast<size_t>(elements) > kRedisArrayElementsMax) return nullptr;
      return kOriginal->createArray(task, elements);
    };
    return functions;
  }();
  return &bounded;
}

std::string Encode(const std::vector<std::string>& arguments) {
  std::vector<const char*> texts;
  std::vector<size_t> lengths;
  for (const std::string& argument : arguments) {
    texts.push_back(argument.data());
    lengths.push_back(argument.size());
  }
  char* bytes = nullptr;
  int length =
      redisFormatCommandArgv(&bytes, static_cast<int>(texts.size()), texts.data(), lengths.data());
  if (length <= 0) return {};
  std::string command(bytes, static_cast<size_t>(length));
  redisFreeCommand(bytes);
  return command;
}

Result<std::vector<StreamEndpoint>> Addresses(const RedisEndpoint& endpoint) {
  if (endpoint.host.empty()) {
    boost::asio::local::stream_protocol::endpoint local(endpoint.socket_path);
    return std::vector{StreamEndpoint(local)};
  }
  // A name server may be slow: the fiber waits at most kResolveMax.
  Result<std::vector<StreamEndpoint>> addresses =
      Resolve(endpoint.host, std::to_string(endpoint.port), nullptr, DeadlineAfter(kResolveMax));
  if (addresses.status().code() == StatusCode::kNotFound) {
    return NoRedis(addresses.status().detail());
  }
  return addresses;
}

}  // namespace

// One command at a time. Handlers hold a reference to the connection, so that the buffers they may
// still use outlive a fiber that gave up.
class RedisClient::Connection : public std::enable_shared_from_this<RedisClient::Connection> {
 public:
  Connection(boost::asio::io_context& loop, uint64_t age)
      : age_(age), socket_(loop), reader_(redisReaderCreateWithFunctions(BoundedFunctions())) {}
  ~Connection() { redisReaderFree(reader_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Status Connect(const std::vector<StreamEndpoint>& endpoints, std::chrono::milliseconds timeout) {
    Status status = NoRedis("no address");
    for (const StreamEndpoint& endpoint : endpoints) {
      error_code ignored;
      socket_.close(ignored);
      status = Wait(POLLOUT, DeadlineAfter(timeout), [&](const auto& done) {
                 socket_.async_connect(endpoint, [done](error_code error) { done(error, 0); });
               }).status();
      if (status.ok() || status.code() == StatusCode::kDeadlineExceeded) return status;
    }
    return status;
  }

  uint64_t age() const { return age_; }  // see Pool::age

  // The server's time limit starts again when the command has been sent.
  Result<RedisReply> Call(const std::vector<std::string>& arguments,
                          std::chrono::milliseconds timeout) {
    command_ = Encode(arguments);
    if (command_.empty()) return NoRedis("the command cannot be encoded");
    AG_RETURN_IF_ERROR(Wait(POLLOUT, DeadlineAfter(timeout), [&](auto done) {
                         boost::asio::async_write(socket_, boost::asio::buffer(command_), done);
                       }).status());
    return ReadReply(DeadlineAfter(timeout));
  }

  // False if the server has closed the connection or sent unexpected data.
  bool Usable() {
    if (!socket_.is_open()) return false;
    char byte;
    ssize_t got = recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }

 private:
  // Starts an operation that needs `event` of the socket and waits for its end. Closes the socket
  // at the deadline.
  template <typename Start>
  Result<size_t> Wait(short event, Deadline deadline, Start start) {
    runtime::Promise<std::pair<error_code, size_t>> promise;
    start([self = shared_from_this(), promise](error_code error, size_t bytes) {
      promise.Set({error, bytes});
    });
    auto result = promise.Wait(nullptr, deadline);
    if (!result.ok() && Has(event)) result = promise.Wait(nullptr, DeadlineAfter(kOwnDelayMax));
    if (!result.ok()) {
      error_code ignored;
      socket_.close(ignored);
      return result.status();
    }
    if (result->first) return NoRedis(result->first.message());
    return result->second;
  }

  bool Has(short event) {
    pollfd socket{socket_.native_handle(), event, 0};
    return poll(&socket, 1, 0) == 1;
  }

  Result<RedisReply> ReadReply(Deadline deadline) {
    for (size_t total = 0;;) {
      void* reply = nullptr;
      if (redisReaderGetReply(reader_, &reply) != REDIS_OK) return NotRedis();
      if (reply != nullptr) {
        std::unique_ptr<redisReply, void (*)(void*)> owned(static_cast<redisReply*>(reply),
                                                           freeReplyObject);
        return Convert(*owned);
      }
      AG_ASSIGN_OR_RETURN(size_t bytes, Wait(POLLIN, deadline, [&](auto done) {
                            socket_.async_read_some(boost::asio::buffer(bytes_), done);
                          }));
      total += bytes;
      if (total > kRedisReplyBytesMax) {
        return Status(StatusCode::kDataLoss, "Redis sent too large a reply");
      }
      if (redisReaderFeed(reader_, bytes_.data(), bytes) != REDIS_OK) return NotRedis();
    }
  }

  Status NotRedis() const {
    Status status(StatusCode::kDataLoss, "Redis sent something that is not its protocol");
    return status.WithDetail(reader_->errstr);
  }

  const uint64_t age_;
  boost::asio::generic::stream_protocol::socket socket_;
  redisReader* const reader_;
  std::string command_;
  std::array<char, kReadBytes> bytes_;
};

// Per event loop: idle connections, the number of all connections, and the calls that wait for one.
// Only fibers on the loop's thread use its entry.
class RedisClient::Pool {
 public:
  using Loop = boost::asio::io_context*;

  // Grows when a connection fails. The others of its age are not used any more, on any loop: after
  // a failover all of them lead to the old server, and each would fail only when it is used.
  uint64_t age() const { return age_; }

  // Returns a connection, or null if the caller may open a new one. kResourceExhausted: none became
  // free until `deadline`. Any other failure: the server made another call fail meanwhile.
  Result<std::shared_ptr<Connection>> Take(Loop loop, Deadline deadline) {
    Entry& entry = EntryOf(loop);
    while (!entry.idle.empty()) {
      std::shared_ptr<Connection> connection = std::move(entry.idle.back());
      entry.idle.pop_back();
      if (IsUsable(*connection)) return connection;
      --entry.count;
    }
    if (entry.count < kRedisConnectionsMax) {
      ++entry.count;
      return std::shared_ptr<Connection>();
    }
    AG_ASSIGN_OR_RETURN(std::shared_ptr<Connection> connection, WaitForOne(entry, deadline));
    // The server may close a connection after its reply; then its slot is free for a new one.
    if (!IsUsable(*connection)) connection.reset();
    return connection;
  }

  void GiveBack(Loop loop, std::shared_ptr<Connection> connection) {
    Entry& entry = EntryOf(loop);
    if (entry.waiters.empty()) return entry.idle.push_back(std::move(connection));
    const Turn turn = std::move(entry.waiters.front());
    entry.waiters.pop_front();
    turn.Set(std::move(connection));
  }

  // `failed`: the connection; null: none could be opened.
  void Drop(Loop loop, const Connection* failed, const Status& reason) {
    if (failed != nullptr) {
      uint64_t age = failed->age();
      age_.compare_exchange_strong(age, age + 1);
    }
    Entry& entry = EntryOf(loop);
    --entry.count;
    const std::list<Turn> waiters = std::exchange(entry.waiters, {});
    for (const Turn& turn : waiters) turn.Set(reason);
  }

 private:
  using Turn = runtime::Promise<Result<std::shared_ptr<Connection>>>;

  struct Entry {
    std::vector<std::shared_ptr<Connection>> idle;
    size_t count = 0;
    std::list<Turn> waiters;
  };

  bool IsUsable(Connection& connection) const {
    return connection.age() == age_ && connection.Usable();
  }

  Entry& EntryOf(Loop loop) {
    MutexLock lock(mutex_);
    return entries_[loop];
  }

  static Result<std::shared_ptr<Connection>> WaitForOne(Entry& entry, Deadline deadline) {
    const Turn turn;
    const auto place = entry.waiters.insert(entry.waiters.end(), turn);
    auto taken = turn.Wait(nullptr, deadline);
    if (taken.ok()) return *std::move(taken);
    entry.waiters.erase(place);
    return Status(StatusCode::kResourceExhausted, "all connections to Redis are busy");
  }

  std::atomic<uint64_t> age_{0};
  Mutex mutex_;
  // An entry belongs to the fibers of its loop.
  std::map<Loop, Entry> entries_ AG_GUARDED_BY(mutex_);
};

RedisClient::RedisClient(RedisEndpoint endpoint)
    : endpoint_(std::move(endpoint)), pool_(std::make_unique<Pool>()) {}
RedisClient::~RedisClient() = default;

Result<RedisReply> RedisClient::Call(const std::vector<std::string>& arguments,
                                     RedisTimeouts timeouts) {
  boost::asio::io_context* loop = runtime::Runtime::CurrentLoop();
  if (loop == nullptr) return NoRedis("asked outside of an engine thread");
  AG_ASSIGN_OR_RETURN(std::shared_ptr<Connection> connection,
                      pool_->Take(loop, DeadlineAfter(timeouts.connection)));
  if (connection == nullptr) {
    auto opened = Open(timeouts.server);
    if (!opened.ok()) {
      pool_->Drop(loop, nullptr, opened.status());
      return opened.status();
    }
    connection = *std::move(opened);
  }
  Result<RedisReply> reply = connection->Call(arguments, timeouts.server);
  const Status failure = reply.ok() ? WrongServer(*reply) : reply.status();
  if (failure.ok()) {
    pool_->GiveBack(loop, std::move(connection));
  } else {
    pool_->Drop(loop, connection.get(), failure);
  }
  return reply;
}

Result<std::shared_ptr<RedisClient::Connection>> RedisClient::Open(
    std::chrono::milliseconds timeout) {
  // Before the lookup: a failure from now on may be that of an old address.
  const uint64_t age = pool_->age();
  AG_ASSIGN_OR_RETURN(std::vector<StreamEndpoint> endpoints, Addresses(endpoint_));
  auto connection = std::make_shared<Connection>(*runtime::Runtime::CurrentLoop(), age);
  AG_RETURN_IF_ERROR(connection->Connect(endpoints, timeout));
  AG_RETURN_IF_ERROR(Greet(*connection, timeout));
  return connection;
}

Status RedisClient::Greet(Connection& connection, std::chrono::milliseconds timeout) const {
  auto call = [&](const std::vector<std::string>& arguments) -> Status {
    AG_ASSIGN_OR_RETURN(RedisReply reply, connection.Call(arguments, timeout));
    if (reply.type == RedisReply::Type::kText) return Status::Ok();
    return NoRedis(arguments[0] + " was refused: " + reply.text);
  };
  if (!endpoint_.password.empty()) {
    std::vector<std::string> arguments = {"AUTH"};
    if (!endpoint_.user.empty()) arguments.push_back(endpoint_.user);
    arguments.push_back(endpoint_.password);
    AG_RETURN_IF_ERROR(call(arguments));
  }
  if (endpoint_.database == 0) return Status::Ok();
  return call({"SELECT", std::to_string(endpoint_.database)});
}

}  // namespace agent_graph::net
