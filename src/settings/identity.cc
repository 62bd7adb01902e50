#include "settings/identity.h"

#include <limits>

#include "agent_graph/json.h"
#include "base/clock.h"
#include "base/json.h"
#include "settings/access.h"

namespace agent_graph::settings {
namespace {

Status ReadIdKind(const Value& value, IdOptions& ids) {
  static constexpr Choice<IdKind> kKinds[] = {{"uuid", IdKind::kUuid},
                                              {"integer", IdKind::kInteger},
                                              {"bigint", IdKind::kBigint},
                                              {"snowflake", IdKind::kSnowflake}};
  return value.ReadChoice(kKinds, ids.kind);
}

// Ids count the milliseconds since this epoch, so it must not be in the future.
Status ReadEpoch(const Value& value, IdOptions& ids) {
  AG_RETURN_IF_ERROR(value.Read(0, std::numeric_limits<int64_t>::max() / 1000, ids.epoch_millis));
  if (ids.epoch_millis <= UnixMicros() / 1000) return Status::Ok();
  return value.Error("must be a time in the past, in milliseconds since 1970");
}

constexpr Key<IdOptions> kIdKeys[] = {
    {"type", ReadIdKind},
    {"node",
     [](const Value& v, IdOptions& i) { return v.Read(0, IdOptions::kNodesMax - 1, i.node); }},
    {"epoch_ms", ReadEpoch},
};

}  // namespace

Status ReadIdGenerator(const Value& value, Settings& settings) {
  if (value.IsNull()) return Status::Ok();
  if (value.IsString()) return ReadIdKind(value, settings.ids);
  return ReadObject(value, kIdKeys, settings.ids);
}

Status ReadThreadNames(const Value& value, Settings& settings) {
  using Method = ThreadNameSettings::Method;
  if (value.IsNull()) return Status::Ok();
  std::string name;
  AG_RETURN_IF_ERROR(value.ReadString(name));
  if (name == "random") {
    settings.thread_names.method = Method::kRandom;
    return Status::Ok();
  }
  if (name.find(':') == std::string::npos) {
    return value.Error(DumpJson(value.node()) + " is not one of random, <module>:<attribute>");
  }
  settings.thread_names.method = Method::kCustom;
  return ReadExport(value, settings.directory, false, settings.thread_names.function);
}

}  // namespace agent_graph::settings
