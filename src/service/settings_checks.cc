#include "service/settings_checks.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "agent_graph/json.h"
#include "api/routes.h"
#include "base/errno_text.h"
#include "base/file_descriptor.h"
#include "base/json.h"
#include "state/postgres/database/url.h"

namespace agent_graph::service {
namespace {

constexpr std::array kCertificateVariables = {"CURL_CA_BUNDLE", "SSL_CERT_FILE"};

bool IsRequired(const std::string& scope) {
  return scope == "*" || std::ranges::any_of(api::Routes(), [&](const api::Route& route) {
           return scope == auth::ScopeOf(route.permission);
         });
}

void AppendUnused(const std::string& key, const std::vector<std::string>& scopes,
                  std::vector<std::string>& lines) {
  for (const std::string& scope : scopes) {
    if (IsRequired(scope)) continue;
    lines.push_back("authorization." + key + ": no route requires the scope " + DumpJson(scope));
  }
}

}  // namespace

std::vector<std::string> UnusedScopes(const settings::Settings& settings) {
  std::vector<std::string> lines;
  for (const auto& [role, scopes] : settings.authorization.roles) {
    AppendUnused("roles." + role, scopes, lines);
  }
  AppendUnused("default_scopes", settings.authorization.default_scopes, lines);
  return lines;
}

Status CheckTrustedCertificates(const settings::Settings& settings) {
  for (const char* name : kCertificateVariables) {
    const auto file = settings.environment.find(name);
    if (file == settings.environment.end() || file->second.empty()) continue;
    const FileDescriptor opened(open(file->second.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status{};
    const bool usable = opened && fstat(opened.get(), &status) == 0 && S_ISREG(status.st_mode);
    if (usable) return Status::Ok();
    return Status(StatusCode::kInvalidArgument,
                  std::string(name) + ": cannot read " + file->second + ": " +
                      (opened ? "it is not a file" : ErrnoText(errno)));
  }
  return Status::Ok();
}

Status CheckDatabase(const settings::Settings& settings) {
  using Type = settings::CheckpointerSettings::Type;
  if (settings.checkpointer.type != Type::kPostgres) return Status::Ok();
  const Status usable = state::postgres::ParseConnectionUrl(settings.checkpointer.url).status();
  return usable.ok() ? usable : InvalidArgument("checkpointer.url: " + usable.message());
}

}  // namespace agent_graph::service
