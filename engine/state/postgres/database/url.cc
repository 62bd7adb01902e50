#include "state/postgres/database/url.h"

#include <string.h>

#include "state/postgres/database/libpq.h"

namespace agent_graph::state::postgres {
namespace {

// libpq quotes the part of the URL that it could not read, which may be the password.
std::string WithoutQuoted(std::string_view text) {
  std::string shown;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (c == '"') continue;
    if (!quoted && c != '\n') shown.push_back(c);
  }
  while (!shown.empty() && (shown.back() == ' ' || shown.back() == ':')) shown.pop_back();
  return shown;
}

}  // namespace

std::string_view ConnectionUrl::Find(std::string_view name) const {
  for (const auto& [parameter, value] : parameters) {
    if (parameter == name) return value;
  }
  return {};
}

std::string ConnectionUrl::Redact(std::string text) const {
  if (password.empty()) return text;
  for (size_t at = text.find(password); at != std::string::npos; at = text.find(password, at + 3)) {
    text.replace(at, password.size(), "***");
  }
  return text;
}

bool IsConnectionUrl(std::string_view text) {
  return text.starts_with("postgresql://") || text.starts_with("postgres://");
}

Result<ConnectionUrl> ParseConnectionUrl(const std::string& url) {
  if (!IsConnectionUrl(url)) return InvalidArgument("must begin with postgresql://");
  if (url.find('\0') != std::string::npos) return InvalidArgument("must not contain a null byte");
  AG_ASSIGN_OR_RETURN(const Libpq* const libpq, LoadLibpq());
  char* error = nullptr;
  PQconninfoOption* const options = libpq->PQconninfoParse(url.c_str(), &error);
  if (options == nullptr) {
    const std::string reason = error == nullptr ? "no memory" : WithoutQuoted(error);
    if (error != nullptr) libpq->PQfreemem(error);
    return InvalidArgument("is not a valid URL: " + reason);
  }
  ConnectionUrl parsed;
  for (const PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
    if (option->val == nullptr) continue;
    parsed.parameters.emplace_back(option->keyword, option->val);
    if (strcmp(option->keyword, "password") == 0) parsed.password = option->val;
  }
  libpq->PQconninfoFree(options);
  // An "@" in a password ends it for libpq, and the rest would appear in messages as the host.
  if (parsed.Find("host").find('@') != std::string_view::npos) {
    return InvalidArgument("is not a valid URL: write an @ of the user or password as %40");
  }
  return parsed;
}

}  // namespace agent_graph::state::postgres
