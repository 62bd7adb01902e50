#include "settings/observability.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "agent_graph/json.h"
#include "base/header_value.h"
#include "base/json.h"
#include "base/letter_case.h"
#include "base/percent_encoding.h"
#include "base/text.h"
#include "settings/url.h"

namespace agent_graph::settings {
namespace {

constexpr int64_t kExportMillisecondsMax = 60'000;
constexpr int64_t kQueueBytesMax = int64_t{1} << 30;
constexpr std::string_view kTracesPath = "/v1/traces";

Status CheckVariable(const std::string& name, const std::string& url, UrlShape shape) {
  const Status usable = CheckHttpUrl(url, shape);
  return usable.ok() ? usable : InvalidArgument(name + ": " + usable.message());
}

// Adds the path that the protocol defines to the base address of a collector.
std::string TracesUrl(std::string base) {
  while (base.ends_with('/')) base.pop_back();
  if (!base.ends_with(kTracesPath)) base += kTracesPath;
  return base;
}

const std::string* Find(const Settings& settings, const char* name) {
  auto found = settings.environment.find(name);
  return found == settings.environment.end() || found->second.empty() ? nullptr : &found->second;
}

// Parses "name=value,name=value", with percent-encoded values as in W3C's Baggage, which
// OpenTelemetry prescribes for this variable.
Status ReadHeaderList(std::string_view list, std::map<std::string, std::string>& headers) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    const std::string_view pair = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    if (Trim(pair, " ").empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    const std::string_view name = Trim(pair.substr(0, equals), " ");
    if (equals == pair.size() || name.empty() || !IsHeaderValue(name) ||
        name.find_first_of(" \t:\"") != std::string_view::npos) {
      return InvalidArgument("OTEL_EXPORTER_OTLP_HEADERS: must be name=value, with commas between");
    }
    std::string value = PercentDecodeLeniently(Trim(pair.substr(equals + 1), " "));
    if (!IsHeaderValue(value)) {
      return InvalidArgument("OTEL_EXPORTER_OTLP_HEADERS: must not contain control characters");
    }
    headers[std::string(name)] = std::move(value);
  }
  return Status::Ok();
}

Status ReadEndpoint(const Value& value, ObservabilitySettings& observability) {
  std::string endpoint;
  AG_RETURN_IF_ERROR(value.ReadString(endpoint));
  if (Status usable = CheckHttpUrl(endpoint, UrlShape::kBase); !usable.ok()) {
    return value.Error(usable.message());
  }
  observability.endpoint = TracesUrl(std::move(endpoint));
  return Status::Ok();
}

Status ReadSampleRatio(const Value& value, ObservabilitySettings& observability) {
  const json& node = value.node();
  const double ratio = node.is_number() ? node.get<double>() : -1;
  if (!(ratio >= 0 && ratio <= 1)) return value.Error("must be a number from 0 to 1");
  observability.sample_millionths = static_cast<uint64_t>(std::lround(ratio * 1'000'000));
  return Status::Ok();
}

// Keys that configuration files for other servers contain.
Status AcceptForeign(const Value& value, Settings& settings) {
  settings.warnings.push_back(value.path() + ": has no effect in this service");
  return Status::Ok();
}

constexpr Key<Settings> kObservabilityKeys[] = {
    {"enabled", [](const Value& v, Settings& s) { return v.ReadBoolean(s.observability.enabled); }},
    {"endpoint", [](const Value& v, Settings& s) { return ReadEndpoint(v, s.observability); }},
    {"headers", [](const Value& v, Settings& s) { return v.ReadHeaders(s.observability.headers); }},
    {"service_name",
     [](const Value& v, Settings& s) { return v.ReadString(s.observability.service_name); }},
    {"timeout_ms",
     [](const Value& v, Settings& s) {
       return v.Read(1, kExportMillisecondsMax, s.observability.timeout_ms);
     }},
    {"interval_ms",
     [](const Value& v, Settings& s) {
       return v.Read(1, kExportMillisecondsMax, s.observability.interval_ms);
     }},
    {"queue_bytes_max",
     [](const Value& v, Settings& s) {
       return v.Read(64 * 1024, kQueueBytesMax, s.observability.queue_bytes_max);
     }},
    {"sample_ratio",
     [](const Value& v, Settings& s) { return ReadSampleRatio(v, s.observability); }},
    {"level", AcceptForeign},
    {"logfire", AcceptForeign},
    {"langsmith", AcceptForeign},
};

bool IsForeign(const std::string& key) {
  const auto* row = std::ranges::find(kObservabilityKeys, key, &Key<Settings>::name);
  return row != std::end(kObservabilityKeys) && row->read == AcceptForeign;
}

}  // namespace

Status ApplyEnvironmentToObservability(Settings& settings) {
  ObservabilitySettings& observability = settings.observability;
  if (const std::string* enabled = Find(settings, "OTEL_ENABLED")) {
    const std::string value = LowerCase(*enabled);
    observability.enabled = value == "true" || value == "1" || value == "yes" || value == "on";
    if (!observability.enabled && value != "false" && value != "0" && value != "no" &&
        value != "off") {
      return InvalidArgument("OTEL_ENABLED: " + DumpJson(*enabled) + " is not one of true, false");
    }
  }
  if (const std::string* base = Find(settings, "OTEL_EXPORTER_OTLP_ENDPOINT")) {
    AG_RETURN_IF_ERROR(CheckVariable("OTEL_EXPORTER_OTLP_ENDPOINT", *base, UrlShape::kBase));
    observability.endpoint = TracesUrl(*base);
  }
  if (const std::string* whole = Find(settings, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")) {
    AG_RETURN_IF_ERROR(
        CheckVariable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", *whole, UrlShape::kWhole));
    observability.endpoint = *whole;
  }
  if (const std::string* headers = Find(settings, "OTEL_EXPORTER_OTLP_HEADERS")) {
    AG_RETURN_IF_ERROR(ReadHeaderList(*headers, observability.headers));
  }
  if (const std::string* name = Find(settings, "OTEL_SERVICE_NAME")) {
    observability.service_name = *name;
  }
  return Status::Ok();
}

Status ReadObservability(const Value& value, Settings& settings) {
  if (value.IsNull()) return Status::Ok();
  // A block with any key of ours enables the export, unless OTEL_ENABLED is set. The key `enabled`
  // overrides both.
  const bool has_own = !std::ranges::all_of(value.Keys(), IsForeign);
  const bool decided = Find(settings, "OTEL_ENABLED") != nullptr;
  if (has_own && !decided) settings.observability.enabled = true;
  return ReadObject(value, kObservabilityKeys, settings);
}

}  // namespace agent_graph::settings
