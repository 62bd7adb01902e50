// Documents whose program cannot be started at once.
#include "media/extractor.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "../process/spawner_fixture.h"
#include "base/file_descriptor.h"

namespace agent_graph::media {
namespace {

class ExtractorTest : public process::SpawnerTest {
 protected:
  void SetUp() override {
    SpawnerTest::SetUp();
    program_ = directory_ + "/extract";
    std::ofstream(program_) << "#!/bin/sh\nprintf 'some text\\0ok'\n";
    std::filesystem::permissions(program_, std::filesystem::perms::owner_all);
  }

  std::optional<std::string> Extract(Extractor& extractor) {
    const FileDescriptor file(open("/dev/null", O_RDONLY | O_CLOEXEC));
    return Run([&] { return extractor.Extract(file.get(), "plain", "user"); });
  }
  Extractor Make(const std::string& state_directory, std::chrono::milliseconds start_timeout) {
    return Extractor(
        program_, std::make_shared<process::Launcher>(state_directory),
        [this](const std::string& line) { log_.push_back(line); }, start_timeout);
  }

  std::string program_;
  std::vector<std::string> log_;
};

TEST_F(ExtractorTest, WaitsForOtherProgramsToEnd) {
  Extractor extractor = Make(directory_, process::kPatience);
  // All places are taken. One becomes free a second later.
  std::vector<std::unique_ptr<process::Process>> others = Run([&] {
    std::vector<std::unique_ptr<process::Process>> started;
    while (started.size() < process::kProgramsMax) {
      const bool is_last = started.size() + 1 == process::kProgramsMax;
      auto process = Start(Shell(is_last ? "sleep 1" : "read x"));
      EXPECT_TRUE(process.ok()) << process.status().ToString();
      if (!process.ok()) break;
      started.push_back(*std::move(process));
    }
    return started;
  });
  EXPECT_EQ(Extract(extractor), "some text");
  EXPECT_TRUE(log_.empty());
  Run([&] { others.clear(); });
}

TEST_F(ExtractorTest, AProgramThatCannotBeStartedIsLogged) {
  Extractor extractor = Make("/tmp/no-such-state", std::chrono::milliseconds(0));
  EXPECT_EQ(Extract(extractor), std::nullopt);
  EXPECT_EQ(Extract(extractor), std::nullopt);
  ASSERT_EQ(log_.size(), 1u) << "once a minute";
  EXPECT_TRUE(log_[0].starts_with("documents are stored without their text: ")) << log_[0];
}

}  // namespace
}  // namespace agent_graph::media
