#include <charconv>

#include "base/percent_encoding.h"
#include "net/redis.h"

namespace agent_graph::net {
namespace {

constexpr int kDatabaseMax = 65535;
constexpr int kTimeoutMsMax = 60'000;

template <typename Integer>
bool ReadNumber(std::string_view text, Integer& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

// "user:password" or ":password".
Status ReadCredentials(std::string_view text, RedisEndpoint& endpoint) {
  size_t colon = text.find(':');
  std::string_view user = text.substr(0, colon);
  std::string_view password =
      colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (!PercentDecode(user, endpoint.user) || !PercentDecode(password, endpoint.password)) {
    return InvalidArgument("has a broken % escape before the @");
  }
  if (endpoint.password.empty()) return InvalidArgument("has a user without a password");
  return Status::Ok();
}

Status ReadDatabase(std::string_view text, RedisEndpoint& endpoint) {
  if (text.empty()) return Status::Ok();
  if (ReadNumber(text, endpoint.database) && endpoint.database >= 0 &&
      endpoint.database <= kDatabaseMax) {
    return Status::Ok();
  }
  return InvalidArgument("must end in the number of a database");
}

Status ReadHostAndPort(std::string_view text, RedisEndpoint& endpoint) {
  std::string_view port;
  if (text.starts_with('[')) {  // an IPv6 address
    size_t end = text.find(']');
    if (end == std::string_view::npos) return InvalidArgument("has a [ without a ]");
    endpoint.host = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    if (!text.empty() && !text.starts_with(':')) return InvalidArgument("has no : after the ]");
    if (!text.empty()) port = text.substr(1);
  } else {
    size_t colon = text.find(':');
    endpoint.host = text.substr(0, colon);
    if (colon != std::string_view::npos) port = text.substr(colon + 1);
  }
  if (endpoint.host.empty()) return InvalidArgument("names no host");
  if (!port.empty() && (!ReadNumber(port, endpoint.port) || endpoint.port == 0)) {
    return InvalidArgument("has a port that is not one");
  }
  return Status::Ok();
}

Status ReadTimeout(std::string_view text, RedisEndpoint& endpoint) {
  int milliseconds = 0;
  if (!ReadNumber(text, milliseconds) || milliseconds < 1 || milliseconds > kTimeoutMsMax) {
    return InvalidArgument("has a timeout_ms that is not from 1 to 60000");
  }
  endpoint.timeout = std::chrono::milliseconds(milliseconds);
  return Status::Ok();
}

// The parameters after the "?", separated by "&".
Status ReadParameters(std::string_view text, RedisEndpoint& endpoint) {
  const bool takes_db = endpoint.host.empty();
  for (;;) {
    const size_t end = text.find('&');
    const std::string_view parameter = text.substr(0, end);
    if (parameter.starts_with("timeout_ms=")) {
      AG_RETURN_IF_ERROR(ReadTimeout(parameter.substr(parameter.find('=') + 1), endpoint));
    } else if (takes_db && parameter.starts_with("db=")) {
      AG_RETURN_IF_ERROR(ReadDatabase(parameter.substr(3), endpoint));
    } else {
      return InvalidArgument(takes_db ? "takes no ? parameter but db and timeout_ms"
                                      : "takes no ? parameter but timeout_ms");
    }
    if (end == std::string_view::npos) return Status::Ok();
    text.remove_prefix(end + 1);
  }
}

Status ReadTcp(std::string_view rest, RedisEndpoint& endpoint) {
  size_t slash = rest.find('/');
  AG_RETURN_IF_ERROR(ReadHostAndPort(rest.substr(0, slash), endpoint));
  if (slash == std::string_view::npos) return Status::Ok();
  return ReadDatabase(rest.substr(slash + 1), endpoint);
}

Status ReadUnix(std::string_view path, RedisEndpoint& endpoint) {
  if (!PercentDecode(path, endpoint.socket_path)) {
    return InvalidArgument("has a broken % escape in the path");
  }
  if (!endpoint.socket_path.starts_with('/')) return InvalidArgument("needs an absolute path");
  if (endpoint.socket_path.size() > 107)
    return InvalidArgument("has a path of more than 107 bytes");
  return Status::Ok();
}

}  // namespace

Result<RedisEndpoint> ParseRedisUrl(std::string_view url) {
  if (url.starts_with("rediss://")) {
    return InvalidArgument("asks for TLS, which is not available in this build");
  }
  bool tcp = url.starts_with("redis://");
  if (!tcp && !url.starts_with("unix://")) {
    return InvalidArgument("must start with redis:// or unix://");
  }
  std::string_view rest = url.substr(url.find("://") + 3);
  RedisEndpoint endpoint;
  // The password may contain an @ that is not escaped: the last @ before the host separates.
  size_t at = rest.rfind('@');
  if (at != std::string_view::npos) {
    AG_RETURN_IF_ERROR(ReadCredentials(rest.substr(0, at), endpoint));
    rest.remove_prefix(at + 1);
  }
  const size_t question = rest.find('?');
  const std::string_view place = rest.substr(0, question);
  AG_RETURN_IF_ERROR(tcp ? ReadTcp(place, endpoint) : ReadUnix(place, endpoint));
  if (question != std::string_view::npos) {
    AG_RETURN_IF_ERROR(ReadParameters(rest.substr(question + 1), endpoint));
  }
  return endpoint;
}

}  // namespace agent_graph::net
