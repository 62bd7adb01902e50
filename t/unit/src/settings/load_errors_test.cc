// Error messages of service.json: each names the key and the valid values.
#include <gtest/gtest.h>

#include "settings/settings.h"
#include "settings_text.h"

namespace agent_graph::settings {
namespace {

struct ErrorCase {
  const char* member;
  const char* message;
};

class LoadErrors : public testing::TestWithParam<ErrorCase> {};

TEST_P(LoadErrors, NameTheKeyAndTheValidValues) {
  Result<Settings> settings = LoadText(With(GetParam().member));
  ASSERT_FALSE(settings.ok());
  EXPECT_EQ(settings.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(settings.status().message(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Table, LoadErrors,
    testing::Values(
        ErrorCase{
            R"("checkpointer": {"type": "levldb"})",
            "checkpointer.type: \"levldb\" is not one of leveldb, memory, postgres, none; did "
            "you mean leveldb?"},
        ErrorCase{R"("checkpointer": {"type": "postgres"})",
                  "checkpointer: \"postgres\" needs the url of a database, such as {\"type\": "
                  "\"postgres\", \"url\": \"postgresql://user:${PASSWORD}@host/database\"}"},
        ErrorCase{R"("checkpointer": {"url": "postgresql://h/d"})",
                  "checkpointer.url: is only for the type postgres"},
        ErrorCase{R"("checkpointer": {"type": "postgres", "url": "postgresql://h/d",
                                      "sync": "none"})",
                  "checkpointer.sync: \"none\" is not for the type postgres, which commits every "
                  "acknowledged write"},
        ErrorCase{R"("checkpointer": {"sync": "sometimes"})",
                  "checkpointer.sync: \"sometimes\" is not one of run, always, none"},
        ErrorCase{R"("checkpointer": {"ttl": 0})",
                  "checkpointer.ttl: must be an integer from 1 to 3153600000 (seconds)"},
        ErrorCase{R"("checkpointer": 5)",
                  "checkpointer: must be an object with keys such as type, url, sync or ttl"},
        ErrorCase{R"("checkpionter": {})", "checkpionter: unknown key; did you mean checkpointer?"},
        ErrorCase{R"("limits": {"json_depth": 5})",
                  "limits.json_depth: unknown key; did you mean json_depth_max?"},
        ErrorCase{R"("busy_thread": {"zzz": 1})",
                  "busy_thread.zzz: unknown key; known here are policy, queue_max, wait_ms_max"},
        ErrorCase{R"("busy_thread": "drop")",
                  "busy_thread: \"drop\" is not one of enqueue, reject"},
        ErrorCase{R"("limits": {"json_depth_max": 4096})",
                  "limits.json_depth_max: must be an integer from 8 to 128"},
        ErrorCase{R"("limits": {"runs_max": 18446744073709551615})",
                  "limits.runs_max: must be an integer from 1 to 16000"},
        ErrorCase{R"("limits": {"runs_max": 1.5})",
                  "limits.runs_max: must be an integer from 1 to 16000"},
        ErrorCase{R"("limits": {"page_bytes_max": 8388609})",
                  "limits.page_bytes_max: must be an integer from 65536 to 8388608"},
        ErrorCase{R"("window_max": 0)", "window_max: must be an integer from 1 to 10000"},
        ErrorCase{R"("security_headers": "yes")", "security_headers: must be true or false"},
        ErrorCase{R"("cors": {"credentials": true})",
                  "cors: credentials need a list of origins, not \"*\""},
        ErrorCase{R"("cors": {"origins": ["https://a.example/path"]})",
                  "cors.origins: each origin is \"*\" or scheme://host[:port] without a path"},
        ErrorCase{R"("cors": {"origins": ["https://*.example"]})",
                  "cors.origins: each origin is \"*\" or scheme://host[:port] without a path"},
        ErrorCase{R"("websocket": {"max_connections": -1})",
                  "websocket.max_connections: must be an integer from 0 to 1000000"},
        ErrorCase{R"("websocket": {"max_connections_total": -1})",
                  "websocket.max_connections_total: must be an integer from 0 to 1000000"},
        ErrorCase{R"("websocket": {"max_connections_total": 9, "backend": "redis"})",
                  "websocket.redis: the redis backend needs a URL, here, in redis or in REDIS_URL"},
        ErrorCase{R"("websocket": {"max_connections": 1.5})",
                  "websocket.max_connections: must be an integer from 0 to 1000000"},
        ErrorCase{R"("websocket": {"bearer_protocols": ["a b"]})",
                  "websocket.bearer_protocols: each name is a token, without spaces and commas"},
        ErrorCase{R"("store": {"type": "pg"})",
                  "store.type: \"pg\" is not one of leveldb, memory, postgres, none"},
        ErrorCase{R"("store": "postgres")",
                  "store.type: \"postgres\" is the database of the checkpointer; give "
                  "checkpointer.type the same value, and checkpointer.url"},
        ErrorCase{R"("store": "leveldb", "checkpointer": {"type": "postgres",
                                                          "url": "postgresql://h/d"})",
                  "store.type: memories are kept in the database of the checkpointer; give both "
                  "the same type"},
        ErrorCase{R"("media": {"storage_type": "pg"})",
                  "media.storage_type: \"pg\" is the database of the checkpointer; set "
                  "checkpointer.type to postgres, and checkpointer.url"},
        ErrorCase{R"("store": "memory")",
                  "store.type: memories are kept in the database of the checkpointer; give both "
                  "the same type"},
        ErrorCase{R"("embedding": "word2vec")",
                  "embedding: \"word2vec\" is not one of hash, openai"},
        ErrorCase{R"("embedding": {"provider": "openai"})",
                  "embedding: needs the name of a model in \"model\""},
        ErrorCase{R"("embedding": {"provider": "openai", "model": "m"})",
                  "embedding: needs an api_key, or OPENAI_API_KEY in the environment"},
        ErrorCase{R"("embedding": {"dimensions": 4})",
                  "embedding.dimensions: must be an integer from 8 to 8192"},
        ErrorCase{R"("models": {"m": {}})",
                  "models.m: needs a provider: demo, openai, anthropic or gemini"},
        ErrorCase{
            R"("models": {"m": {"provider": "opneai"}})",
            "models.m.provider: \"opneai\" is not one of demo, openai, anthropic, gemini; did you "
            "mean openai?"},
        ErrorCase{
            R"("models": {"m": {"provider": "ollama"}})",
            "models.m.provider: \"ollama\" is not one of demo, openai, anthropic, gemini; another "
            "server with OpenAI's API, such as Ollama, is \"openai\" with its base_url"},
        ErrorCase{R"("models": {"m": {"provider": "openai"}})",
                  "models.m: needs the name of a model in \"model\""},
        ErrorCase{R"("models": {"m": {"provider": "openai", "model": "x"}})",
                  "models.m: needs an api_key, or OPENAI_API_KEY in the environment"},
        ErrorCase{R"("models": {"m": {"provider": "openai", "model": "x", "base_url": "ftp://x"}})",
                  "models.m.base_url: must start with http:// or https://"},
        ErrorCase{R"("models": {"m": {"provider": "demo", "api_key": "${NOWHERE}"}})",
                  "models.m.api_key: environment variable NOWHERE is not set"},
        ErrorCase{R"("models": {"m": {"provider": "demo", "headers": {"a b": "c"}}})",
                  "models.m.headers.a b: is not a header name"},
        ErrorCase{R"("models": {"m": {"provider": "demo", "headers": {"a": "b\r\nc: d"}}})",
                  "models.m.headers.a: must not contain control characters"},
        ErrorCase{R"("id_generator": {"type": "snowflake", "epoch_ms": 4102444800000})",
                  "id_generator.epoch_ms: must be a time in the past, in milliseconds since "
                  "1970"},
        ErrorCase{
            R"("models": {"m": {"provider": "openai", "model": "x", "base_url": "http://h:99999/"}})",
            "models.m.base_url: must have a host, and a port, if any, from 1 to 65535"},
        ErrorCase{
            R"("models": {"m": {"provider": "openai", "model": "x", "base_url": "http://h/v1?key=1"}})",
            "models.m.base_url: must end before a ? or #"},
        ErrorCase{R"("models": {"m": {"provider": "demo", "parameters": {"delay_ms": "x"}}})",
                  "models.m.parameters.delay_ms: must be an integer from 0 to 60000, without "
                  "quotes or a unit"},
        ErrorCase{R"("models": {"m": {"provider": "demo", "parameters": {"delay_ms": -5}}})",
                  "models.m.parameters.delay_ms: must be an integer from 0 to 60000"},
        ErrorCase{
            R"("models": {"m": {"provider": "demo", "parameters": {"stop": ["${NOWHERE}"]}}})",
            "models.m.parameters.stop.0: environment variable NOWHERE is not set"},
        ErrorCase{R"("embedding": {"provider": "openai", "model": "x", "base_url": "http://"})",
                  "embedding.base_url: must have a host, and a port, if any, from 1 to 65535"},
        ErrorCase{R"("observability": {"endpoint": "http://"})",
                  "observability.endpoint: must have a host, and a port, if any, from 1 to 65535"},
        ErrorCase{R"("observability": {"endpoint": "http://h:99999"})",
                  "observability.endpoint: must have a host, and a port, if any, from 1 to 65535"},
        ErrorCase{R"("media": {"cloud": {"endpoint": "http://h:99999"}})",
                  "media.cloud.endpoint: must have a host, and a port, if any, from 1 to 65535"},
        ErrorCase{R"("media": {"cloud": {"endpoint": "http://h/path"}})",
                  "media.cloud.endpoint: must not have a path"},
        ErrorCase{R"("media": {"cloud": {"secret_access_key": "a\r\nb: c"}})",
                  "media.cloud.secret_access_key: must not contain blanks or control characters"},
        ErrorCase{R"("media": {"url_allow": ["example.com", "http://example.com"]})",
                  "media.url_allow.1: is not a host: write example.com, *.example.com, an address, "
                  "a network as 10.0.0.0/8, private or *"},
        ErrorCase{
            R"("media": {"url_deny": "10.0.0.1/8"})",
            "media.url_deny.0: is not a host: write example.com, *.example.com, an address, a "
            "network as 10.0.0.0/8, private or *"},
        ErrorCase{R"("media": {"storage_path": "x/../../y"})",
                  "media.storage_path: must be absolute, or have no .. in it: it is relative to "
                  "the state directory"},
        ErrorCase{R"("auth": "jwt", "auth": null)", "auth: is there twice"},
        ErrorCase{R"("env": "nowhere.env")",
                  "env: cannot read /etc/nginx/agent/nowhere.env: No such file or directory"},
        ErrorCase{R"("env": 5)", "env: must be a string"}));

}  // namespace
}  // namespace agent_graph::settings
