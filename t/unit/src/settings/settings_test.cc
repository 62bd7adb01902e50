#include "settings/settings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "settings_text.h"

namespace agent_graph::settings {
namespace {

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
        Case{"OTEL_EXPORTER_OTLP_HEADERS", "secret", false},
        Case{"OTEL_EXPORTER_OTLP_HEADERS", "a b=c", false},
        Case{"OTEL_EXPORTER_OTLP_HEADERS", "a=b%0D%0Ac: d", false},
        Case{"MEDIA_CLOUD_ENDPOINT", "https://h:70000", false},
        Case{"MEDIA_CLOUD_SESSION_TOKEN", "a\r\n", false}}) {
    Result<Settings> settings = LoadText(With(R"("window_max": 1)"), {{one.name, one.value}});
    EXPECT_EQ(settings.ok(), one.accepted) << one.name << "=" << one.value;
    if (settings.ok()) continue;
    EXPECT_TRUE(settings.status().message().starts_with(std::string(one.name) + ": "));
    EXPECT_EQ(settings.status().message().find(one.value), std::string::npos);
  }
}

TEST(Load, DecodesHeadersOfTheCollector) {
  Result<Settings> settings =
      LoadText(With(R"("window_max": 1)"),
               {{"OTEL_EXPORTER_OTLP_HEADERS",
                 "authorization=Basic%20YTpi+/==, x-list=a%2Cb , x-plain=two words,x-half=100%,"}});
  ASSERT_TRUE(settings.ok()) << settings.status().ToString();
  EXPECT_EQ(settings->observability.headers,
            (std::map<std::string, std::string>{{"authorization", "Basic YTpi+/=="},
                                                {"x-list", "a,b"},
                                                {"x-plain", "two words"},
                                                {"x-half", "100%"}}));
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
    const size_t names_begin = list + kOneOf.size();  // advice may follow behind a semicolon
    std::istringstream names(refusal.substr(names_begin, refusal.find(';') - names_begin));
    for (std::string name; std::getline(names >> std::ws, name, ',');) {
      const std::string message = load(name).message();
      if (name == "postgres" || name == "pg") {  // these need checkpointer.url
        EXPECT_EQ(message.find(kOneOf), std::string::npos) << message;
        continue;
      }
      EXPECT_EQ(message, "") << choice.before << name;
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
                  "api_key": "${KEY}", "headers": {"X-Team": "a"}, "http2": false, "connect_timeout_ms": 1,
                  "first_byte_timeout_ms": 2, "idle_timeout_ms": 3, "reply_bytes_max": 4096,
                  "retries_max": 0, "price": {"input": 2.5, "output": 10}, "parameters": {"temperature": 0.5}},
      "spare": {"provider": "demo"}
    },
    "embedding": {"provider": "openai", "model": "e", "base_url": "http://127.0.0.1:9/v1",
                  "http2": false},
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
  EXPECT_FALSE(model.http2);
  EXPECT_TRUE(settings->models[1].http2);
  EXPECT_EQ(model.connect_timeout, std::chrono::milliseconds(1));
  EXPECT_EQ(model.reply_bytes_max, 4096u);
  EXPECT_EQ(model.retries_max, 0);
  ASSERT_TRUE(model.price);
  EXPECT_EQ(model.price->input, 2.5);
  EXPECT_EQ(model.price->output, 10);
  EXPECT_EQ(model.parameters_json, R"({"temperature":0.5})");
  EXPECT_FALSE(settings->embedding.http2);
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
