// Redis commands from fibers. hiredis encodes and decodes; the sockets belong to the engine
// thread's loop, so a server that hangs delays a call until its deadline and never blocks a thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace agent_graph::net {

// redis://[[user]:password@]host[:port][/database] or unix://[[user]:password@]/path[?db=number];
// both may have the parameter timeout_ms=number.
struct RedisEndpoint {
  std::string host;  // empty: use socket_path
  uint16_t port = 6379;
  std::string socket_path;
  std::string user;
  std::string password;  // never appears in a message
  int database = 0;
  std::optional<std::chrono::milliseconds> timeout;  // for a reply; not set: the caller chooses
};

// Failures do not quote the URL, because it may contain a password.
Result<RedisEndpoint> ParseRedisUrl(std::string_view url);

struct RedisReply {
  enum class Type : uint8_t { kNil, kText, kInteger, kError, kArray };
  Type type = Type::kNil;
  std::string text;  // kText (including a status) and kError
  int64_t integer = 0;
  std::vector<RedisReply> elements;
};

inline constexpr size_t kRedisReplyBytesMax = 1024 * 1024;
inline constexpr size_t kRedisArrayElementsMax = 1024;
inline constexpr size_t kRedisConnectionsMax = 16;  // per engine thread

// How long a call waits: for a free connection, and then for each step of the server. The two are
// separate because waiting for a connection is not the server's fault.
struct RedisTimeouts {
  std::chrono::milliseconds connection{0};
  std::chrono::milliseconds server{0};
};

// Thread-safe. Connections are opened when needed and kept; each belongs to the engine thread that
// opened it. Destroy the client after the runtime has stopped and before its loops are destroyed.
class RedisClient {
 public:
  explicit RedisClient(RedisEndpoint endpoint);
  ~RedisClient();
  RedisClient(const RedisClient&) = delete;
  RedisClient& operator=(const RedisClient&) = delete;

  // Call it on a fiber. kUnavailable: cannot connect, or connection lost (the command may have been
  // executed). kDeadlineExceeded: the server did not reply in time. kResourceExhausted: no
  // connection became free. kDataLoss: not the Redis protocol, or the reply is too large. An error
  // reply of the server is Ok, with type kError. If the server makes a call fail, the calls that
  // wait for a connection fail with it, and no later call uses the connections of before: after a
  // failover they lead to the old server. The same if it replies that it is a replica, or that it
  // loads its data.
  Result<RedisReply> Call(const std::vector<std::string>& arguments, RedisTimeouts timeouts);

 private:
  class Connection;
  class Pool;

  Result<std::shared_ptr<Connection>> Open(std::chrono::milliseconds timeout);
  Status Greet(Connection& connection, std::chrono::milliseconds timeout) const;

  const RedisEndpoint endpoint_;
  const std::unique_ptr<Pool> pool_;
};

}  // namespace agent_graph::net
