// Failures that prevent a service from being built. `nginx -t` (Validate) and a worker
// (Service::Create) report them with the same text.
#include "graph/load.h"
#include "service/agent.h"
#include "service/service.h"
#include "service/validation.h"
#include "service_fixture.h"

namespace agent_graph::service {
namespace {

class Wiring : public ServiceTest {
 protected:
  // Expects one line that contains all these parts.
  static void ExpectLine(const Status& status, const std::vector<std::string>& parts) {
    EXPECT_FALSE(status.ok());
    const std::string text = status.message();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    for (const std::string& part : parts) {
      EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
    }
  }
  void ExpectFailure(const settings::Settings& settings, const std::vector<std::string>& parts) {
    ExpectLine(Validate(settings), parts);
    ExpectLine(Create(settings).status(), parts);
    EXPECT_EQ(Validate(settings).message(), Create(settings).status().message());
  }
};

TEST_F(Wiring, GoodSettingsAreAccepted) {
  for (const json& members : std::vector<json>{
           json::object(),
           {{"checkpointer", "none"}},
           {{"store", "leveldb"}, {"embedding", "hash"}},
           {{"thread_name_generator", "random"}},
           {{"models", {{"default", {{"provider", "demo"}}}}}},
       }) {
    const Status valid = Validate(Settings(members));
    EXPECT_TRUE(valid.ok()) << members.dump() << ": " << valid.ToString();
    EXPECT_TRUE(Create(Settings(members)).ok()) << members.dump();
  }
}

TEST_F(Wiring, AGraphThatCannotBeLoadedIsNamed) {
  ExpectFailure(Settings({{"agent", "missing.json:app"}}), {directory_ + "/missing.json"});
  ExpectFailure(Settings({{"agent", "graph.json:other"}}), {directory_ + "/graph.json", "other"});
  Write("broken.json", "{");
  ExpectFailure(Settings({{"agent", "broken.json:app"}}), {directory_ + "/broken.json"});
  Write("text.so", "no shared object");
  ExpectFailure(Settings({{"agent", "text.so:app"}}), {directory_ + "/text.so"});
}

TEST_F(Wiring, AnUnknownModelIsNamedWithThoseThatExist) {
  Write("graph.json", Graph("large"));
  ExpectFailure(Settings(), {"graph.json: app: ",
                             "asks the model \"large\", which is not "
                             "configured; `models` of service.json has default, demo"});
  ExpectFailure(Settings({{"models", {{"small", {{"provider", "demo"}}}}}}),
                {"`models` of service.json has demo, small"});
}

TEST_F(Wiring, ARemoteToolOfNoNodeIsNamedByItsPlace) {
  const json tool = {{"node", "NOWHERE"}, {"name", "t"}, {"description", "d"}};
  ExpectFailure(Settings({{"remote_tools", {tool}}}), {"remote_tools.0.node: "});
}

TEST_F(Wiring, TwoRemoteToolsOfOneNameAreRefused) {
  Write("graph.json", R"({"app": {"nodes": [
      {"name": "MAIN", "type": "agent", "model": "default", "tool_node": "TOOLS"},
      {"name": "TOOLS", "type": "tools", "tools": ["current_time"]}],
    "edges": [{"from": "START", "to": "MAIN"}, {"from": "TOOLS", "to": "MAIN"},
      {"from": "MAIN", "when": [{"tool_calls_pending": true, "to": "TOOLS"}],
       "otherwise": "END"}]}})");
  const json tool = {{"node", "TOOLS"}, {"name", "t"}, {"description", "d"}};
  EXPECT_TRUE(Validate(Settings({{"remote_tools", {tool}}})).ok());
  ExpectFailure(Settings({{"remote_tools", {tool, tool}}}),
                {"remote_tools.1.name: the node has another remote tool of that name"});
}

TEST_F(Wiring, AThreadNameGeneratorThatCannotBeLoadedIsNamed) {
  ExpectFailure(Settings({{"thread_name_generator", "missing.so:names"}}),
                {"thread_name_generator: ", directory_ + "/missing.so"});
}

// A worker goes on with the keys that it has, or refuses tokens; `nginx -t` reports the file.
TEST_F(Wiring, AMissingKeyFileIsAnErrorOfTheConfiguration) {
  const settings::Environment environment = {{"JWT_ALGORITHM", "RS256"},
                                             {"JWT_SECRET_KEY", "0123456789abcdef0123456789abcdef"},
                                             {"JWT_PUBLIC_KEY_FILE", directory_ + "/missing.pem"}};
  const auto settings = Settings({{"auth", "jwt"}}, environment);
  ExpectLine(Validate(settings), {directory_ + "/missing.pem"});
  EXPECT_TRUE(Create(settings).ok());
}

TEST_F(Wiring, AFolderOfUploadsThatCannotBeUsedIsAnErrorOfTheConfiguration) {
  const std::string file = Write("uploads", "a file");
  ExpectLine(Validate(Settings({{"media", {{"storage_type", "local"}, {"storage_path", file}}}})),
             {"media: ", file});
}

TEST_F(Wiring, AMissingFileOfTrustedCertificatesIsAnErrorOfTheConfiguration) {
  for (const std::string name : {"SSL_CERT_FILE", "CURL_CA_BUNDLE"}) {
    ExpectLine(Validate(Settings(json::object(), {{name, directory_ + "/missing.crt"}})),
               {name + ": cannot read " + directory_ + "/missing.crt: "});
    ExpectLine(Validate(Settings(json::object(), {{name, directory_}})), {"it is not a file"});
    EXPECT_TRUE(Validate(Settings(json::object(), {{name, ""}})).ok());
  }
}

TEST_F(Wiring, TheAgentHasWhatTheSettingsConfigure) {
  auto plain = BuildAgent(Settings(), nullptr);
  ASSERT_TRUE(plain.ok()) << plain.status().ToString();
  EXPECT_EQ(plain->embedder, nullptr);
  EXPECT_FALSE(plain->name_thread);
  EXPECT_TRUE(plain->remote_tools.empty());
  auto full =
      BuildAgent(Settings({{"store", "leveldb"}, {"thread_name_generator", "random"}}), nullptr);
  ASSERT_TRUE(full.ok()) << full.status().ToString();
  EXPECT_NE(full->embedder, nullptr);
  EXPECT_NE(full->name_thread({"hello"}), "");
}

}  // namespace
}  // namespace agent_graph::service
