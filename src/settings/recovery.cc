#include "settings/recovery.h"

namespace agent_graph::settings {
namespace {

constexpr int64_t kAgeSecondsMax = int64_t{30} * 24 * 60 * 60;
constexpr int64_t kConcurrencyMax = 1024;

constexpr Key<RecoverySettings> kRecoveryKeys[] = {
    {"max_age",
     [](const Value& v, RecoverySettings& r) {
       return v.ReadSeconds(1, kAgeSecondsMax, r.age_seconds_max);
     }},
    {"concurrency",
     [](const Value& v, RecoverySettings& r) { return v.Read(1, kConcurrencyMax, r.concurrency); }},
    {"unknown_effects",
     [](const Value& v, RecoverySettings& r) {
       static constexpr Choice<bool> kAsks[] = {{"tell_model", false}, {"interrupt", true}};
       return v.ReadChoice(kAsks, r.asks_about_unknown_effects);
     }},
};

}  // namespace

Status ReadRecovery(const Value& value, Settings& settings) {
  settings.recovery.enabled = !value.IsNull();
  if (value.IsNull()) return Status::Ok();
  return ReadObject(value, kRecoveryKeys, settings.recovery);
}

}  // namespace agent_graph::settings
