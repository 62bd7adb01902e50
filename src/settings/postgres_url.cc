#include "settings/postgres_url.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string>

#include "base/errno_text.h"
#include "base/percent_encoding.h"
#include "settings/url.h"

namespace agent_graph::settings {
namespace {

// The parameters of libpq 14 to 18, except those that read the connection from elsewhere (service,
// servicefile): the URL is the only place that configures it.
constexpr std::array<std::string_view, 44> kPostgresParameters = {
    "application_name",
    "channel_binding",
    "client_encoding",
    "connect_timeout",
    "dbname",
    "fallback_application_name",
    "gssdelegation",
    "gssencmode",
    "gsslib",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "krbsrvname",
    "load_balance_hosts",
    "max_protocol_version",
    "min_protocol_version",
    "options",
    "passfile",
    "password",
    "port",
    "replication",
    "require_auth",
    "requirepeer",
    "scram_client_key",
    "scram_server_key",
    "ssl",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "sslcert",
    "sslcertmode",
    "sslcompression",
    "sslcrl",
    "sslcrldir",
    "sslkey",
    "sslmode",
    "sslnegotiation",
    "sslpassword",
    "sslrootcert",
    "sslsni",
    "target_session_attrs",
    "tcp_user_timeout",
};
constexpr std::array<std::string_view, 6> kSslModes = {"disable", "allow",     "prefer",
                                                       "require", "verify-ca", "verify-full"};
constexpr std::array<std::string_view, 5> kPostgresFiles = {"sslrootcert", "sslcert", "sslkey",
                                                            "sslcrl", "passfile"};

Status EncodingFault() {
  return InvalidArgument(
      "must have @ / : ? # and % in the user, the password and the database written as %40 %2F %3A "
      "%3F %23 and %25");
}

bool IsPostgresPort(std::string_view text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port >= 1 && port <= 65535;
}

// Checks one host[:port] or [address][:port]; an empty one stands for libpq's default.
Status CheckPostgresHost(std::string_view host) {
  std::string_view rest = host;
  if (host.starts_with('[')) {
    const size_t close = host.find(']');
    if (close == std::string_view::npos)
      return InvalidArgument("must have a ] after an IPv6 address");
    rest = host.substr(close + 1);
    if (!rest.empty() && rest[0] != ':') return EncodingFault();
  }
  const size_t colon = rest.find(':');
  if (colon == std::string_view::npos) return Status::Ok();
  const std::string_view port = rest.substr(colon + 1);
  if (IsPostgresPort(port)) return Status::Ok();
  if (!port.empty() && std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; })) {
    return InvalidArgument("must have a port from 1 to 65535");
  }
  // Usually a password with an @ or a / in it.
  return EncodingFault();
}

Status CheckPostgresHosts(std::string_view hosts) {
  for (;;) {
    const size_t comma = hosts.find(',');
    AG_RETURN_IF_ERROR(CheckPostgresHost(hosts.substr(0, comma)));
    if (comma == std::string_view::npos) return Status::Ok();
    hosts.remove_prefix(comma + 1);
  }
}

Status CheckPostgresParameter(std::string_view name, const std::string& value) {
  if (std::ranges::count(kPostgresParameters, name) == 0) {
    return InvalidArgument(
        "has a parameter that PostgreSQL's URLs do not have; usual ones are sslmode, sslrootcert, "
        "connect_timeout, target_session_attrs and options");
  }
  if (name == "sslmode" && std::ranges::count(kSslModes, value) == 0) {
    return InvalidArgument(
        "sslmode is not one of disable, allow, prefer, require, verify-ca, verify-full");
  }
  if (name == "port" && !IsPostgresPort(value))
    return InvalidArgument("port must be from 1 to 65535");
  // libpq 16 and newer: "system" means the certificates of the machine.
  if (std::ranges::count(kPostgresFiles, name) == 0 || value.empty() || value == "system") {
    return Status::Ok();
  }
  if (access(value.c_str(), R_OK) == 0) return Status::Ok();
  return InvalidArgument(std::string(name) + ": cannot read " + value + ": " + ErrnoText(errno));
}

// Sets `names_database` if one of the parameters does.
Status CheckPostgresParameters(std::string_view parameters, bool& names_database) {
  while (!parameters.empty()) {
    const size_t end = std::min(parameters.find('&'), parameters.size());
    const std::string_view pair = parameters.substr(0, end);
    parameters.remove_prefix(std::min(end + 1, parameters.size()));
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos) {
      return InvalidArgument("must have name=value after the ?, joined by &");
    }
    std::string value;
    if (!PercentDecode(pair.substr(equals + 1), value)) return EncodingFault();
    AG_RETURN_IF_ERROR(CheckPostgresParameter(pair.substr(0, equals), value));
    if (pair.starts_with("dbname=") && !value.empty()) names_database = true;
  }
  return Status::Ok();
}

}  // namespace

Status CheckPostgresUrl(std::string_view url) {
  std::string_view rest = url;
  if (url.starts_with("postgresql://")) {
    rest.remove_prefix(13);
  } else if (url.starts_with("postgres://")) {
    rest.remove_prefix(11);
  } else {
    return InvalidArgument(
        "must start with postgresql:// or postgres://, such as "
        "postgresql://user:${PASSWORD}@host:5432/database");
  }
  if (HasBlankOrControlCharacter(rest)) {
    return InvalidArgument("must not contain blanks or control characters");
  }
  std::string decoded;
  if (!PercentDecode(rest, decoded) || rest.find('#') != std::string_view::npos) {
    return EncodingFault();
  }
  bool names_database = false;
  const size_t query = rest.find('?');
  if (query != std::string_view::npos) {
    if (rest.find('@', query) != std::string_view::npos) return EncodingFault();
    AG_RETURN_IF_ERROR(CheckPostgresParameters(rest.substr(query + 1), names_database));
    rest = rest.substr(0, query);
  }
  const size_t slash = rest.find('/');
  std::string_view place = rest.substr(0, slash);
  const std::string_view path =
      slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
  if (path.find_first_of("/@") != std::string_view::npos) return EncodingFault();
  if (const size_t at = place.rfind('@'); at != std::string_view::npos) {
    if (std::ranges::count(place, '@') > 1) return EncodingFault();
    place.remove_prefix(at + 1);
  }
  AG_RETURN_IF_ERROR(CheckPostgresHosts(place));
  if (!path.empty() || names_database) return Status::Ok();
  return InvalidArgument("must name a database after the host: postgresql://host/database");
}

}  // namespace agent_graph::settings
