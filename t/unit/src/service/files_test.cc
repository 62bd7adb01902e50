// The files of a service: sealed copies of what the settings name, and the storage of uploads.
#include <fcntl.h>
#include <sys/stat.h>

#include "base/sealed_copy.h"
#include "runtime/runtime.h"
#include "service/copied_files.h"
#include "service/file_storage.h"
#include "service/settings_checks.h"
#include "service/validation.h"
#include "service_fixture.h"

namespace agent_graph::service {
namespace {

class CopiedFiles : public ServiceTest {};

TEST_F(CopiedFiles, AServiceRunsTheCopiesWhateverHappensToTheFiles) {
  auto settings = Settings({{"checkpointer", "none"}});
  SealedCopies copies;
  ASSERT_TRUE(CopyFiles(settings, copies).ok());
  EXPECT_NE(settings.agent.copy, nullptr);
  Write("graph.json", "{");
  EXPECT_TRUE(Validate(settings).ok());
  const auto service = Start(settings);
  EXPECT_EQ(Loop(*service).Invoke("t", "hello").status, 200);
  Stop(*service);
}

TEST_F(CopiedFiles, AMissingOneIsReportedWithItsKey) {
  const std::string missing = directory_ + "/missing";
  const settings::Environment keys = {{"JWT_ALGORITHM", "RS256"},
                                      {"JWT_SECRET_KEY", "0123456789abcdef0123456789abcdef"}};
  auto with = [&](const std::string& name) {
    settings::Environment environment = keys;
    environment[name] = missing;
    return environment;
  };
  const std::vector<std::pair<std::string, settings::Settings>> cases = {
      {"agent", Settings({{"agent", "missing.json:app"}})},
      {"thread_name_generator", Settings({{"thread_name_generator", "missing.so:names"}})},
      {"JWT_PUBLIC_KEY_FILE", Settings({{"auth", "jwt"}}, with("JWT_PUBLIC_KEY_FILE"))},
      {"JWT_JWKS_FILE", Settings({{"auth", "jwt"}}, with("JWT_JWKS_FILE"))},
  };
  for (const auto& [key, loaded] : cases) {
    settings::Settings settings = loaded;
    SealedCopies copies;
    const Status copied = CopyFiles(settings, copies);
    EXPECT_TRUE(copied.message().starts_with(key + ": ")) << key << ": " << copied.ToString();
    EXPECT_NE(copied.message().find(missing), std::string::npos) << copied.ToString();
  }
}

TEST_F(CopiedFiles, EachDescriptorIsListedOnce) {
  auto settings = Settings();
  EXPECT_TRUE(CopyDescriptors(settings).empty());
  settings.thread_names.function = {directory_ + "/graph.json", "names"};
  SealedCopies copies;
  ASSERT_TRUE(CopyFiles(settings, copies).ok());
  const std::vector<int> descriptors = CopyDescriptors(settings);
  ASSERT_EQ(descriptors.size(), 1u) << "both keys name the same file";
  EXPECT_NE(fcntl(descriptors[0], F_GETFD), -1);
}

class FileStorage : public ServiceTest {};

TEST_F(FileStorage, AFolderOfTheStateDirectoryNeedsNoCheck) {
  EXPECT_TRUE(CheckFileStorage(Settings()).ok());
  EXPECT_TRUE(CheckFileStorage(Settings({{"media", {{"storage_type", "memory"}}}})).ok());
  EXPECT_TRUE(CheckFileStorage(
                  Settings({{"media", {{"storage_type", "local"}, {"storage_path", directory_}}}}))
                  .ok());
}

TEST_F(FileStorage, FilesInMemoryAreForgottenWithTheirNginx) {
  const auto settings = Settings({{"media", {{"storage_type", "memory"}}}});
  runtime::Runtime runtime({});
  ASSERT_TRUE(runtime.Start().ok());
  const std::string state = directory_ + "/state";
  {
    const auto storage = MakeFileStorage(settings, state, getpid(), runtime);
    EXPECT_NE(storage, nullptr);
  }
  ForgetFiles(settings, state, geteuid(), getpid());
  // Files on the disk are not changed.
  ForgetFiles(Settings(), state, geteuid(), getpid());
  EXPECT_TRUE(runtime.Stop(kNoDeadline).ok());
}

TEST_F(FileStorage, TheExtractorIsBesideTheProgramOrModule) {
  const std::filesystem::path program = ExtractorProgram();
  EXPECT_EQ(program.filename(), "agent-extract");
  EXPECT_EQ(program.parent_path(), std::filesystem::canonical("/proc/self/exe").parent_path());
}

class SettingsChecks : public ServiceTest {};

TEST_F(SettingsChecks, AScopeThatNoRouteAsksForIsReported) {
  const auto settings = Settings(
      {{"auth", "jwt"},
       {"authorization",
        {{"type", "roles"},
         {"roles", {{"reader", {"graph:read", "graph:raed"}}, {"admin", {"*"}}}},
         {"default_scopes", {"store:read", "nothing"}}}}},
      {{"JWT_ALGORITHM", "HS256"}, {"JWT_SECRET_KEY", "0123456789abcdef0123456789abcdef"}});
  const std::vector<std::string> expected = {
      "authorization.roles.reader: no route requires the scope \"graph:raed\"",
      "authorization.default_scopes: no route requires the scope \"nothing\""};
  EXPECT_EQ(UnusedScopes(settings), expected);
  EXPECT_TRUE(UnusedScopes(Settings()).empty());
}

}  // namespace
}  // namespace agent_graph::service
