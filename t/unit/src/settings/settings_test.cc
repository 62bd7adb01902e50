#include "settings/settings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace agent_graph::settings {
namespace {

constexpr char kFile[] = "/etc/nginx/agent/service.json";

Result<Settings> LoadText(const std::string& text, const Environment& environment = {}) {
  return Load(kFile, text, environment);
}

// A document with a valid agent and `member`.
std::string With(const std::string& member) {
  return R"({"agent": "graphs/support.so:app", )" + member + "}";
}

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
        ErrorCase{R"("checkpointer": {"type": "levldb"})",
                  "checkpointer.type: \"levldb\" is not one of leveldb, memory, none"},
        ErrorCase{R"("checkpointer": {"type": "postgres"})",
                  "checkpointer.type: \"postgres\" is not available in this build; use leveldb, "
                  "memory or none"},
        ErrorCase{R"("checkpointer": {"sync": "sometimes"})",
                  "checkpointer.sync: \"sometimes\" is not one of run, always, none"},
        ErrorCase{R"("checkpointer": {"ttl": 0})",
                  "checkpointer.ttl: must be an integer from 1 to 3153600000"},
        ErrorCase{R"("checkpointer": 5)", "checkpointer: must be an object"},
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
        ErrorCase{R"("websocket": {"max_connections": 1.5})",
                  "websocket.max_connections: must be an integer from 0 to 1000000"},
        ErrorCase{R"("websocket": {"bearer_protocols": ["a b"]})",
                  "websocket.bearer_protocols: each name is a token, without spaces and commas"},
        ErrorCase{R"("store": {"type": "pg"})",
                  "store.type: \"pg\" is not one of leveldb, memory, none"},
        ErrorCase{R"("store": "postgres")",
                  "store: \"postgres\" is not available in this build; use leveldb, memory or "
                  "none"},
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
        ErrorCase{R"("models": {"m": {"provider": "opneai"}})",
                  "models.m.provider: \"opneai\" is not one of demo, openai, anthropic, gemini"},
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
                  "models.m.parameters.delay_ms: must be an integer from 0 to 60000"},
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

