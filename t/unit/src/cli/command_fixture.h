// Runs commands of agent-graph in the process of the test.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cli/program.h"

namespace agent_graph::cli {

struct Ran {
  int code = -1;
  std::string out;
  std::string err;
};

class Captured {
 public:
  Captured() : file_(open_memstream(&bytes_, &size_)) {}
  ~Captured() {
    std::fclose(file_);
    std::free(bytes_);
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  std::FILE* file() const { return file_; }
  std::string text() const {
    std::fflush(file_);
    return {bytes_, size_};
  }

 private:
  char* bytes_ = nullptr;
  size_t size_ = 0;
  std::FILE* file_;
};

inline Ran Call(const std::vector<std::string>& arguments) {
  const Captured out;
  const Captured err;
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
