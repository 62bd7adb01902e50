#include "settings/settings.h"

#include <algorithm>
#include <array>

#include "agent_graph/json.h"
#include "base/configuration_json.h"
#include "base/json.h"
#include "net/proxies.h"
#include "settings/access.h"
#include "settings/environment.h"
#include "settings/facades.h"
#include "settings/media.h"
#include "settings/observability.h"
#include "settings/rate_limit.h"
#include "settings/schema.h"
#include "settings/token_limit.h"
#include "settings/url.h"
#include "settings/value.h"
#include "settings/websocket.h"

namespace agent_graph::settings {
namespace {

Status MergeEnvironment(const json& document, Settings& settings) {
  auto entry = document.find("env");
  if (entry == document.end() || entry->is_null()) return Status::Ok();
  std::string path;
  AG_RETURN_IF_ERROR(Value(*entry, "env", settings.environment).ReadString(path));
  if (path.empty()) return InvalidArgument("env: must name a file");
  if (path[0] != '/') path = settings.directory + "/" + path;
  Status merged = MergeEnvironmentFile(path, settings.environment);
  if (!merged.ok()) return InvalidArgument("env: " + merged.message());
  return merged;
}

Status ReadMode(Settings& settings) {
  auto mode = settings.environment.find("MODE");
  if (mode == settings.environment.end() || mode->second == "development") return Status::Ok();
  if (mode->second != "production") {
    return InvalidArgument("MODE: " + DumpJson(mode->second) +
                           " is not one of production, development");
  }
  settings.mode = Mode::kProduction;
  return Status::Ok();
}

Status CheckProxies(const Settings& settings) {
  for (const std::string_view name : net::kProxyVariables) {
    auto proxy = settings.environment.find(name);
    if (proxy == settings.environment.end() || proxy->second.empty()) continue;
    const Status usable = CheckProxy(proxy->second);
    if (!usable.ok()) return InvalidArgument(std::string(name) + ": " + usable.message());
  }
  return Status::Ok();
}

}  // namespace

Result<Settings> Load(const std::string& file, std::string_view text,
                      const Environment& environment) {
  Settings settings;
  settings.file = file;
  settings.directory = file.substr(0, std::min(file.rfind('/'), file.size()));
  settings.environment = environment;
  Result<json> document = ParseConfigurationJson(text);
  if (!document.ok()) return document.status();
  if (!document->is_object()) return InvalidArgument("must be a JSON object");
  AG_RETURN_IF_ERROR(MergeEnvironment(*document, settings));
  AG_RETURN_IF_ERROR(ReadMode(settings));
  AG_RETURN_IF_ERROR(CheckProxies(settings));
  ApplyModeToAccess(settings);
  ApplyModeToFacades(settings);
  settings.evaluation.reports_directory = settings.directory + "/eval_reports";
  AG_RETURN_IF_ERROR(ReadMediaVariables(settings));
  AG_RETURN_IF_ERROR(ApplyEnvironmentToObservability(settings));
  AG_RETURN_IF_ERROR(ReadDocument(Value(*document, "", settings.environment), settings));
  AG_RETURN_IF_ERROR(FinishRateLimit(settings));
  AG_RETURN_IF_ERROR(FinishTokenLimit(settings));
  AG_RETURN_IF_ERROR(FinishWebSocket(settings));
  CompleteAccess(settings);
  WarnAboutAccess(settings);
  AG_RETURN_IF_ERROR(CompleteMedia(settings));
  return settings;
}

}  // namespace agent_graph::settings
