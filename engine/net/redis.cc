#include "net/redis.h"

#include <hiredis/hiredis.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/runtime.h"
#include "runtime/signal.h"

namespace agent_graph::net {
namespace {

using boost::system::error_code;
using StreamEndpoint = boost::asio::generic::stream_protocol::endpoint;

constexpr size_t kReadBytes = 16 * 1024;

Status Unavailable(const std::string& detail) {
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

// hiredis believes any element count and allocates for it.
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

struct Resolution {
  std::vector<StreamEndpoint> endpoints;
  std::string failure;
};

Resolution Resolve(const RedisEndpoint& endpoint) {
  Resolution resolution;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  int error =
      getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
  if (error != 0) {
    resolution.failure = gai_strerror(error);
    return resolution;
  }
  for (addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    resolution.endpoints.emplace_back(entry->ai_addr, entry->ai_addrlen, entry->ai_protocol);
  }
  freeaddrinfo(found);
  return resolution;
}

// A name server may take its time: a fiber of its own waits for it, this one for its deadline.
Result<std::vector<StreamEndpoint>> Addresses(const RedisEndpoint& endpoint, Deadline deadline) {
  if (endpoint.host.empty()) {
    boost::asio::local::stream_protocol::endpoint local(endpoint.socket_path);
    return std::vector{StreamEndpoint(local)};
  }
  runtime::Runtime* runtime = runtime::Runtime::Current();
  runtime::Promise<Resolution> promise;
  runtime->Spawn(
      [runtime, endpoint, promise] {
        Resolution resolution;
        runtime->RunOnIoPool([&] { resolution = Resolve(endpoint); });
        promise.Set(std::move(resolution));
      },
      true);
  AG_ASSIGN_OR_RETURN(Resolution resolution, promise.Wait(nullptr, deadline));
  if (resolution.endpoints.empty()) return Unavailable(resolution.failure);
  return std::move(resolution.endpoints);
}

}  // namespace

// One command at a time. Handlers hold the connection, so that bytes they may still touch outlive a
// fiber that gave up.
class RedisClient::Connection : public std::enable_shared_from_this<RedisClient::Connection> {
 public:
  explicit Connection(boost::asio::io_context& loop)
      : socket_(loop), reader_(redisReaderCreateWithFunctions(BoundedFunctions())) {}
  ~Connection() { redisReaderFree(reader_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Status Connect(const std::vector<StreamEndpoint>& endpoints, Deadline deadline) {
    Status status = Unavailable("no address");
    for (const StreamEndpoint& endpoint : endpoints) {
      error_code ignored;
      socket_.close(ignored);
      status = Wait(deadline, [&](auto done) {
                 socket_.async_connect(endpoint, [done](error_code error) { done(error, 0); });
               }).status();
      if (status.ok() || status.code() == StatusCode::kDeadlineExceeded) return status;
    }
    return status;
  }

  Result<RedisReply> Call(const std::vector<std::string>& arguments, Deadline deadline) {
    command_ = Encode(arguments);
    if (command_.empty()) return Unavailable("the command cannot be encoded");
    AG_RETURN_IF_ERROR(Wait(deadline, [&](auto done) {
                         boost::asio::async_write(socket_, boost::asio::buffer(command_), done);
                       }).status());
    return ReadReply(deadline);
  }

  // False when the server has closed it, or said something that nobody asked for.
  bool Usable() {
    if (!socket_.is_open()) return false;
    char byte;
    ssize_t got = recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }

 private:
  // Starts an operation and waits for its end. Past the deadline the socket is closed.
  template <typename Start>
  Result<size_t> Wait(Deadline deadline, Start start) {
    runtime::Promise<std::pair<error_code, size_t>> promise;
    start([self = shared_from_this(), promise](error_code error, size_t bytes) {
      promise.Set({error, bytes});
    });
    auto result = promise.Wait(nullptr, deadline);
    if (!result.ok()) {
      error_code ignored;
      socket_.close(ignored);
      return result.status();
    }
    if (result->first) return Unavailable(result->first.message());
    return result->second;
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
      AG_ASSIGN_OR_RETURN(size_t bytes, Wait(deadline, [&](auto done) {
                            socket_.async_read_some(boost::asio::buffer(bytes_), done);
                          }));
      total += bytes;
      if (total > kRedisReplyBytesMax) {
        return Status(StatusCode::kResourceExhausted, "Redis sent too large a reply");
      }
      if (redisReaderFeed(reader_, bytes_.data(), bytes) != REDIS_OK) return NotRedis();
    }
  }

  Status NotRedis() const {
    Status status(StatusCode::kDataLoss, "Redis sent something that is not its protocol");
    return status.WithDetail(reader_->errstr);
  }

  boost::asio::generic::stream_protocol::socket socket_;
  redisReader* const reader_;
  std::string command_;
  std::array<char, kReadBytes> bytes_;
};

// Per event loop: idle connections, and how many there are in all.
class RedisClient::Pool {
 public:
  using Loop = boost::asio::io_context*;