// Keys that could not be distinguished from the rest of the line.
TEST(Load, QuotesUnusualKeys) {
  struct Case {
    const char* member;
    const char* path;
  };
  for (const Case& one :
       {Case{R"("a\nb": 1)", R"("a\nb": unknown key)"}, Case{R"("": 1)", R"("": unknown key)"},
        Case{R"("\u001b[31mx": 1)", R"("\u001b[31mx": unknown key)"},
        Case{R"("models": {"gpt-4.1": {}})", R"(models."gpt-4.1": needs a provider)"}}) {
    Result<Settings> settings = LoadText(With(one.member));
    ASSERT_FALSE(settings.ok());
    EXPECT_TRUE(settings.status().message().starts_with(one.path)) << settings.status().message();
  }
}

TEST(Load, RefusesVariablesWithUnusableValues) {
  struct Case {
    const char* name;
    const char* value;
    bool accepted;
  };
  for (const Case& one :
       {Case{"https_proxy", "ftp://x:1", false}, Case{"HTTP_PROXY", "http://h:99999", false},
        Case{"all_proxy", "two words", false}, Case{"http_proxy", "h:3128", true},
        Case{"https_proxy", "http://user:secret@h:3128/", true},
        Case{"ALL_PROXY", "socks5h://h", true}, Case{"http_proxy", "", true},
        Case{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://", false},
        Case{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://h/x?y=1", true},
        Case{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://h:0/", false},
        Case{"MEDIA_CLOUD_ENDPOINT", "https://h:70000", false},
        Case{"MEDIA_CLOUD_SESSION_TOKEN", "a\r\n", false}}) {
    Result<Settings> settings = LoadText(With(R"("window_max": 1)"), {{one.name, one.value}});
    EXPECT_EQ(settings.ok(), one.accepted) << one.name << "=" << one.value;
    if (settings.ok()) continue;
    EXPECT_TRUE(settings.status().message().starts_with(std::string(one.name) + ": "));
    EXPECT_EQ(settings.status().message().find(one.value), std::string::npos);
  }
}

TEST(Load, ExpandsVariablesInsideOfParameters) {
  Result<Settings> settings = LoadText(
      With(R"("$schema": 5, "models": {"m": {"provider": "openai", "model": "x", "api_key": "k",
                "parameters": {"user": "${WHO}", "stop": ["a", "${END:-b}"], "top_p": 0.5}}},
              "remote_tools": [{"node": "T", "name": "t",
                "parameters": {"type": "object", "description": "of ${WHO}"}}])"),
      {{"WHO", "me"}});
  ASSERT_TRUE(settings.ok()) << settings.status().ToString();
  EXPECT_EQ(settings->models[0].parameters_json, R"({"user":"me","stop":["a","b"],"top_p":0.5})");
  EXPECT_EQ(settings->remote_tools[0].parameters_json,
            R"({"type":"object","description":"of me"})");
}

struct AgentCase {
  const char* agent;
  const char* module;
  const char* attribute;
};

class Agents : public testing::TestWithParam<AgentCase> {};

TEST_P(Agents, ResolveBesideTheFile) {
  Result<Settings> settings = LoadText(std::string(R"({"agent": ")") + GetParam().agent + "\"}");
  ASSERT_TRUE(settings.ok()) << settings.status().ToString();
  EXPECT_EQ(settings->agent.module, GetParam().module);
  EXPECT_EQ(settings->agent.attribute, GetParam().attribute);
}

INSTANTIATE_TEST_SUITE_P(
    Table, Agents,
    testing::Values(AgentCase{"graphs/support.so:app", "/etc/nginx/agent/graphs/support.so", "app"},
                    AgentCase{"graphs.support:app", "/etc/nginx/agent/graphs/support.so", "app"},
                    AgentCase{"support:app", "/etc/nginx/agent/support.so", "app"},
                    AgentCase{"graphs/support.json:app", "/etc/nginx/agent/graphs/support.json",
                              "app"},
                    AgentCase{"/opt/graphs/x.so:the_app2", "/opt/graphs/x.so", "the_app2"}));

TEST(Load, RefusesOtherTextThanAnAgent) {
  for (const char* agent : {"support", "support:", ":app", "support.so:a b", "graphs/support:app",
                            "support.so:2app", ""}) {
    EXPECT_FALSE(LoadText(std::string(R"({"agent": ")") + agent + "\"}").ok()) << agent;
  }
  EXPECT_EQ(LoadText("{}").status().message().substr(0, 18), "agent: is missing;");
  EXPECT_EQ(LoadText("[]").status().message(), "must be a JSON object");
  EXPECT_EQ(LoadText("{\n,").status().message(), "not valid JSON");
  EXPECT_EQ(LoadText("{\n,").status().detail(), "2:1");
}

// The choices in an error message must all be accepted.
TEST(Load, OffersOnlyWhatItAccepts) {
  struct Choice {
    const char* before;  // text before the value
    const char* after;
  };
  for (const Choice& choice :
       {Choice{R"("checkpointer": {"type": ")", R"("})"},
        Choice{R"("checkpointer": {"sync": ")", R"("})"}, Choice{R"("checkpointer": ")", "\""},
        Choice{R"("checkpointer": "none", "store": ")", "\""}, Choice{R"("busy_thread": ")", "\""},
        Choice{R"("embedding": {"model": "m", "api_key": "k", "provider": ")", R"("})"},
        Choice{R"("models": {"m": {"model": "m", "api_key": "k", "provider": ")", R"("}})"},
        Choice{R"("media": {"storage_type": ")",
               R"(", "cloud": {"bucket": "b", "access_key_id": "k", "secret_access_key": "s"}})"},
        Choice{R"("media": {"document_handling": ")", R"("})"},
        Choice{R"("media": {"cloud": {"provider": ")", R"("}})"},
        Choice{R"("rate_limit": {"by": ")", R"("})"},
        Choice{R"("rate_limit": {"scope": ")", R"("})"},
        Choice{R"("rate_limit": {"redis": "redis://h", "backend": ")", R"("})"},
        Choice{R"("id_generator": ")", "\""},
        Choice{R"("authorization": {"backend": ")", R"("})"}}) {
    auto load = [&](const std::string& value) {
      return LoadText(With((choice.before + value + choice.after).c_str())).status();
    };
    const std::string refusal = load("nonsense").message();
    const std::string_view kOneOf = "is not one of ";
    const size_t list = refusal.find(kOneOf);
    ASSERT_NE(list, std::string::npos) << choice.before << ": " << refusal;
    std::istringstream names(refusal.substr(list + kOneOf.size()));
    for (std::string name; std::getline(names >> std::ws, name, ',');) {
      EXPECT_EQ(load(name).message(), "") << choice.before << name;
    }
  }
}

