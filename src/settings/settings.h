// Builds the immutable Settings from service.json and the environment. This file and schema.cc are
// the only schema of the configuration: every key with its type, default and error text.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id_generator.h"
#include "base/sealed_copy.h"
#include "base/status.h"
#include "limits/options.h"
#include "media/s3/storage_options.h"
#include "memory/embedding_options.h"
#include "models/provider_options.h"
#include "settings/media_urls.h"

namespace agent_graph::settings {

// The environment of the master when it read the configuration. Workers have an empty environment.
using Environment = std::map<std::string, std::string, std::less<>>;

enum class Mode : uint8_t { kDevelopment, kProduction };

// Where conversation threads are stored.
struct CheckpointerSettings {
  enum class Type : uint8_t { kLevelDb, kMemory, kPostgres, kNone };
  enum class Sync : uint8_t { kRun, kAlways, kNone };
  Type type = Type::kLevelDb;
  std::string url;  // for kPostgres: of the database, with its password; never logged
  Sync sync = Sync::kRun;
  int64_t ttl_seconds = 0;  // idle threads are deleted after this time; 0: never
  // How long, and up to which size for a thread, the logs of finished runs are kept beyond the
  // latest ones.
  int64_t log_kept_seconds = int64_t{24} * 3600;
  uint64_t log_bytes_max = uint64_t{64} * 1024 * 1024;
};

// The memory store.
struct StoreSettings {
  enum class Type : uint8_t { kNone, kLevelDb, kMemory, kPostgres };
  Type type = Type::kNone;
  uint64_t index_bytes_max = uint64_t{1} << 30;
};

// Origins whose pages may call the service.
struct CorsSettings {
  std::vector<std::string> origins = {"*"};
  bool credentials = false;
};

// Requests for a thread that has a run in flight: they wait or are refused.
struct BusyThreadSettings {
  bool enqueue = true;
  uint32_t queue_max = 16;
  int64_t wait_ms_max = 60'000;
};

// Conversation threads.
struct ThreadSettings {
  std::vector<std::string> indexed_metadata;  // names by which threads can be searched
};

// Accepted runs that have lost their worker.
struct RecoverySettings {
  bool enabled = true;             // false: they end as worker_lost
  int64_t age_seconds_max = 3600;  // since their acceptance; older ones end as worker_lost
  uint32_t concurrency = 16;       // runs per worker that are being continued at once
  // Tool calls that may have taken effect. True: the client decides. False: the model is informed.
  bool asks_about_unknown_effects = false;
};

// "<module>:<attribute>": an export of a shared object.
struct ExportSettings {
  std::string module;  // absolute
  std::string attribute;
  // Copy of the module, made when the configuration is read. Null: `module` itself is loaded.
  SealedCopy copy = nullptr;
};

// Algorithm and key of JSON Web Tokens.
struct JwtSettings {
  std::string algorithm;          // JWT_ALGORITHM
  std::string secret;             // JWT_SECRET_KEY: a secret or a key in PEM form; never logged
  std::string public_key_file;    // JWT_PUBLIC_KEY_FILE, absolute; overrides the secret
  std::string jwks_file;          // JWT_JWKS_FILE, absolute; overrides both
  SealedCopy key_copy = nullptr;  // copy of the key file in use; null: the file itself is read
};

// Identification of callers.
struct AuthenticationSettings {
  enum class Method : uint8_t { kNone, kJwt, kCustom, kNginx };
  Method method = Method::kNone;
  JwtSettings jwt;
  ExportSettings backend;  // for kCustom
  // Claims of the user that are stored with an accepted run, until its end.
  std::vector<std::string> persist_claims;
};

// Permissions of callers.
struct AuthorizationSettings {
  enum class Policy : uint8_t { kAllowAll, kOwnership, kRoles, kCustom };
  Policy policy = Policy::kAllowAll;
  bool chosen = false;                                    // service.json names the policy
  std::map<std::string, std::vector<std::string>> roles;  // for kRoles: role → scopes
  std::vector<std::string> default_scopes;
  bool isolate_by_owner = true;
  ExportSettings backend;  // for kCustom
};

// Redis for the shared cache of thread owners.
struct RedisSettings {
  std::string url;  // empty: no Redis; never logged
  std::string prefix = "svc:authz:owner";
};

// A tool of a tool node that runs in the client.
struct RemoteToolSettings {
  std::string node;
  std::string name;
  std::string description;
  std::string parameters_json = R"({"type":"object","properties":{}})";  // JSON Schema
};

// WebSocket limits and sub-protocols.
struct WebSocketSettings {
  uint32_t connections_max = 0;  // open connections per worker; 0: as many as nginx has connections
  limits::PlaceLimitOptions total;  // open connections of all workers
  // Sub-protocols that are handled like service-bearer.
  std::vector<std::string> bearer_protocols;
};

// Uploaded files.
struct MediaSettings {
  // kDatabase: in the PostgreSQL database of the checkpointer.
  enum class Storage : uint8_t { kMemory, kLocal, kCloud, kDatabase };
  // Handling of a document that a message refers to.
  enum class Documents : uint8_t { kExtractText, kPassRaw, kSkip };
  std::optional<Storage> chosen;  // set by service.json or the environment
  Storage storage = Storage::kLocal;
  // For kLocal: a directory, relative to the state directory. For kCloud: the prefix of all keys.
  std::string path = "uploads";
  double max_size_mb = 25;  // per file, in MiB
  Documents documents = Documents::kExtractText;
  std::vector<std::string> allowed_types;   // "image/png", "image/*", lower case; empty: all
  bool require_owner = false;               // files without an owner cannot be read
  std::optional<uint64_t> total_bytes_max;  // bounds all files together; kMemory always has a limit
  MediaUrls urls;                           // rules for URLs that messages contain instead of files
  media::s3::StorageOptions cloud;          // for kCloud

