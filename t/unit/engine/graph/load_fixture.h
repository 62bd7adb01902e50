// Temporary files with graphs, and the errors of loading them.
#pragma once

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent_graph/json.h"
#include "graph/load.h"

namespace agent_graph::graph {

inline const std::string kTestGraphs = AGENT_GRAPH_TEST_GRAPHS "/";
inline const std::string kSamples = AGENT_GRAPH_SAMPLE_GRAPHS "/";

class FakeRunContext : public RunContext {
 public:
  const std::string& thread_id() const override { return text_; }
  const std::string& run_id() const override { return text_; }
  const std::string& node() const override { return text_; }
  const json& user() const override { return object_; }
  const json& config() const override { return object_; }
  bool cancelled() const override { return false; }
  bool SleepFor(std::chrono::milliseconds) override { return true; }
  bool EmitText(std::string_view) override { return true; }
  Message CallModel(const ModelCall&) override { throw ModelError("no model here"); }
  void Log(LogLevel, std::string_view) override {}

 private:
  std::string text_;
  json object_ = json::object();
};

// A temporary file that is removed at the end of the test.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& suffix, const std::string& content) {
    path_ = testing::TempDir() + "agent-graph-XXXXXX" + suffix;
    int fd = mkstemps(path_.data(), static_cast<int>(suffix.size()));
    close(fd);
    std::ofstream(path_) << content;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string Problem(const std::string& module, const std::string& attribute) {
  auto graph = LoadGraph(module, attribute);
  if (graph.ok()) return "loaded";
  EXPECT_EQ(graph.status().code(), StatusCode::kGraph);
  std::string text = graph.status().message();
  EXPECT_THAT(text, testing::StartsWith(module + ": "));
  EXPECT_EQ(text.find('\n'), std::string::npos);
  return text.substr(std::min(text.size(), module.size() + 2));
}

}  // namespace agent_graph::graph
