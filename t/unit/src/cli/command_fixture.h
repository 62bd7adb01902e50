// Runs commands of agent-graph in the process of the test.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "../program_output.h"
#include "cli/program.h"

namespace agent_graph::cli {

using Ran = ProgramOutput;

inline Ran Call(const std::vector<std::string>& arguments) {
  const MemoryStream out;
  const MemoryStream err;
  Ran ran;
  ran.code = RunProgram(arguments, {.in = stdin, .out = out.file(), .err = err.file()});
  ran.out = out.text();
  ran.err = err.text();
  return ran;
}

// A test with a folder of its own.
class CommandTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "agent-graph-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& content) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << content;
    return path;
  }
  std::string Read(const std::string& name) const {
    std::ifstream in(folder_ + "/" + name);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string folder_;
};

}  // namespace agent_graph::cli
