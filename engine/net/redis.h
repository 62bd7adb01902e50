// Redis commands from fibers. hiredis encodes and decodes; the sockets are the engine thread's own,
// so that a server that hangs costs one deadline and never a thread.
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
// either may have the parameter timeout_ms=number.
struct RedisEndpoint {
  std::string host;  // empty: a Unix socket
  uint16_t port = 6379;
  std::string socket_path;
  std::string user;
  std::string password;  // never in a message
  int database = 0;
  std::optional<std::chrono::milliseconds> timeout;  // of an answer; unset: the caller decides
};

// Failures do not quote the URL, which may hold a password.
Result<RedisEndpoint> ParseRedisUrl(std::string_view url);

struct RedisReply {
  enum class Type : uint8_t { kNil, kText, kInteger, kError, kArray };
  Type type = Type::kNil;
  std::string text;  // kText (a status, too) and kError
  int64_t integer = 0;
  std::vector<RedisReply> elements;
};

inline constexpr size_t kRedisReplyBytesMax = 1024 * 1024;
inline constexpr size_t kRedisArrayElementsMax = 1024;
inline constexpr size_t kRedisConnectionsMax = 16;  // per engine thread

// How long a call waits: in the queue for a connection, and then for each step of the server. The
// server is not held to account for the crowd before it.
struct RedisPatience {
  std::chrono::milliseconds connection{0};
  std::chrono::milliseconds server{0};
};

// Thread-safe. Connections are made when they are needed and kept; each belongs to the engine
// thread that made it. Destroy it after the runtime stopped and before its loops are gone.
class RedisClient {
 public:
  explicit RedisClient(RedisEndpoint endpoint);
  ~RedisClient();
  RedisClient(const RedisClient&) = delete;
  RedisClient& operator=(const RedisClient&) = delete;

  // On a fiber. kUnavailable: no connection, or lost; the command may have been executed.
  // kDeadlineExceeded: the server did not answer; kResourceExhausted: no connection became free;
  // kDataLoss: not the Redis protocol, or too large a reply. An error reply is a reply. A call that
  // fails for the server's sake takes those along that wait for a connection.
  Result<RedisReply> Call(const std::vector<std::string>& arguments, RedisPatience patience);

 private:
  class Connection;
  class Pool;

  Result<std::shared_ptr<Connection>> Open(std::chrono::milliseconds patience);
  Status Greet(Connection& connection, std::chrono::milliseconds patience) const;

  const RedisEndpoint endpoint_;
  const std::unique_ptr<Pool> pool_;
};

}  // namespace agent_graph::net