TEST(Load, HasDefaults) {
  Result<Settings> settings = LoadText(R"({"agent": "a:b"})");
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->file, kFile);
  EXPECT_EQ(settings->directory, "/etc/nginx/agent");
  EXPECT_EQ(settings->mode, Mode::kDevelopment);
  EXPECT_EQ(settings->checkpointer.type, CheckpointerSettings::Type::kLevelDb);
  EXPECT_EQ(settings->checkpointer.sync, CheckpointerSettings::Sync::kRun);
  EXPECT_EQ(settings->window_max, 100u);
  EXPECT_TRUE(settings->busy_thread.enqueue);
  EXPECT_TRUE(settings->security_headers);
  EXPECT_EQ(settings->cors.origins, std::vector<std::string>{"*"});
  EXPECT_TRUE(settings->warnings.empty());
}

TEST(Load, ReadsEveryKey) {
  Result<Settings> settings = LoadText(With(R"(
    "$schema": "service.schema.json",
    "checkpointer": {"type": "memory", "sync": "always"},
    "models": {
      "default": {"provider": "openai", "model": "gpt", "base_url": "http://127.0.0.1:9/v1/",
                  "api_key": "${KEY}", "headers": {"X-Team": "a"}, "connect_timeout_ms": 1,
                  "first_byte_timeout_ms": 2, "idle_timeout_ms": 3, "reply_bytes_max": 4096,
                  "retries_max": 0, "price": {"input": 2.5, "output": 10}, "parameters": {"temperature": 0.5}},
      "spare": {"provider": "demo"}
    },
    "window_max": null,
    "busy_thread": {"policy": "reject", "queue_max": 3, "wait_ms_max": 4},
    "cors": {"origins": "https://a.example, http://localhost:3000", "credentials": true},
    "security_headers": false,
    "limits": {"json_bytes_max": 2048, "json_depth_max": 9, "json_values_max": 100,
               "json_io_pool_bytes": 0, "message_bytes_max": 1024, "page_bytes_max": 65536,
               "buffered_bytes_max": 1048576, "function_bytes_max": 1048576, "runs_max": 7},
    "auth": null, "authorization": null, "rate_limit": null)"),
                                       {{"KEY", "sk-1"}, {"MODE", "production"}});
  ASSERT_TRUE(settings.ok()) << settings.status().ToString();
  EXPECT_EQ(settings->mode, Mode::kProduction);
  EXPECT_EQ(settings->checkpointer.type, CheckpointerSettings::Type::kMemory);
  EXPECT_EQ(settings->checkpointer.sync, CheckpointerSettings::Sync::kAlways);
  ASSERT_EQ(settings->models.size(), 2u);
  const models::ProviderOptions& model = settings->models[0];
  EXPECT_EQ(model.name, "default");
  EXPECT_EQ(model.base_url, "http://127.0.0.1:9/v1");
  EXPECT_EQ(model.api_key, "sk-1");
  EXPECT_EQ(model.headers.at("X-Team"), "a");
  EXPECT_EQ(model.connect_timeout, std::chrono::milliseconds(1));
  EXPECT_EQ(model.reply_bytes_max, 4096u);
  EXPECT_EQ(model.retries_max, 0);
  ASSERT_TRUE(model.price);
  EXPECT_EQ(model.price->input, 2.5);
  EXPECT_EQ(model.price->output, 10);
  EXPECT_EQ(model.parameters_json, R"({"temperature":0.5})");
  EXPECT_FALSE(settings->window_max.has_value());
  EXPECT_FALSE(settings->busy_thread.enqueue);
  EXPECT_EQ(settings->busy_thread.queue_max, 3u);
  EXPECT_EQ(settings->cors.origins,
            (std::vector<std::string>{"https://a.example", "http://localhost:3000"}));
  EXPECT_TRUE(settings->cors.credentials);
  EXPECT_FALSE(settings->security_headers);
  EXPECT_EQ(settings->limits.json_depth_max, 9u);
  EXPECT_EQ(settings->limits.function_bytes_max, 1048576u);
  EXPECT_EQ(settings->limits.runs_max, 7u);
}

TEST(Load, TakesShortFormsOfTheCheckpointer) {
  EXPECT_EQ(LoadText(With(R"("checkpointer": "none")"))->checkpointer.type,
            CheckpointerSettings::Type::kNone);
  EXPECT_EQ(LoadText(With(R"("checkpointer": null)"))->checkpointer.type,
            CheckpointerSettings::Type::kNone);
}

TEST(Load, AcceptsForeignKeysWithAWarning) {
  Result<Settings> settings = LoadText(With(R"("injectq": "a:b", "test": {}, "ag_ui": true)"));
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->warnings.size(), 3u);
  EXPECT_EQ(settings->warnings[0], "injectq: has no effect in this service");
}

TEST(Load, ChecksTheMode) {
  for (const char* mode : {"prod", "Production", ""}) {
    Result<Settings> settings = LoadText(With(R"("auth": null)"), {{"MODE", mode}});
    EXPECT_EQ(settings.status().message(),
              std::string("MODE: \"") + mode + "\" is not one of production, development");
  }
}

