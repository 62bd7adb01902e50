// The keys that say who may do what: `auth`, `authorization` and `redis`.
#pragma once

#include "base/status.h"
#include "settings/settings.h"
#include "settings/value.h"

namespace agent_graph::settings {

Status ReadAuthentication(const Value& value, Settings& settings);
Status ReadAuthorization(const Value& value, Settings& settings);
Status ReadRedis(const Value& value, Settings& settings);
// A URL, or {"url": …, "prefix": …}.
Status ReadRedisBlock(const Value& value, RedisSettings& redis);

// What absent keys mean: owners are kept apart in production, REDIS_URL names the shared cache. To
// be called before the document is read.
void ApplyModeToAccess(Settings& settings);
// After it: what the combination of keys is worth a warning for.
void WarnAboutAccess(Settings& settings);

// "graphs/support.so:app", or "graphs.support:app" for the same; with `documents_too` also
// "graphs/support.json:app".
Status ReadExport(const Value& value, const std::string& directory, bool documents_too,
                  ExportSettings& out);

}  // namespace agent_graph::settings
