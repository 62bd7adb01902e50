// Keys of service.json that decide about access: `auth`, `authorization` and `redis`.
#pragma once

#include "base/status.h"
#include "settings/settings.h"
#include "settings/value.h"

namespace agent_graph::settings {

Status ReadAuthentication(const Value& value, Settings& settings);
Status ReadAuthorization(const Value& value, Settings& settings);
Status ReadRedis(const Value& value, Settings& settings);
// Reads a URL, or {"url": …, "prefix": …}.
Status ReadRedisBlock(const Value& value, RedisSettings& redis);

// Sets the defaults of absent keys: in production, owners are isolated from each other; REDIS_URL
// names the shared cache. Call it before the document is read.
void ApplyModeToAccess(Settings& settings);
// Derives settings from several keys. Call it after the document was read.
void CompleteAccess(Settings& settings);
// Adds warnings about risky combinations of keys. Call it after the document was read.
void WarnAboutAccess(Settings& settings);

// Reads "graphs/support.so:app", or "graphs.support:app" for the same; with `documents_too` also
// "graphs/support.json:app". Relative paths start at `directory`.
Status ReadExport(const Value& value, const std::string& directory, bool documents_too,
                  ExportSettings& out);

}  // namespace agent_graph::settings
