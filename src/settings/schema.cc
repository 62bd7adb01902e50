#include "settings/schema.h"

#include <algorithm>
#include <utility>

#include "settings/access.h"
#include "settings/checkpointer.h"
#include "settings/facades.h"
#include "settings/identity.h"
#include "settings/media.h"
#include "settings/models.h"
#include "settings/observability.h"
#include "settings/rate_limit.h"
#include "settings/recovery.h"
#include "settings/remote_tools.h"
#include "settings/store.h"
#include "settings/threads.h"
#include "settings/token_limit.h"
#include "settings/websocket.h"

namespace agent_graph::settings {
namespace {

constexpr int64_t kWaitMillisecondsMax = 24 * 60 * 60 * 1000;
constexpr int64_t kBytesMax = int64_t{1} << 40;
constexpr int64_t kMessageBytesMax = int64_t{64} << 20;
constexpr int64_t kPageBytesMax = int64_t{8} << 20;  // the state ends larger pages (state/limits.h)
constexpr int64_t kWindowMax = 10'000;               // messages
constexpr int64_t kRunsMax = 16'000;                 // each fiber needs two memory mappings
constexpr int64_t kJsonDepthMax = 128;  // values are walked recursively on a small stack

// --- cors -----------------------------------------------------------------------------------

// True for an Origin as browsers send it: "https://app.example", "http://localhost:3000".
bool IsOrigin(std::string_view text) {
  if (text == "*" || text == "null") return true;
  size_t scheme = text.find("://");
  if (scheme == std::string_view::npos || scheme == 0) return false;
  std::string_view host = text.substr(scheme + 3);
  return !host.empty() && std::ranges::none_of(host, [](char c) {
    return c <= ' ' || c == '/' || c == '*' || c == 0x7f;  // patterns are not supported
  });
}

Status ReadOrigins(const Value& value, CorsSettings& cors) {
  AG_RETURN_IF_ERROR(value.ReadStrings(cors.origins));
  for (const std::string& origin : cors.origins) {
    if (!IsOrigin(origin)) {
      return value.Error("each origin is \"*\" or scheme://host[:port] without a path");
    }
  }
  return Status::Ok();
}

constexpr Key<CorsSettings> kCorsKeys[] = {
    {"origins", ReadOrigins},
    {"credentials", [](const Value& v, CorsSettings& c) { return v.ReadBoolean(c.credentials); }},
};

Status ReadCors(const Value& value, Settings& settings) {
  AG_RETURN_IF_ERROR(ReadObject(value, kCorsKeys, settings.cors));
  if (settings.cors.credentials && std::ranges::count(settings.cors.origins, "*") > 0) {
    return value.Error("credentials need a list of origins, not \"*\"");
  }
  return Status::Ok();
}

// --- busy_thread ----------------------------------------------------------------------------

Status ReadBusyPolicy(const Value& value, BusyThreadSettings& busy_thread) {
  static constexpr Choice<bool> kEnqueues[] = {{"enqueue", true}, {"reject", false}};
  return value.ReadChoice(kEnqueues, busy_thread.enqueue);
}

constexpr Key<BusyThreadSettings> kBusyThreadKeys[] = {
    {"policy", ReadBusyPolicy},
    {"queue_max",
     [](const Value& v, BusyThreadSettings& b) { return v.Read(1, 1024, b.queue_max); }},
    {"wait_ms_max",
     [](const Value& v, BusyThreadSettings& b) {
       return v.Read(1, kWaitMillisecondsMax, b.wait_ms_max);
     }},
};

Status ReadBusyThread(const Value& value, Settings& settings) {
  if (value.IsString()) return ReadBusyPolicy(value, settings.busy_thread);
  return ReadObject(value, kBusyThreadKeys, settings.busy_thread);
}

// --- limits ---------------------------------------------------------------------------------

constexpr Key<LimitSettings> kLimitKeys[] = {
    {"json_bytes_max",
     [](const Value& v, LimitSettings& l) {
       return v.Read(1024, int64_t{1} << 30, l.json_bytes_max);
     }},
    {"json_depth_max",
     [](const Value& v, LimitSettings& l) { return v.Read(8, kJsonDepthMax, l.json_depth_max); }},
    {"json_values_max",
     [](const Value& v, LimitSettings& l) { return v.Read(100, 10'000'000, l.json_values_max); }},
    {"json_io_pool_bytes",
     [](const Value& v, LimitSettings& l) { return v.Read(0, kBytesMax, l.json_io_pool_bytes); }},
    {"message_bytes_max",
     [](const Value& v, LimitSettings& l) {
       return v.Read(1024, kMessageBytesMax, l.message_bytes_max);
     }},
    {"page_bytes_max",
     [](const Value& v, LimitSettings& l) {
       return v.Read(64 * 1024, kPageBytesMax, l.page_bytes_max);
     }},
    {"buffered_bytes_max",
     [](const Value& v, LimitSettings& l) {
       return v.Read(1024 * 1024, kBytesMax, l.buffered_bytes_max);
     }},
    {"run_bytes_max",
     [](const Value& v, LimitSettings& l) {
       return v.Read(64 * 1024, kBytesMax, l.run_bytes_max);
     }},
    {"function_bytes_max",
     [](const Value& v, LimitSettings& l) {
       return v.Read(1024 * 1024, kBytesMax, l.function_bytes_max);
     }},
    {"runs_max", [](const Value& v, LimitSettings& l) { return v.Read(1, kRunsMax, l.runs_max); }},
    {"live_sessions_max",
     [](const Value& v, LimitSettings& l) { return v.Read(1, kRunsMax, l.live_sessions_max); }},
};

// --- evaluation -----------------------------------------------------------------------------

struct EvaluationBlock {
  Settings& settings;
};

Status ReadReportsDirectory(const Value& value, EvaluationBlock& block) {
  std::string path;
  AG_RETURN_IF_ERROR(value.ReadString(path));
  if (path.empty()) return value.Error("must name a directory");
  if (path[0] != '/') path = block.settings.directory + "/" + path;
  block.settings.evaluation.reports_directory = std::move(path);
  return Status::Ok();
}

// Accepts and ignores a key that is meant for other programs.
template <typename Target>
Status PassOver(const Value&, Target&) {
  return Status::Ok();
}

constexpr Key<EvaluationBlock> kEvaluationKeys[] = {
    {"output_dir", ReadReportsDirectory},
    {"directory", PassOver},
    {"threshold", PassOver},
    {"timestamp_files", PassOver},
};

Status ReadEvaluation(const Value& value, Settings& settings) {
  if (value.IsNull()) return Status::Ok();
  EvaluationBlock block{settings};
  return ReadObject(value, kEvaluationKeys, block);
}

// --- the document ---------------------------------------------------------------------------

Status ReadAgent(const Value& value, Settings& settings) {
  return ReadExport(value, settings.directory, true, settings.agent);
}

// The file was merged before the document is read, because ${NAME} uses it.
Status ReadEnvironmentFile(const Value& value, Settings&) {
  std::string path;
  return value.IsNull() ? Status::Ok() : value.ReadString(path);
}

Status ReadWindow(const Value& value, Settings& settings) {
  settings.window_max.reset();
  if (value.IsNull()) return Status::Ok();
  uint64_t window = 0;
  AG_RETURN_IF_ERROR(value.Read(1, kWindowMax, window));
  settings.window_max = window;
  return Status::Ok();
}

Status AcceptWithoutEffect(const Value& value, Settings& settings) {
  settings.warnings.push_back(value.path() + ": has no effect in this service");
  return Status::Ok();
}

constexpr Key<Settings> kDocumentKeys[] = {
    {"$schema", PassOver},
    {"agent", ReadAgent},
    {"env", ReadEnvironmentFile},
    {"checkpointer", ReadCheckpointer},
    {"models", ReadModels},
    {"window_max", ReadWindow},
    {"busy_thread", ReadBusyThread},
    {"recovery", ReadRecovery},
    {"threads", ReadThreads},
    {"cors", ReadCors},
    {"security_headers",
     [](const Value& v, Settings& s) { return v.ReadBoolean(s.security_headers); }},
    {"limits", [](const Value& v, Settings& s) { return ReadObject(v, kLimitKeys, s.limits); }},
    {"auth", ReadAuthentication},
    {"authorization", ReadAuthorization},
    {"redis", ReadRedis},
    {"websocket", ReadWebSocket},
    {"rate_limit", ReadRateLimit},
    {"token_limit", ReadTokenLimit},
    {"store", ReadStore},
    {"embedding", ReadEmbedding},
    {"media", ReadMedia},
    {"observability", ReadObservability},
    {"evaluation", ReadEvaluation},
    {"remote_tools", ReadRemoteTools},
    {"facades", ReadFacades},
    {"id_generator", ReadIdGenerator},
    {"thread_name_generator", ReadThreadNames},
    {"injectq", AcceptWithoutEffect},
    {"test", AcceptWithoutEffect},
    {"ag_ui", AcceptWithoutEffect},
};

}  // namespace

Status ReadDocument(const Value& document, Settings& settings) {
  AG_RETURN_IF_ERROR(ReadObject(document, kDocumentKeys, settings));
  if (settings.agent.module.empty()) {
    return Status(StatusCode::kInvalidArgument,
                  "agent: is missing; it names the graph as <module>:<attribute>, such as "
                  "graphs/support.so:app");
  }
  return CheckStore(settings);
}

}  // namespace agent_graph::settings
