#include <charconv>

#include "base/percent_encoding.h"
#include "net/redis.h"

namespace agent_graph::net {
namespace {

constexpr int kDatabaseMax = 65535;

Status Invalid(std::string message) {
  return Status(StatusCode::kInvalidArgument, std::move(message));
}

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
    return Invalid("has a broken % escape before the @");
  }
  if (endpoint.password.empty()) return Invalid("has a user without a password");
  return Status::Ok();
}

Status ReadDatabase(std::string_view text, RedisEndpoint& endpoint) {
  if (text.empty()) return Status::Ok();
  if (ReadNumber(text, endpoint.database) && endpoint.database >= 0 &&
      endpoint.database <= kDatabaseMax) {
    return Status::Ok();
  }
  return Invalid("must end in the number of a database");
}

Status ReadHostAndPort(std::string_view text, RedisEndpoint& endpoint) {
  std::string_view port;
  if (text.starts_with('[')) {  // an IPv6 address
    size_t end = text.find(']');
    if (end == std::string_view::npos) return Invalid("has a [ without a ]");
    endpoint.host = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    if (!text.empty() && !text.starts_with(':')) return Invalid("has no : after the ]");
    if (!text.empty()) port = text.substr(1);
  } else {
    size_t colon = text.find(':');
    endpoint.host = text.substr(0, colon);
    if (colon != std::string_view::npos) port = text.substr(colon + 1);
  }
  if (endpoint.host.empty()) return Invalid("names no host");
  if (!port.empty() && (!ReadNumber(port, endpoint.port) || endpoint.port == 0)) {
    return Invalid("has a port that is not one");
  }
  return Status::Ok();
}

Status ReadTcp(std::string_view rest, RedisEndpoint& endpoint) {
  if (rest.find('?') != std::string_view::npos) return Invalid("takes no ? parameters");
  size_t slash = rest.find('/');
  AG_RETURN_IF_ERROR(ReadHostAndPort(rest.substr(0, slash), endpoint));
  if (slash == std::string_view::npos) return Status::Ok();
  return ReadDatabase(rest.substr(slash + 1), endpoint);
}

Status ReadUnix(std::string_view rest, RedisEndpoint& endpoint) {
  size_t question = rest.find('?');
  if (question != std::string_view::npos) {
    std::string_view parameter = rest.substr(question + 1);
    if (!parameter.starts_with("db=")) return Invalid("takes no ? parameter but db");
    AG_RETURN_IF_ERROR(ReadDatabase(parameter.substr(3), endpoint));
  }
  if (!PercentDecode(rest.substr(0, question), endpoint.socket_path)) {
    return Invalid("has a broken % escape in the path");
  }
  if (!endpoint.socket_path.starts_with('/')) return Invalid("needs an absolute path");
  if (endpoint.socket_path.size() > 107) return Invalid("has a path of more than 107 bytes");
  return Status::Ok();
}

}  // namespace

Result<RedisEndpoint> ParseRedisUrl(std::string_view url) {
  if (url.starts_with("rediss://")) {
    return Invalid("asks for TLS, which is not available in this build");
  }
  bool tcp = url.starts_with("redis://");
  if (!tcp && !url.starts_with("unix://")) {
    return Invalid("must start with redis:// or unix://");
  }
  std::string_view rest = url.substr(url.find("://") + 3);
  RedisEndpoint endpoint;
  // A password may hold an @ that nobody escaped: the last one before the host counts.
  size_t at = rest.rfind('@');
  if (at != std::string_view::npos) {
    AG_RETURN_IF_ERROR(ReadCredentials(rest.substr(0, at), endpoint));
    rest.remove_prefix(at + 1);
  }
  AG_RETURN_IF_ERROR(tcp ? ReadTcp(rest, endpoint) : ReadUnix(rest, endpoint));
  return endpoint;
}

}  // namespace agent_graph::net
