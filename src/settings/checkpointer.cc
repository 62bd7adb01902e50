#include "settings/checkpointer.h"

#include <string>

#include "settings/postgres_url.h"

namespace agent_graph::settings {
namespace {

using CheckpointerType = CheckpointerSettings::Type;
using CheckpointerSync = CheckpointerSettings::Sync;

constexpr int64_t kIdleSecondsMax = int64_t{100} * 365 * 24 * 60 * 60;
constexpr int64_t kLogKeptSecondsMax = int64_t{30} * 24 * 3600;
constexpr uint64_t kLogBytesLeast = uint64_t{1} << 20;
constexpr uint64_t kLogBytesMost = uint64_t{1} << 30;

Status ReadCheckpointerType(const Value& value, CheckpointerSettings& checkpointer) {
  static constexpr Choice<CheckpointerType> kTypes[] = {{"leveldb", CheckpointerType::kLevelDb},
                                                        {"memory", CheckpointerType::kMemory},
                                                        {"postgres", CheckpointerType::kPostgres},
                                                        {"none", CheckpointerType::kNone}};
  return value.ReadChoice(kTypes, checkpointer.type);
}

Status ReadCheckpointerSync(const Value& value, CheckpointerSettings& checkpointer) {
  static constexpr Choice<CheckpointerSync> kLevels[] = {{"run", CheckpointerSync::kRun},
                                                         {"always", CheckpointerSync::kAlways},
                                                         {"none", CheckpointerSync::kNone}};
  return value.ReadChoice(kLevels, checkpointer.sync);
}

Status ReadCheckpointerUrl(const Value& value, CheckpointerSettings& checkpointer) {
  AG_RETURN_IF_ERROR(value.ReadString(checkpointer.url));
  if (value.shape() != nullptr) return Status::Ok();
  const Status usable = CheckPostgresUrl(checkpointer.url);
  return usable.ok() ? usable : value.Error(usable.message());
}

constexpr Key<CheckpointerSettings> kCheckpointerKeys[] = {
    {"type", ReadCheckpointerType},
    {"url", ReadCheckpointerUrl},
    {"sync", ReadCheckpointerSync},
    {"ttl",
     [](const Value& v, CheckpointerSettings& c) {
       return v.IsNull() ? Status::Ok() : v.ReadSeconds(1, kIdleSecondsMax, c.ttl_seconds);
     }},
    {"log_kept",
     [](const Value& v, CheckpointerSettings& c) {
       return v.ReadSeconds(0, kLogKeptSecondsMax, c.log_kept_seconds);
     }},
    {"log_bytes_max",
     [](const Value& v, CheckpointerSettings& c) {
       return v.Read(kLogBytesLeast, kLogBytesMost, c.log_bytes_max);
     }},
};

// Checks what depends on more than one key.
Status CheckDatabase(const Value& value, const CheckpointerSettings& checkpointer) {
  if (checkpointer.type != CheckpointerType::kPostgres) {
    if (checkpointer.url.empty()) return Status::Ok();
    return InvalidArgument(value.path() + ".url: is only for the type postgres");
  }
  if (checkpointer.url.empty()) {
    return value.Error(
        "\"postgres\" needs the url of a database, such as "
        "{\"type\": \"postgres\", \"url\": \"postgresql://user:${PASSWORD}@host/database\"}");
  }
  if (checkpointer.sync == CheckpointerSync::kNone) {
    return InvalidArgument(value.path() +
                           ".sync: \"none\" is not for the type postgres, which "
                           "commits every acknowledged write");
  }
  return Status::Ok();
}

}  // namespace

Status ReadCheckpointer(const Value& value, Settings& settings) {
  if (value.IsNull()) {
    settings.checkpointer.type = CheckpointerType::kNone;
    return Status::Ok();
  }
  if (value.IsString()) {
    AG_RETURN_IF_ERROR(ReadCheckpointerType(value, settings.checkpointer));
  } else {
    AG_RETURN_IF_ERROR(ReadObject(value, kCheckpointerKeys, settings.checkpointer));
  }
  if (value.shape() != nullptr) return Status::Ok();
  return CheckDatabase(value, settings.checkpointer);
}

}  // namespace agent_graph::settings