TEST(Load, TakesTheProvidersKeyForTheProvidersAddressOnly) {
  Environment environment{{"OPENAI_API_KEY", "sk-secret"}};
  Result<Settings> official =
      LoadText(With(R"("models": {"m": {"provider": "openai", "model": "x"}})"), environment);
  ASSERT_TRUE(official.ok());
  EXPECT_EQ(official->models[0].api_key, "sk-secret");
  EXPECT_EQ(official->models[0].base_url, "https://api.openai.com/v1");
  Result<Settings> two = LoadText(With(R"("models": {
      "a": {"provider": "anthropic", "model": "x"}, "g": {"provider": "gemini", "model": "y"}})"),
                                  {{"ANTHROPIC_API_KEY", "sk-a"}, {"GEMINI_API_KEY", "sk-g"}});
  ASSERT_TRUE(two.ok()) << two.status().ToString();
  EXPECT_EQ(two->models[0].api_key, "sk-a");
  EXPECT_EQ(two->models[0].base_url, "https://api.anthropic.com/v1");
  EXPECT_EQ(two->models[1].api_key, "sk-g");
  EXPECT_EQ(two->models[1].base_url, "https://generativelanguage.googleapis.com/v1beta");
  Result<Settings> other = LoadText(
      With(R"("models": {"m": {"provider": "openai", "model": "x", "base_url": "http://h"}})"),
      environment);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->models[0].api_key, "");
}

TEST(Load, KeepsSecretsOutOfMessages) {
  Environment environment{{"SECRET", "do not tell"}};
  for (const char* member :
       {R"("models": {"m": {"provider": "${SECRET}"}})", R"("checkpointer": "${SECRET}")",
        R"("models": {"m": {"provider": "demo", "base_url": "${SECRET}"}})",
        R"("models": {"m": {"provider": "demo", "api_key": "${SECRET}"}})",
        R"("cors": {"origins": "${SECRET}"})", R"("redis": "${SECRET}")",
        R"("rate_limit": {"trusted_proxies": ["${SECRET}"]})",
        R"("rate_limit": {"trusted_proxies": "10.0.0.1, ${SECRET}"})",
        R"("observability": {"endpoint": "${SECRET}"})",
        R"("media": {"cloud": {"endpoint": "${SECRET}"}})"}) {
    Result<Settings> settings = LoadText(With(member), environment);
    ASSERT_FALSE(settings.ok()) << member;
    EXPECT_EQ(settings.status().ToString().find("do not tell"), std::string::npos) << member;
  }
}

class EnvironmentFileTest : public testing::Test {
 protected:
  EnvironmentFileTest() {
    char name[] = "/tmp/agent_graph_settings_XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~EnvironmentFileTest() override {
    unlink((directory_ + "/.env").c_str());
    rmdir(directory_.c_str());
  }
  Result<Settings> LoadWith(const std::string& lines, const Environment& environment) {
    std::ofstream(directory_ + "/.env") << lines;
    return Load(
        directory_ + "/service.json",
        With(R"("env": ".env", "models": {"m": {"provider": "demo", "api_key": "${KEY}"}})"),
        environment);
  }

  std::string directory_;
};

TEST_F(EnvironmentFileTest, BeatsTheCapturedEnvironment) {
  Result<Settings> settings = LoadWith(
      "# comment\n\nKEY=from_file\r\nexport MODE = \"production\"\nOTHER='a # b'\nLAST=x # note",
      {{"KEY", "from_environment"}, {"KEPT", "1"}});
  ASSERT_TRUE(settings.ok()) << settings.status().ToString();
  EXPECT_EQ(settings->models[0].api_key, "from_file");
  EXPECT_EQ(settings->mode, Mode::kProduction);
  EXPECT_EQ(settings->environment.at("OTHER"), "a # b");
  EXPECT_EQ(settings->environment.at("LAST"), "x");
  EXPECT_EQ(settings->environment.at("KEPT"), "1");
}

TEST_F(EnvironmentFileTest, IsNotQuotedInErrors) {
  Result<Settings> settings = LoadWith("KEY=1\nsk-secret\n", {});
  ASSERT_FALSE(settings.ok());
  EXPECT_EQ(settings.status().message(), "env: " + directory_ + "/.env: line 2 is not KEY=VALUE");
}

TEST_F(EnvironmentFileTest, IsBounded) {
  EXPECT_FALSE(LoadWith("KEY=" + std::string(70'000, 'x'), {}).ok());
}

}  // namespace
}  // namespace agent_graph::settings