  // An idle connection; null when a new one may be opened; kResourceExhausted at the bound.
  Result<std::shared_ptr<Connection>> Take(Loop loop) {
    std::lock_guard lock(mutex_);
    Entry& entry = entries_[loop];
    while (!entry.idle.empty()) {
      std::shared_ptr<Connection> connection = std::move(entry.idle.back());
      entry.idle.pop_back();
      if (connection->Usable()) return connection;
      --entry.count;
    }
    if (entry.count >= kRedisConnectionsMax) {
      return Status(StatusCode::kResourceExhausted, "all connections to Redis are busy");
    }
    ++entry.count;
    return std::shared_ptr<Connection>();
  }

  void GiveBack(Loop loop, std::shared_ptr<Connection> connection) {
    std::lock_guard lock(mutex_);
    entries_[loop].idle.push_back(std::move(connection));
  }

  void Drop(Loop loop) {
    std::lock_guard lock(mutex_);
    --entries_[loop].count;
  }

 private:
  struct Entry {
    std::vector<std::shared_ptr<Connection>> idle;
    size_t count = 0;
  };
  std::mutex mutex_;
  std::map<Loop, Entry> entries_;  // guarded by mutex_
};

RedisClient::RedisClient(RedisEndpoint endpoint)
    : endpoint_(std::move(endpoint)), pool_(std::make_unique<Pool>()) {}
RedisClient::~RedisClient() = default;

Result<RedisReply> RedisClient::Call(const std::vector<std::string>& arguments, Deadline deadline) {
  boost::asio::io_context* loop = runtime::Runtime::CurrentLoop();
  if (loop == nullptr) return Unavailable("asked outside of an engine thread");
  AG_ASSIGN_OR_RETURN(std::shared_ptr<Connection> connection, pool_->Take(loop));
  if (connection == nullptr) {
    auto opened = Open(deadline);
    if (!opened.ok()) {
      pool_->Drop(loop);
      return opened.status();
    }
    connection = *std::move(opened);
  }
  Result<RedisReply> reply = connection->Call(arguments, deadline);
  if (reply.ok()) {
    pool_->GiveBack(loop, std::move(connection));
  } else {
    pool_->Drop(loop);
  }
  return reply;
}

Result<std::shared_ptr<RedisClient::Connection>> RedisClient::Open(Deadline deadline) {
  AG_ASSIGN_OR_RETURN(std::vector<StreamEndpoint> endpoints, Addresses(endpoint_, deadline));
  auto connection = std::make_shared<Connection>(*runtime::Runtime::CurrentLoop());
  AG_RETURN_IF_ERROR(connection->Connect(endpoints, deadline));
  AG_RETURN_IF_ERROR(Greet(*connection, deadline));
  return connection;
}

Status RedisClient::Greet(Connection& connection, Deadline deadline) const {
  auto call = [&](const std::vector<std::string>& arguments) -> Status {
    AG_ASSIGN_OR_RETURN(RedisReply reply, connection.Call(arguments, deadline));
    if (reply.type == RedisReply::Type::kText) return Status::Ok();
    return Unavailable(arguments[0] + " was refused: " + reply.text);
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