  uint64_t file_bytes_max() const { return static_cast<uint64_t>(max_size_mb * 1024 * 1024); }
};

// Reports of evaluations. Other programs write them and this service shows them.
struct EvaluationSettings {
  std::string reports_directory;  // absolute
};

// How the service names the threads that it creates.
struct ThreadNameSettings {
  enum class Method : uint8_t { kNone, kRandom, kCustom };
  Method method = Method::kNone;
  ExportSettings function;  // for kCustom
};

// Export of finished runs to a collector.
struct ObservabilitySettings {
  bool enabled = false;
  std::string endpoint = "http://127.0.0.1:4318/v1/traces";  // OTLP over HTTP
  std::map<std::string, std::string> headers;                // expanded; never logged
  std::string service_name = "agent_graph";
  int64_t timeout_ms = 10'000;  // per request
  int64_t interval_ms = 1'000;  // time that a finished run waits for others to be sent together
  uint64_t queue_bytes_max = 4 * 1024 * 1024;
  uint64_t sample_millionths = 1'000'000;  // share of the runs that start a trace themselves
};

// A façade: routes that speak the protocol of other clients.
struct FacadeSettings {
  bool enabled = true;
  std::string path;  // where its routes begin, below the service's base path; no slash at the end
};

// Clients of OpenAI's API.
struct OpenAiSettings {
  enum class ShowTools : uint8_t { kHidden, kReasoning, kContent };
  FacadeSettings facade{.path = "/openai/v1"};
  // How the calls of the agent's own tools appear in the answer.
  ShowTools show_tools = ShowTools::kHidden;
};

// Clients of AG-UI.
struct AgUiSettings {
  FacadeSettings facade{.path = "/agui"};
  // A run goes on when its client leaves, unless the request says otherwise.
  bool continues = false;
};

// Clients of the Model Context Protocol, for which the agent is a server with tools.
struct McpSettings {
  FacadeSettings facade{.path = "/mcp"};
  std::string description;  // describes the agent's tool; empty: a sentence with the graph's name
  std::vector<std::string> tools;  // tags of the graph's tools that clients may call; "*": of all
  // The protected resource that clients learn, for "auth": "jwt".
  std::string url;  // public address of the endpoint; empty: that of the request
  std::vector<std::string> authorization_servers;
  std::vector<std::string> scopes;
};

// All façades. The defaults are those of development; see ApplyModeToFacades.
struct FacadesSettings {
  OpenAiSettings openai;
  AgUiSettings agui;
  McpSettings mcp;
};

// Limits of requests, runs and workers. Sizes in bytes.
struct LimitSettings {
  uint64_t json_bytes_max = 10 * 1024 * 1024;
  uint32_t json_depth_max = 128;
  uint32_t json_values_max = 100'000;
  uint64_t json_io_pool_bytes = 64 * 1024;  // larger JSON texts are parsed on the io pool
  uint64_t message_bytes_max = 1024 * 1024;
  uint64_t page_bytes_max = 8 * 1024 * 1024;
  uint64_t buffered_bytes_max = 256ull * 1024 * 1024;
  uint64_t run_bytes_max = 64 * 1024 * 1024;            // memory of messages and state in one run
  uint64_t function_bytes_max = 1024ull * 1024 * 1024;  // memory of one user function
  uint32_t runs_max = 8192;
  uint32_t live_sessions_max = 1000;  // per worker
};

// All settings of a service. Immutable after Load, therefore thread-safe.
struct Settings {
  std::string file;       // service.json, absolute
  std::string directory;  // folder of `file`; relative paths to files that are read start here
  ExportSettings agent;   // the graph: a .so or .json file
  Mode mode = Mode::kDevelopment;
  CheckpointerSettings checkpointer;
  StoreSettings store;
  memory::EmbeddingOptions embedding;  // how memories become vectors
  // Their API keys are expanded: never log them.
  std::vector<agent_graph::models::ProviderOptions> models;
  CorsSettings cors;
  bool security_headers = true;
  BusyThreadSettings busy_thread;
  RecoverySettings recovery;
  ThreadSettings threads;
  AuthenticationSettings authentication;
  AuthorizationSettings authorization;
  RedisSettings redis;
  WebSocketSettings websocket;
  std::vector<RemoteToolSettings> remote_tools;
  std::optional<limits::RateLimitOptions> rate_limit;
  std::optional<limits::TokenLimitOptions> token_limit;
  MediaSettings media;
  EvaluationSettings evaluation;
  FacadesSettings facades;
  LimitSettings limits;
  IdOptions ids;
  ThreadNameSettings thread_names;
  ObservabilitySettings observability;
  std::optional<uint64_t> window_max = 100;
  Environment environment;  // including the `env` file
  // About keys that are accepted without effect; logged once at start.
  std::vector<std::string> warnings;

  // The price of a configured model; nullopt: it has none.
  std::optional<agent_graph::models::TokenPrice> PriceOf(std::string_view model) const;
};

// Reads the settings. `file` must be absolute; `text` is its content. Failure texts name the key
// and the valid values, e.g. `checkpointer.type: "levldb" is not one of leveldb, memory, postgres,
// none`. Secrets never appear in them.
Result<Settings> Load(const std::string& file, std::string_view text,
                      const Environment& environment);

}  // namespace agent_graph::settings
